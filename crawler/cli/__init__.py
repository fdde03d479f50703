"""The command line. Every module behind it is loaded only by the command that needs it."""

from crawler.cli.root import EPILOG, app, main

__all__ = ["EPILOG", "app", "main"]
