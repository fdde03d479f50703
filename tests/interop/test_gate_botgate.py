"""botgate, which nobody here wrote, signs requests, spoils them, and sees that the gate notices."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
import verifiers
from capture import Answer, Captured, respond
from guarded import ADDRESS, Guarded, guarded_by
from servers import needs_nginx

pytestmark = needs_nginx

# botgate signs for five minutes, and takes a day for too long.
POLICY = """
[site]
scheme = "http"
[signatures]
max_window = 300
[[agent]]
origin = "https://tester.example"
keys = ["tester.json"]
[admit]
unsigned = {unsigned}
invalid = {invalid}
"""
SPOILED = {
    "changed_authority",
    "changed_method",
    "changed_path",
    "changed_query",
    "changed_signature_agent",
    "corrupted_signature",
    "expired",
    "future_created",
    "long_expiration",
    "missing_expires",
    "removed_signature_agent",
    "unknown_key",
}


@dataclass(frozen=True, kw_only=True)
class Botgate:
    """botgate with a key of its own, in a folder of its own."""

    folder: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [verifiers.BOTGATE, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )

    def cases(self, guarded: Guarded, *arguments: str) -> dict[str, tuple[bool, int]]:
        """Whether the gate did as it should in each case, and the status that came back."""
        ended = self.run(
            "test",
            f"http://{ADDRESS}:{guarded.port}/page?q=1",
            *("--agent", "https://tester.example", "--allow-http", "--allow-private-target"),
            *("--format", "json", *arguments),
        )
        report = msgspec.json.decode(ended.stdout, type=_Report)
        assert ended.returncode == int(not all(one.passed for one in report.live.cases))
        return {one.name: (one.passed, one.status) for one in report.live.cases}


class _Case(msgspec.Struct):
    name: str
    passed: bool
    status: int


class _Live(msgspec.Struct):
    cases: list[_Case]


class _Report(msgspec.Struct):
    live: _Live


@pytest.fixture
def tester(tmp_path: Path) -> Botgate:
    made = Botgate(folder=tmp_path)
    assert made.run("init").returncode == 0
    shutil.copy(tmp_path / ".botgate" / "directory.json", tmp_path / "tester.json")
    return made


def echo(request: Captured) -> Answer:
    """A site that says who it takes its visitor for."""
    known = request.field("X-Bot-Agent") == "https://tester.example"
    return respond(200, ("X-Authenticated", "yes" if known else "no"))


def test_a_site_that_wants_signatures_refuses_each_mutation(tester: Botgate) -> None:
    with guarded_by(tester.folder, POLICY.format(unsigned="false", invalid="false")) as guarded:
        cases = tester.cases(
            guarded,
            "--allow-status-authentication",
            *("--accepted-status", "200", "--rejected-status", "400", "--rejected-status", "403"),
        )

    assert cases.pop("original") == (True, 200)
    assert set(cases) == SPOILED
    assert {name for name, (passed, _) in cases.items() if not passed} == set()
    assert len(guarded.site.requests) == 1


def test_a_site_that_lets_all_in_is_told_of_each_mutation(tester: Botgate) -> None:
    policy = POLICY.format(unsigned="true", invalid="true")
    with guarded_by(tester.folder, policy, echo) as guarded:
        cases = tester.cases(
            guarded,
            *("--auth-header", "X-Authenticated"),
            *("--authenticated-value", "yes", "--unauthenticated-value", "no"),
        )

    assert set(cases) == {"original", *SPOILED}
    assert set(cases.values()) == {(True, 200)}
    assert len(guarded.site.requests) == len(cases)
