"""Keys that change while `crawl --once` is at work.

The site itself changes them, when it is asked and before it answers, so that nothing depends on
luck. Requests lie further apart than the crawler's looks at its folder of keys.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest
import verifiers
from capture import Answer, Captured, capturing, respond
from crawling import Ended, Operator

from crawler.events import Degraded, KeyInUse, Outcome, Without
from crawler.fetch import keyfiles, keywatch
from signing import keys
from signing.keys import PrivateKey

DELAY: Final = keywatch.LOOK_EVERY + 0.05  # seconds


@dataclass(frozen=True, kw_only=True)
class Ring:
    """The keys that should sign a request; no second one where sig1 should stand alone."""

    first: PrivateKey
    second: PrivateKey | None

    @property
    def keyids(self) -> list[str]:
        return [key.keyid for key in (self.first, self.second) if key is not None]


Change = Callable[[Operator, Ring], Ring]
"""Changes the folder of keys and gives what should sign then, told what signed before."""


def files(operator: Operator, algorithm: str) -> list[Path]:
    """The key files of an algorithm, oldest first."""
    found = operator.keys.glob(f"{algorithm}-*.jwk")
    return sorted(found, key=lambda path: path.stat().st_mtime_ns)


def read(path: Path) -> PrivateKey:
    return keys.read_private(path.read_bytes())


def pair(operator: Operator, which: int) -> Ring:
    """The oldest (0) or the newest (-1) keys of the folder."""
    first, second = (files(operator, name)[which] for name in ("ed25519", "ml-dsa-44"))
    return Ring(first=read(first), second=read(second))


def state(operator: Operator, signing: Ring, retired: Sequence[str]) -> None:
    text = f"signing = {json.dumps(signing.keyids)}\nretired = {json.dumps(retired)}\n"
    (operator.keys / "state.toml").write_text(text)


def crawl_keys_new(operator: Operator, now: Ring) -> Ring:
    assert operator.crawl("keys", "new").code == 0
    return now  # the new ones wait until sites can know them


def named_in_state_toml(operator: Operator, now: Ring) -> Ring:
    state(operator, pair(operator, -1), retired=now.keyids)
    return pair(operator, -1)


def files_replaced(operator: Operator, now: Ring) -> Ring:
    for path in operator.keys.iterdir():
        path.unlink()
    for algorithm in ("ed25519", "ml-dsa-44"):
        keyfiles.create(operator.keys, algorithm)
    return pair(operator, 0)


def newer_ones_published_only(operator: Operator, now: Ring) -> Ring:
    state(operator, now, retired=[])
    assert operator.crawl("keys", "new").code == 0
    return now


def second_removed(operator: Operator, now: Ring) -> Ring:
    (path,) = files(operator, "ml-dsa-44")
    path.rename(operator.folder / "aside")
    return replace(now, second=None)


def second_back(operator: Operator, now: Ring) -> Ring:
    aside = operator.folder / "aside"
    second = read(aside)
    (operator.keys / f"ml-dsa-44-{second.keyid}.jwk").write_bytes(aside.read_bytes())
    (operator.keys / f"ml-dsa-44-{second.keyid}.jwk").chmod(0o600)
    return replace(now, second=second)


def second_cut_short(operator: Operator, now: Ring) -> Ring:
    (path,) = files(operator, "ml-dsa-44")
    path.write_bytes(path.read_bytes()[:100])
    return replace(now, second=None)


def second_of_wrong_length(operator: Operator, now: Ring) -> Ring:
    (path,) = files(operator, "ml-dsa-44")
    jwk = json.loads((operator.folder / "aside").read_bytes())
    path.write_text(json.dumps({**jwk, "priv": jwk["priv"][:-2]}))
    return replace(now, second=None)


def second_readable_by_others(operator: Operator, now: Ring) -> Ring:
    (path,) = files(operator, "ml-dsa-44")
    path.write_bytes((operator.folder / "aside").read_bytes())
    path.chmod(0o604)
    return replace(now, second=None)


def second_ours_alone_again(operator: Operator, now: Ring) -> Ring:
    (path,) = files(operator, "ml-dsa-44")
    path.chmod(0o600)
    return replace(now, second=read(path))


def note_beside_the_keys(operator: Operator, now: Ring) -> Ring:
    (operator.keys / "README").write_text("made in November\n")
    return now


def first_damaged(operator: Operator, now: Ring) -> Ring:
    (path,) = files(operator, "ed25519")
    path.write_bytes(b"{}")
    return now  # the key of before signs on, since nothing leaves unsigned


def first_replaced(operator: Operator, now: Ring) -> Ring:
    files(operator, "ed25519")[0].unlink()
    return replace(now, first=read(keyfiles.create(operator.keys, "ed25519")))


STORIES: dict[str, tuple[Change, ...]] = {
    "rotated": (
        crawl_keys_new,
        named_in_state_toml,
        files_replaced,
        newer_ones_published_only,
    ),
    "degraded": (
        second_removed,
        second_back,
        second_cut_short,
        second_of_wrong_length,
        second_readable_by_others,
        second_ours_alone_again,
    ),
    "unusable": (
        second_removed,
        note_beside_the_keys,
        first_damaged,
        first_replaced,
        second_back,
    ),
}


@dataclass(frozen=True, kw_only=True)
class Told:
    """A story at its end: what the site received, and which keys should have signed each."""

    operator: Operator
    ended: Ended
    url: str
    requests: Sequence[Captured]
    expected: Sequence[Ring]


@contextmanager
def telling(name: str, folder: Path) -> Iterator[Callable[[], Told]]:
    """Begin a story; what is given waits for its end."""
    changes = iter(STORIES[name])
    expected: list[Ring] = []

    def answer(request: Captured) -> Answer:
        if (change := next(changes, None)) is not None:
            expected.append(change(operator, expected[-1]))
        kind = "text/plain" if request.target == "/robots.txt" else "text/html"
        return respond(200, ("Content-Type", kind))

    with capturing(answer) as server:
        pages = [f"/{number}" for number in range(len(STORIES[name]))]  # one after each change
        operator = Operator(
            folder=folder / name,
            origins={"site": {"url": server.url(), "start": pages, "profile": "bridge"}},
            politeness={"min_delay": DELAY, "delay_factor": 0, "min_interval": "0s"},
        )
        expected.append(pair(operator, 0))
        running = operator.start("--once")
        yield lambda: Told(
            operator=operator,
            ended=running.end(),
            url=server.url(),
            requests=server.requests,
            expected=expected,
        )


@pytest.fixture(scope="module")
def stories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told]:
    """All of them, told at the same time."""
    folder = tmp_path_factory.mktemp("keys")
    with ExitStack() as stack:
        begun = {name: stack.enter_context(telling(name, folder)) for name in STORIES}
        return {name: end() for name, end in begun.items()}


@pytest.fixture(params=STORIES)
def told(stories: dict[str, Told], request: pytest.FixtureRequest) -> Told:
    return stories[request.param]


def test_no_request_fails(told: Told) -> None:
    records = told.operator.records()

    assert told.ended.code == 0
    assert len(records) == len(told.requests) == len(told.expected)
    assert {(one.outcome, one.status) for one in records} == {(Outcome.ANSWERED, 200)}


def test_each_request_is_signed_with_the_keys_that_stand_there_then(told: Told) -> None:
    for request, ring in zip(told.requests, told.expected, strict=True):
        url = told.url.rstrip("/") + request.target
        labels = verifiers.labels(request.fields)
        keyids = [verifiers.parameters(request.fields, label)["keyid"] for label in labels]

        assert keyids == ring.keyids
        verifiers.first_by_message_signatures("GET", url, request.fields, ring.first.public)
        if ring.second is not None:
            verifiers.second_by_cryptography("GET", url, request.fields, ring.second.public)


def test_the_record_says_which_labels_there_were_and_why_sig2_was_not(told: Told) -> None:
    said = [(one.labels, one.without) for one in told.operator.records()]
    both, alone = (("sig1", "sig2"), None), (("sig1",), Without.NO_KEY)

    assert said == [alone if ring.second is None else both for ring in told.expected]


def test_a_key_that_signs_from_here_on_is_logged_once(told: Told) -> None:
    changes: list[tuple[str, str]] = []
    before: dict[str, str] = {}
    for ring in told.expected:
        now = dict(zip(("sig1", "sig2"), ring.keyids, strict=False))
        changes += [one for one in now.items() if one not in before.items()]
        before = now

    assert [(one.label, one.keyid) for one in told.operator.logged(KeyInUse)] == changes


@pytest.mark.parametrize(
    ("name", "reasons"),
    [
        pytest.param("rotated", [], id="rotated"),
        pytest.param(
            "degraded",
            ["no ml-dsa-44 key signs", "no usable key", "no usable key", "chmod 600"],
            id="degraded",
        ),
        pytest.param("unusable", ["no ml-dsa-44 key signs"], id="unusable"),
    ],
)
def test_each_reason_to_leave_sig2_out_is_said_once(
    stories: dict[str, Told], name: str, reasons: list[str]
) -> None:
    told = stories[name]
    events = [one.reason for one in told.operator.logged(Degraded)]
    warnings = told.ended.warnings("sig2 is left out")

    assert len(events) == len(warnings) == len(reasons)
    for event, warning, reason in zip(events, warnings, reasons, strict=True):
        assert reason in event
        assert event in warning


def test_a_damaged_ed25519_key_is_said_and_the_one_before_signs_on(
    stories: dict[str, Told],
) -> None:
    warnings = stories["unusable"].ended.warnings("the keys of before sign on")

    assert len(warnings) == 1
    assert "no usable key" in warnings[0]


def test_what_is_said_of_keys_shows_no_secret(told: Told) -> None:
    log = b"".join(path.read_bytes() for path in told.operator.folder.glob("state/log/*"))
    said = (log.decode() + told.ended.said + told.ended.answer).lower()
    for ring in told.expected:
        for key in filter(None, (ring.first, ring.second)):
            jwk = key.jwk()
            secret = jwk.get("d") or jwk["priv"]

            assert str(secret).lower() not in said
