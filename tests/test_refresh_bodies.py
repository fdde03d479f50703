"""Which bodies are kept, and where: none of a page that asks not to be kept."""

import shutil
from pathlib import Path
from shutil import which

import pytest
from capture import Answer, Captured, capturing, respond
from crawling import Operator
from scripted import page, site

from crawler.events import Interrupted, Kind, Outcome, Stage
from crawler.fetch.bodies import Bodies

WISH = '<meta name="robots" content="{}">'
KEPT = ("/plain", "/to-others", "/nofollow")
NOT_KEPT = ("/noindex", "/noarchive", "/none", "/tagged", "/meant")
PAGES = {
    "/plain": page(head="<title>plain: noindex is a word here</title>"),
    "/to-others": page(head='<meta name="otherbot" content="noindex">'),
    "/nofollow": page(head=WISH.format("nofollow")),
    "/noindex": page(head=WISH.format("NoIndex, follow")),
    "/noarchive": page(head=WISH.format("noarchive")),
    "/none": page(head=WISH.format("none")),
    "/tagged": page(head="<title>tagged</title>", X_Robots_Tag="noindex"),
    "/meant": page(head='<meta name="examplebot" content="noindex">'),
}


def test_a_body_is_kept_where_its_record_says_unless_the_page_asks_not_to_be_kept(
    tmp_path: Path,
) -> None:
    with capturing(site(PAGES)) as server:
        operator = Operator(
            folder=tmp_path / "operator",
            origins={"one": {"url": server.url("/"), "start": list(PAGES)}},
            politeness={"min_delay": 0.0, "delay_factor": 0.0},
        )
        ended = operator.crawl("--once")
    records = {f"/{one.url.rpartition('/')[2]}": one for one in operator.records("one")}
    bodies = Bodies(tmp_path / "operator" / "state" / "bodies")
    kept = {
        name: bodies.read(one.place, str(one.digest))
        for name, one in records.items()
        if one.place is not None
    }

    assert ended.code == 0
    assert set(kept) == set(KEPT)
    assert all(records[name].digest is not None for name in NOT_KEPT)
    assert all(kept.values())
    assert sum(len(body or b"") for body in kept.values()) == sum(
        path.stat().st_size for path in bodies.directory.iterdir()
    )


def test_a_body_that_did_not_change_is_kept_once(tmp_path: Path) -> None:
    with capturing(site({"/": page()})) as server:  # without validators: it is read each time
        operator = Operator(folder=tmp_path / "operator", origins={"one": {"url": server.url()}})
        for _ in range(2):
            operator.crawl("--once", "--all")
        first, second = [one for one in operator.records() if one.url == server.url()]
        shutil.rmtree(tmp_path / "operator" / "state" / "bodies")
        operator.crawl("--once", "--all")
    third = operator.records()[-1]
    bodies = Bodies(tmp_path / "operator" / "state" / "bodies")

    assert second.unchanged
    assert third.unchanged
    assert first.place == second.place
    assert third.place is not None
    assert first.place is not None
    assert third.place.file != first.place.file
    assert bodies.read(third.place, str(third.digest)) is not None


def test_a_page_whose_body_is_gone_is_read_in_full(tmp_path: Path) -> None:
    html = respond(200, ("Content-Type", "text/html"), ("ETag", '"1"'), body=b"<p>hello")
    usual = site({"/": html})

    def answer(request: Captured) -> Answer:
        same = request.target == "/" and request.field("If-None-Match")
        return respond(304, ("ETag", '"1"')) if same else usual(request)

    with capturing(answer) as server:
        operator = Operator(folder=tmp_path / "operator", origins={"one": {"url": server.url()}})
        operator.crawl("--once", "--all")
        kept = operator.crawl("--once", "--all").code
        shutil.rmtree(tmp_path / "operator" / "state" / "bodies")
        operator.crawl("--once", "--all")
        first, second, third = [one for one in operator.records() if one.url == server.url()]
    bodies = Bodies(tmp_path / "operator" / "state" / "bodies")

    assert kept == 0
    assert (first.status, second.status, third.status) == (200, 304, 200)
    assert not third.conditional
    assert third.place is not None
    assert bodies.read(third.place, str(third.digest)) == b"<p>hello"


@pytest.mark.skipif(which("prlimit") is None, reason="no prlimit: apt-get install util-linux")
@pytest.mark.parametrize("target", ["/robots.txt", "/"])
def test_a_request_whose_body_finds_no_room_stands_in_the_log(tmp_path: Path, target: str) -> None:
    limit = 400_000
    large = respond(200, ("Content-Type", "text/html"), ("ETag", '"1"'), body=bytes(limit + 1))
    answers = {target: large}
    with capturing(site({"/": page()} | answers, robots_txt=answers.get("/robots.txt"))) as server:
        operator = Operator(folder=tmp_path / "operator", origins={"one": {"url": server.url()}})
        ended = operator.crawl("--once", prefix=("prlimit", f"--fsize={limit}"))
        (failed,) = [one for one in operator.records() if one.url == server.url(target)]
        again = operator.crawl("--once").code
        records = operator.records()

    assert (ended.code, ended.warnings("make room") != []) == (1, True)
    assert (failed.outcome, failed.stage, failed.status) == (Outcome.CANCELLED, Stage.DISK, 200)
    what = "robots.txt" if failed.kind is Kind.ROBOTS else "body"
    assert failed.detail == f"a {what} of {limit + 1} bytes cannot be kept: File too large"
    assert (failed.digest, failed.etag) == (None, None)
    assert again == 0
    assert operator.logged(Interrupted) == []
    assert len(records) == len(server.requests)
    read = next(one for one in records if one.url == server.url(target) and one != failed)
    assert (read.outcome, read.conditional) == (Outcome.ANSWERED, False)
