"""What can be the matter with the state directory; each says where and what to try."""

from pathlib import Path

from crawler.problems import Problem


class StateUnusable(Problem):
    """The state directory cannot be used: `place` names the file, `hint` what to try.

    Nothing leaves this machine after it, and nothing is lost: what was not written to the database
    is read back from the log at the next start.
    """

    def __init__(self, place: Path, problem: str, hint: str | None = None) -> None:
        super().__init__(f"{place}: {problem}", hint)
        self.place = place
        self.problem = problem


class StateDamaged(StateUnusable):
    """The database contradicts itself; the next start keeps it aside and rebuilds it."""


class LogUnwritable(StateUnusable):
    """An event could not be written; the log is as it was before."""


class LogUnreadable(StateUnusable):
    """A log file that cannot be opened or read at all."""


class AnotherRun(Problem):
    """Another crawl holds the state directory; `pid` is its process, where it has said so."""

    code = 4

    def __init__(self, place: Path, pid: int | None) -> None:
        who = f"process {pid}" if pid is not None else "another process"
        super().__init__(
            f"{place}: {who} is crawling with this state directory",
            "wait for it to end, or give this one a state directory of its own",
        )
        self.place = place
        self.pid = pid
