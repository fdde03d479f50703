"""Which bodies are kept: as files by digest, and none of a page that asks not to be kept."""

from hashlib import sha256
from pathlib import Path
from shutil import which

import pytest
from capture import capturing, respond
from crawling import Operator
from scripted import page, site

from crawler.events import Interrupted, Outcome, Stage

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


def test_a_body_is_kept_under_its_digest_unless_the_page_asks_not_to_be_kept(
    tmp_path: Path,
) -> None:
    with capturing(site(PAGES)) as server:
        operator = Operator(
            folder=tmp_path / "operator",
            origins={"one": {"url": server.url("/"), "start": list(PAGES)}},
            politeness={"min_delay": 0.0, "delay_factor": 0.0},
        )
        ended = operator.crawl("--once")
    digests = {record.url.rpartition("/")[2]: record.digest for record in operator.records("one")}
    kept = {
        "".join(path.parts[-2:]): path.read_bytes()
        for path in (tmp_path / "operator" / "state" / "bodies").glob("??/*")
    }

    assert ended.code == 0
    assert set(kept) == {digests[name.lstrip("/")] for name in KEPT}
    assert all(digests[name.lstrip("/")] is not None for name in NOT_KEPT)
    assert all(sha256(body).hexdigest() == digest for digest, body in kept.items())


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
    assert failed.detail == f"a body of {limit + 1} bytes cannot be kept: File too large"
    assert (failed.digest, failed.etag) == (None, None)
    assert again == 0
    assert operator.logged(Interrupted) == []
    assert len(records) == len(server.requests)
    read = next(one for one in records if one.url == server.url(target) and one != failed)
    assert (read.outcome, read.conditional) == (Outcome.ANSWERED, False)
