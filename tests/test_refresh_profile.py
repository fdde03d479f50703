"""How `auto` chooses the form of signatures by what an origin's last answer showed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final

import pytest
from capture import Answer, Captured, CapturingServer, capturing, respond
from crawling import Operator
from scripted import labels

from crawler.events import FetchRecord, Without
from crawler.settings import ProfileName

PAGES: Final = ("/0", "/1")
CLOUDFLARE: Final = {"Server": "cloudflare", "CF-RAY": "8f2a1b3c4d5e6f70-PRG"}
BRIDGE: Final = (
    'sig1="https://bot.example", sig2="https://bot.example/.well-known/bot-pq-jwks.json"'
)
STRING: Final = '"https://bot.example"'


@dataclass
class Site:
    """A site that shows these fields with each answer, other ones later."""

    shows: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, request: Captured) -> Answer:
        kind = "text/plain" if request.target == "/robots.txt" else "text/html"
        return respond(200, ("Content-Type", kind), *self.shows.items())


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One origin's requests and records, in a list for each run."""

    requests: Sequence[Sequence[Captured]]
    records: Sequence[Sequence[FetchRecord]]

    def forms(self, run: int) -> list[tuple[str | None, list[str]]]:
        """Signature-Agent and labels of each request of a run."""
        found = self.requests[run]
        return [(request.field("Signature-Agent"), labels(request)) for request in found]


SITES: Final[dict[str, Callable[[], Site]]] = {
    "both-fields": lambda: Site(CLOUDFLARE),
    "server-field": lambda: Site({"Server": "cloudflare"}),
    "ray-field": lambda: Site({"CF-RAY": CLOUDFLARE["CF-RAY"]}),
    "insisting": lambda: Site(CLOUDFLARE),
    "nginx": lambda: Site({"Server": "nginx"}),
    "leaving": lambda: Site(CLOUDFLARE),
}
SHOWN: Final = ("both-fields", "server-field", "ray-field")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Seen]]:
    with ExitStack() as stack:
        sites = {name: made() for name, made in SITES.items()}
        doors: dict[str, CapturingServer] = {
            name: stack.enter_context(capturing(site, f"127.0.0.{number}"))
            for number, (name, site) in enumerate(sites.items(), start=1)
        }
        operator = Operator(
            folder=tmp_path_factory.mktemp("profile"),
            origins={
                name: {
                    "url": door.url(),
                    "start": list(PAGES),
                    **({"sig2": "always"} if name == "insisting" else {}),
                }
                for name, door in doors.items()
            },
        )
        requests: dict[str, list[Sequence[Captured]]] = {name: [] for name in SITES}
        records: dict[str, list[Sequence[FetchRecord]]] = {name: [] for name in SITES}
        for run in range(2):
            if run:
                sites["leaving"].shows = {"Server": "nginx"}
            assert operator.crawl("--once").code == 0
            for name, door in doors.items():
                before = sum(map(len, records[name]))
                requests[name].append(door.requests[before:])
                records[name].append(operator.records(name)[before:])
        yield {name: Seen(requests=requests[name], records=records[name]) for name in SITES}


@pytest.mark.parametrize("name", SHOWN)
def test_cloudflare_gets_its_form_and_sig1_alone_from_the_second_request_on(
    seen: dict[str, Seen], name: str
) -> None:
    first, *others = seen[name].forms(0)

    assert first == (BRIDGE, ["sig1", "sig2"])
    assert others == [(STRING, ["sig1"])] * len(PAGES)


@pytest.mark.parametrize("name", SHOWN)
def test_and_from_the_first_request_of_the_next_run(seen: dict[str, Seen], name: str) -> None:
    assert seen[name].forms(1) == [(STRING, ["sig1"])] * len(PAGES)


@pytest.mark.parametrize("name", SHOWN)
def test_the_record_says_form_and_reason(seen: dict[str, Seen], name: str) -> None:
    first, *others = (record for run in seen[name].records for record in run)

    assert (first.profile, first.without) == (ProfileName.BRIDGE, None)
    assert first.profile_reason == "nothing-shows-cloudflare"
    for record in others:
        assert (record.profile, record.without) == (ProfileName.LEGACY, Without.PROFILE)
        assert record.profile_reason == (
            "has-cf-ray" if name == "ray-field" else "server-is-cloudflare"
        )


def test_sig2_goes_along_in_that_form_where_the_operator_insists(seen: dict[str, Seen]) -> None:
    _, *others = seen["insisting"].forms(0)

    assert [*others, *seen["insisting"].forms(1)] == [(STRING, ["sig1", "sig2"])] * 2 * len(PAGES)


def test_other_servers_get_the_bridge_form_with_both(seen: dict[str, Seen]) -> None:
    forms = [*seen["nginx"].forms(0), *seen["nginx"].forms(1)]

    assert forms == [(BRIDGE, ["sig1", "sig2"])] * (1 + 2 * len(PAGES))


def test_an_origin_that_left_cloudflare_gets_both_again(seen: dict[str, Seen]) -> None:
    first, *others = seen["leaving"].forms(1)

    assert first == (STRING, ["sig1"])
    assert others == [(BRIDGE, ["sig1", "sig2"])] * (len(PAGES) - 1)
