"""What an operator can mend, as an exception that says place, cause and remedy."""

import difflib
from collections.abc import Iterable
from pathlib import PurePath


class Problem(Exception):
    """Ends a command: the message names place and cause, `hint` what to try.

    Subclasses stand where they are raised, one for each thing that a caller does differently.
    """

    code = 1  # exit code

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class UsageProblem(Problem):
    """A command line that asks for something that is not there."""

    code = 2


class OriginUnknown(UsageProblem):
    """An `--origin` that names none of those that there are."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        names = tuple(known)
        close = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(names)}"
        super().__init__(f"--origin {name}: there is no such origin", hint if names else None)


def place(error: BaseException) -> str:
    """What went wrong of ours and where, without its message, which may quote what is secret."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return type(error).__name__
    file = PurePath(trace.tb_frame.f_code.co_filename).name
    return f"{type(error).__name__} at {file}:{trace.tb_lineno}"
