"""What people are told on stderr while a crawl runs. Nothing is computed from it."""

from typing import Any


def logger() -> Any:
    """The diagnostic logger: structlog, configured on first use, because its import is slow."""
    import sys

    import structlog

    if not structlog.is_configured():
        structlog.configure(
            processors=[
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=False),
                structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
            ],
            logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        )
    return structlog.get_logger()
