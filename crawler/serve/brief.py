"""What is written to stderr of a request that failed: a line that has nothing of the request.

aiohttp writes a traceback instead, and its parser's errors quote the line that they stumbled over:
a visitor's cookies would stand in the log.
"""

import logging
from typing import Final

_NAME: Final = "callingcard.serve"


def what(error: BaseException) -> str:
    """An error's kind and where it was raised, without its text, which may quote a request."""
    trace = error.__traceback__
    if trace is None:
        return type(error).__name__
    while trace.tb_next is not None:
        trace = trace.tb_next
    module = trace.tb_frame.f_globals.get("__name__", "?")
    return f"{type(error).__name__} at {module}:{trace.tb_lineno}"


class _Brief(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        said = "a request was not answered" if error is None else what(error)
        record.msg, record.args = f"crawl: serving: {said}", ()
        record.exc_info, record.exc_text, record.stack_info = None, None, None
        return True


def logger() -> logging.Logger:
    """A logger for aiohttp servers that says of an error no more than its kind and its place."""
    found = logging.getLogger(_NAME)
    if not found.filters:
        found.addFilter(_Brief())
    return found
