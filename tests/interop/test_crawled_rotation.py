"""Keys that change by the clock while `crawl --once` is at work, before verifiers of others.

The site starts the rotation when it is asked for robots.txt. `created` says when a request was
signed to the second, and all moments are whole seconds, so nothing depends on luck: with which key
a request has to be signed follows from what stands in it.
"""

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import verifiers
from capture import Answer, Captured, capturing, respond
from crawling import Ended, Operator

from crawler import configuration
from crawler.events import FetchRecord, KeyInUse, Outcome
from crawler.fetch import keyfiles
from crawler.serve.site import PublishedKeys
from signing import algorithms, directory, keys
from signing.keys import PrivateKey

DELAY: Final = 0.25  # seconds between two requests
PAGES: Final = [f"/{number}" for number in range(14)]
SKEW: Final = 3  # seconds that `created` lies back, by default
FAKETIME: Final = shutil.which("faketime")


def signed(request: Captured, label: str = "sig1") -> tuple[str, int]:
    """The key of a signature, and the second in which it was made."""
    found = verifiers.parameters(request.fields, label)
    return str(found["keyid"]), int(found["created"]) + SKEW


def named(turns: list[dict[str, Any]], algorithm: str) -> dict[str, Any]:
    """The rotation of an algorithm."""
    return next(turn for turn in turns if turn["algorithm"] == algorithm)


@dataclass(frozen=True, kw_only=True)
class Rotated:
    """What the site received, what it was told of the rotation, and what was published then."""

    operator: Operator
    ended: Ended
    url: str
    requests: list[Captured]
    turns: list[dict[str, Any]]
    published: list[set[str]]  # the Ed25519 keys, when each request came


@pytest.fixture(scope="module")
def rotated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rotated]:
    turns: list[dict[str, Any]] = []
    published: list[set[str]] = []

    def answer(request: Captured) -> Answer:
        if request.target == "/robots.txt":
            begun = operator.crawl(
                "keys", "rotate", "--wait", "1s", "--keep", "1s", "--format", "json"
            )
            turns.extend(json.loads(begun.answer)["turns"])
        document = home.documents(settings)[directory.WELL_KNOWN]
        published.append({key["kid"] for key in json.loads(document.body)["keys"]})
        kind = "text/plain" if request.target == "/robots.txt" else "text/html"
        return respond(200, ("Content-Type", kind))

    with capturing(answer) as server:
        operator = Operator(
            folder=tmp_path_factory.mktemp("rotated"),
            origins={"site": {"url": server.url(), "start": PAGES, "profile": "bridge"}},
            politeness={"min_delay": DELAY, "delay_factor": 0, "min_interval": "0s"},
        )
        settings = configuration.load(operator.folder / "crawler.toml")
        home = PublishedKeys(operator.keys)
        ended = operator.crawl("--once")
        yield Rotated(
            operator=operator,
            ended=ended,
            url=server.url(),
            requests=server.requests,
            turns=turns,
            published=published,
        )


def test_no_request_fails_and_nothing_is_said(rotated: Rotated) -> None:
    assert (rotated.ended.code, rotated.ended.said) == (0, "")
    assert [one.target for one in rotated.requests] == ["/robots.txt", *PAGES]
    assert {one.outcome for one in rotated.operator.records()} == {Outcome.ANSWERED}


@pytest.mark.parametrize(("label", "algorithm"), [("sig1", "ed25519"), ("sig2", "ml-dsa-44")])
def test_the_very_next_request_has_the_new_key_once_its_moment_has_come(
    rotated: Rotated, label: str, algorithm: str
) -> None:
    turn = named(rotated.turns, algorithm)
    used = [signed(request, label) for request in rotated.requests]

    assert {keyid for keyid, _ in used} == {turn["old"], turn["new"]}
    assert [keyid for keyid, _ in used] == [
        turn["new"] if at >= turn["sign_from"] else turn["old"] for _, at in used
    ]


def test_nothing_is_signed_with_a_key_that_was_dropped(rotated: Rotated) -> None:
    for turn in rotated.turns:
        late = [
            signed(request, label)
            for request in rotated.requests
            for label in ("sig1", "sig2")
            if signed(request, label)[1] >= turn["drop_from"]
        ]

        assert late
        assert turn["old"] not in {keyid for keyid, _ in late}


def test_each_request_verifies_with_a_key_that_is_published_when_it_comes(
    rotated: Rotated,
) -> None:
    known = {
        key.keyid: key
        for path in rotated.operator.keys.glob("*.jwk")
        if (key := keys.read_private(path.read_bytes()).public_key)
    }
    for request, published in zip(rotated.requests, rotated.published, strict=True):
        url = rotated.url.rstrip("/") + request.target
        first, second = (signed(request, label)[0] for label in ("sig1", "sig2"))
        verifiers.first_by_message_signatures("GET", url, request.fields, known[first].public)
        verifiers.second_by_cryptography("GET", url, request.fields, known[second].public)

        assert first in published


def test_the_new_key_is_published_before_it_signs_and_the_old_until_it_is_dropped(
    rotated: Rotated,
) -> None:
    turn = named(rotated.turns, "ed25519")
    both, alone = {turn["old"], turn["new"]}, {turn["new"]}
    steps = [one for one in rotated.published if one in (both, alone)]

    assert steps == rotated.published
    assert both in steps
    assert steps[-1] == alone
    assert steps == sorted(steps, key=len, reverse=True)


def test_the_switch_is_logged_once_for_each_label(rotated: Rotated) -> None:
    events = [(one.label, one.keyid) for one in rotated.operator.logged(KeyInUse)]

    assert sorted(events) == sorted(
        (label, named(rotated.turns, algorithm)[which])
        for label, algorithm in (("sig1", "ed25519"), ("sig2", "ml-dsa-44"))
        for which in ("old", "new")
    )


def test_no_secret_is_said_or_logged(rotated: Rotated) -> None:
    log = b"".join(path.read_bytes() for path in rotated.operator.folder.glob("state/log/*"))
    said = log.decode() + rotated.ended.said + rotated.ended.answer
    for path in rotated.operator.keys.glob("*.jwk"):
        key = keys.read_private(path.read_bytes())

        assert str(key.jwk()[key.algorithm.private_member]) not in said


def test_a_compromised_key_signs_nothing_after_the_command_that_replaces_it(
    tmp_path: Path,
) -> None:
    turns: list[dict[str, Any]] = []

    def answer(request: Captured) -> Answer:
        if request.target == "/1":
            begun = operator.crawl(
                "keys", "rotate", "--wait", "0s", "--keep", "0s", "--format", "json"
            )
            turns.extend(json.loads(begun.answer)["turns"])
        return respond(200, ("Content-Type", "text/plain"))

    with capturing(answer) as server:
        operator = Operator(
            folder=tmp_path / "operator",
            origins={"site": {"url": server.url(), "start": PAGES[:4], "min_delay": 0.0}},
        )
        ended = operator.crawl("--once")

    first = named(turns, "ed25519")
    assert ended.code == 0
    assert [signed(request)[0] for request in server.requests] == [
        *[first["old"]] * 3,
        *[first["new"]] * 2,
    ]


def ends_soon(operator: Operator) -> tuple[PrivateKey, int]:
    """Let the operator have one Ed25519 key only, which ends two seconds from now."""
    for path in operator.keys.glob("ed25519-*"):
        path.unlink()
    end = int(time.time()) + 2
    key = keyfiles.made(algorithms.ED25519, expires=end)
    keyfiles.keep(operator.keys, key)
    return key, end


def test_when_the_last_key_ends_the_crawl_ends_with_it_and_the_next_one_asks_for_the_rest(
    tmp_path: Path,
) -> None:
    ends: list[tuple[PrivateKey, int]] = []

    def answer(request: Captured) -> Answer:
        if request.target == "/robots.txt" and not ends:
            ends.append(ends_soon(operator))
        return respond(200, ("Content-Type", "text/plain"))

    with capturing(answer) as server:
        operator = Operator(
            folder=tmp_path / "operator",
            origins={"site": {"url": server.url(), "start": PAGES, "min_delay": DELAY}},
        )
        ended = operator.crawl("--once")
        asked = list(server.requests)
        ((key, end),) = ends
        turned = operator.crawl("keys", "rotate", "--algorithm", "ed25519")
        again = operator.crawl("--once")

    last, *hint = ended.said.splitlines()
    assert ended.code == 1
    assert f"no ed25519 key signs any more: {key.keyid} ended at" in last
    assert "`crawl keys rotate` makes one that signs" in hint[0]
    assert 1 < len(asked) < len(PAGES)
    assert [signed(one) for one in asked[1:] if signed(one)[1] >= end] == []
    assert {signed(one)[0] for one in asked[1:]} == {key.keyid}
    (unsent,) = (one for one in operator.records() if not one.left)
    assert unsent.outcome is Outcome.CANCELLED  # the page stays due
    assert "no ed25519 key signs any more" in unsent.detail
    assert (turned.code, again.code) == (0, 0)
    assert {one.target for one in server.requests} == {"/robots.txt", *PAGES}


@pytest.mark.skipif(FAKETIME is None, reason="no faketime: apt-get install faketime")
def test_a_clock_that_is_set_back_between_two_runs_brings_no_key_back(tmp_path: Path) -> None:
    with capturing(lambda _: respond(200, ("Content-Type", "text/plain"))) as server:
        operator = Operator(
            folder=tmp_path / "operator",
            origins={"site": {"url": server.url(), "start": ["/0"], "min_delay": 0.0}},
        )
        begun = operator.crawl("keys", "rotate", "--wait", "1h", "--keep", "1h", "--format", "json")
        ahead = operator.crawl("--once", prefix=("faketime", "-f", "+3h"))
        back = operator.crawl("--once", "--all")

    turns = json.loads(begun.answer)["turns"]
    new = {turn["new"] for turn in turns}
    assert (ahead.code, back.code) == (0, 0)
    assert len(back.warnings("the clock stands")) == 1
    assert {signed(one, label)[0] for one in server.requests for label in ("sig1", "sig2")} == new
    assert all(isinstance(one, FetchRecord) for one in operator.records())
