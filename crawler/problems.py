"""What an operator can mend, as an exception that says place, cause and remedy."""


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
