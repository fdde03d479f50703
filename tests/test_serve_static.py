"""The files of `crawl publish` hold the same as our own server's answers, in each host's form."""

import dataclasses
import re

import pytest
from published import AUTHORITY, CARD, SETTINGS, WALL, documents, keys

from crawler.serve import publish, static
from signing import directory, possession
from signing.judgement import Outcome
from signing.message import Message

HELD = keys()
TERM = static.Term(created=int(WALL) - 3, expires=int(WALL) + 30 * 86_400)
FILES = static.files(documents(HELD), HELD, authority=AUTHORITY, term=TERM)
NAMES = {
    directory.WELL_KNOWN: ".well-known/http-message-signatures-directory",
    "/": "index.html",
    publish.PQ_KEYS: ".well-known/bot-pq-jwks.json",
    CARD: ".well-known/signature-agent-card",
    "/bot": "bot.html",
}


def told(headers: str) -> dict[str, list[tuple[str, str]]]:
    """What a `_headers` file says of each path, as its hosts read it."""
    found: dict[str, list[tuple[str, str]]] = {}
    path = ""
    for line in headers.splitlines():
        if line.startswith("  "):
            name, _, value = line.strip().partition(": ")
            found[path].append((name, value))
        elif line and not line.startswith("#"):
            path = line
            found[path] = []
    return found


def test_each_document_stands_where_a_static_host_finds_it() -> None:
    assert {name: FILES[name] for name in NAMES.values()} == {
        NAMES[path]: document.body for path, document in documents(HELD).items()
    }
    assert FILES.keys() - {*NAMES.values()} == {static.HEADERS, static.NGINX}


def test_the_headers_file_says_the_fields_of_each_path() -> None:
    said = told(FILES[static.HEADERS].decode())

    assert said.keys() == NAMES.keys()
    for path, document in documents(HELD).items():
        expected = publish.signed(
            document, HELD, authority=AUTHORITY, created=TERM.created, expires=TERM.expires
        )
        assert said[path] == [*document.fields, *expected]


def test_a_host_that_sends_what_the_headers_file_says_is_verified() -> None:
    body = FILES[NAMES[directory.WELL_KNOWN]]
    fields = told(FILES[static.HEADERS].decode())[directory.WELL_KNOWN]
    request = Message(
        method="GET", scheme="https", authority=AUTHORITY, target=directory.WELL_KNOWN
    )
    response = Message(status=200, fields=tuple(fields), request=request)
    published = directory.read_key_set(body, most=10).keys

    for now, outcome in (
        (TERM.created, Outcome.VERIFIED),
        (TERM.expires - 1, Outcome.VERIFIED),
        (TERM.expires, Outcome.INVALID),
    ):
        found = possession.judge(response, body, published, now=now)

        assert [one.outcome for one in found] == [outcome] * 2


@pytest.mark.parametrize("name", [static.HEADERS, static.NGINX])
def test_it_says_on_top_until_when_the_signatures_are_good(name: str) -> None:
    top = FILES[name].decode().partition("\n\n")[0]

    assert all(line.startswith("#") for line in top.splitlines())
    assert "https://bot.example" in top
    assert "The signatures expire 2027-02-14 08:00 UTC. Publish again by 2027-02-13 08:00 UTC." in (
        top
    )


def test_copies_have_their_day_between_the_last_publishing_and_the_end() -> None:
    assert TERM.expires - TERM.renew == publish.MAX_AGE


@pytest.mark.parametrize(
    ("ends", "renew"),
    [(TERM.created + 86_400, TERM.created + 86_400), (TERM.expires, TERM.renew)],
    ids=["a key ends before", "no key ends before"],
)
def test_a_key_that_ends_is_published_no_longer_than_that(ends: int, renew: int) -> None:
    assert static.Term(created=TERM.created, expires=TERM.expires, ends=ends).renew == renew


def test_the_first_end_of_all_published_keys_is_found() -> None:
    first, _, pq = (key.public_key for key in HELD)
    ending = [
        dataclasses.replace(first, expires=2_000_000_000),
        dataclasses.replace(pq, expires=1_900_000_000),
    ]

    assert static.first_end(documents(HELD)) is None
    assert static.first_end(publish.documents(SETTINGS, ending, [])) == 1_900_000_000


def test_lines_are_short_enough_for_their_hosts() -> None:
    assert max(len(line) for line in FILES[static.HEADERS].splitlines()) <= 2000


def test_the_same_keys_at_the_same_moment_give_the_same_files() -> None:
    assert static.files(documents(HELD), HELD, authority=AUTHORITY, term=TERM) == FILES


@pytest.mark.parametrize(
    ("authority", "name"),
    [("bot.example", "bot.example"), ("bot.example:8443", "bot.example"), ("[::1]:8443", "[::1]")],
)
def test_the_example_in_the_snippet_names_the_host(authority: str, name: str) -> None:
    files = static.files(documents(HELD), HELD, authority=authority, term=TERM)

    found = re.findall(r"server_name (\S+);", files[static.NGINX].decode())
    assert found == [name]


@pytest.mark.parametrize("value", ["$host", "a\\b", "both \" and '"])
def test_a_value_that_nginx_would_read_in_another_way_is_refused(value: str) -> None:
    document = publish.Document(media_type=f"text/{value}", body=b"")

    with pytest.raises(ValueError, match="nginx"):
        static.files({"/x": document}, HELD, authority=AUTHORITY, term=TERM)
