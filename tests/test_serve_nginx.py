"""What `crawl publish` writes, served by a real nginx: what it sends verifies."""

from collections.abc import Iterator

import pytest
from published import CARD, WALL, Site, by_nginx, documents, keys
from servers import needs_nginx

from crawler.serve import publish
from signing import digest, directory, possession
from signing.judgement import Outcome
from signing.keys import PrivateKey

pytestmark = needs_nginx

SIGNED = (directory.WELL_KNOWN, "/")
PATHS = (*SIGNED, publish.PQ_KEYS, CARD, "/bot")


@pytest.fixture(scope="module")
def held() -> tuple[PrivateKey, ...]:
    return keys()


@pytest.fixture(scope="module")
def site(held: tuple[PrivateKey, ...], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with by_nginx(held, tmp_path_factory.mktemp("publish")) as found:
        yield found


@pytest.mark.parametrize("path", PATHS)
def test_each_document_is_sent_as_it_is_with_its_fields(
    site: Site, held: tuple[PrivateKey, ...], path: str
) -> None:
    document = documents(held)[path]

    answer = site.ask(path, Accept_Encoding="gzip, br")

    assert (answer.status, answer.body) == (200, document.body)
    for name, value in document.fields:
        assert answer.field(name) == value
    assert answer.field("Content-Encoding") is None
    assert digest.agrees(answer.field("Content-Digest") or "", answer.body)


@pytest.mark.parametrize("path", PATHS)
def test_no_part_is_sent_with_the_digest_of_the_whole(site: Site, path: str) -> None:
    answer = site.ask(path, Range="bytes=0-9")

    assert answer.status == 200
    assert digest.agrees(answer.field("Content-Digest") or "", answer.body)


@pytest.mark.parametrize("path", SIGNED)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_its_signatures_verify_over_what_nginx_sent(
    site: Site, held: tuple[PrivateKey, ...], path: str, method: str
) -> None:
    answer = site.ask(path, method)
    body = answer.body if method == "GET" else site.ask(path).body
    published = directory.read_key_set(body, most=10).keys

    found = possession.judge(answer.to(path), body, published, now=WALL)

    assert [one.outcome for one in found] == [Outcome.VERIFIED] * 2
    assert [one.keyid for one in found] == [key.keyid for key in held[:2]]


@pytest.mark.parametrize("path", PATHS)
def test_head_has_every_field_of_get(site: Site, path: str) -> None:
    got, head = site.ask(path), site.ask(path, "HEAD")

    assert (head.status, head.body) == (200, b"")
    assert head.without("date") == got.without("date")


@pytest.mark.parametrize("path", PATHS)
def test_who_has_it_already_is_told_so_with_fresh_fields(site: Site, path: str) -> None:
    got = site.ask(path)
    etag, modified = got.field("ETag") or "", got.field("Last-Modified") or ""

    for condition in ({"If_None_Match": etag}, {"If_None_Match": f'"x", W/{etag}'}):
        answer = site.ask(path, **condition)

        assert (answer.status, answer.body) == (304, b"")
        for name in ("ETag", "Cache-Control", "Access-Control-Allow-Origin", "Signature-Input"):
            assert answer.field(name) == got.field(name)
        assert answer.field("Date")
    assert site.ask(path, If_None_Match="*").status == 304
    assert site.ask(path, If_Modified_Since=modified).status == 304
    assert site.ask(path, If_None_Match='"x"').status == 200
    assert site.ask(path, If_Match='"x"').status == 412


def test_a_cache_that_asked_again_holds_a_signature_that_verifies(
    site: Site, held: tuple[PrivateKey, ...]
) -> None:
    kept = site.ask(directory.WELL_KNOWN)
    again = site.ask(directory.WELL_KNOWN, If_None_Match=kept.field("ETag") or "")

    found = possession.judge(
        again.to(directory.WELL_KNOWN), kept.body, [key.public_key for key in held], now=WALL
    )

    assert [one.outcome for one in found] == [Outcome.VERIFIED] * 2


@pytest.mark.parametrize("path", PATHS)
def test_scripts_of_other_origins_may_read_it(site: Site, path: str) -> None:
    preflight = site.ask(
        path,
        "OPTIONS",
        Origin="https://tool.example",
        Access_Control_Request_Method="GET",
        Access_Control_Request_Headers="accept",
    )

    assert preflight.status == 204
    for name, value in publish.PREFLIGHT:
        assert preflight.field(name) == value
    assert site.ask(path, Origin="https://tool.example").field("Access-Control-Allow-Origin") == "*"


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PROPFIND"])
def test_nothing_else_is_done_with_it(site: Site, path: str, method: str) -> None:
    answer = site.ask(path, method)

    assert (answer.status, answer.field("Allow")) == (405, "GET, HEAD, OPTIONS")
    assert answer.field("Signature") is None


def test_what_is_not_there_is_not_signed(site: Site) -> None:
    answer = site.ask("/.well-known/nothing")

    assert answer.status == 404
    assert answer.field("Signature") is None
