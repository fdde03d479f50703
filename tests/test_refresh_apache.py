"""A site that dates its pages and has no ETags, behind Apache, refreshed three times."""

import os
from email.utils import formatdate
from pathlib import Path
from typing import Final

import servers
import website
from crawling import Operator

from crawler.events import FetchRecord

pytestmark = servers.needs_apache

PAGES: Final = 4
CHANGED: Final = website.path_of(2)
MODIFIED: Final = formatdate(servers.MODIFIED, usegmt=True)


def told(records: list[FetchRecord]) -> list[tuple[str, int | None]]:
    return [("/" + one.url.split("/", 3)[3], one.status) for one in records]


def test_what_is_dated_only_is_asked_with_its_date_and_read_again_once_that_changed(
    tmp_path: Path,
) -> None:
    with servers.apache({"127.0.0.1": website.files(PAGES)}, directives="FileETag None") as server:
        operator = Operator(
            folder=tmp_path / "own", origins={"notes": {"url": server.url(), "follow": "links"}}
        )
        codes = [operator.crawl("--once").code, operator.crawl("--once", "--all").code]
        page = server.directory / "127.0.0.1" / CHANGED[1:]
        page.write_bytes(page.read_bytes().replace(b"<h1>", b"<h1>New: "))
        os.utime(page, (servers.MODIFIED + 60, servers.MODIFIED + 60))
        codes.append(operator.crawl("--once", "--all").code)
        records = operator.records()
        theirs = [(one.target, one.status) for one in server.requests(at_least=len(records))]

    first, second, third = (
        records[1 : 1 + PAGES],
        records[1 + PAGES : 1 + 2 * PAGES],
        records[1 + 2 * PAGES :],
    )

    assert codes == [0, 0, 0]
    assert theirs == told(records)
    assert {(one.etag, one.last_modified) for one in first} == {(None, MODIFIED)}
    assert {(one.status, one.conditional) for one in second} == {(304, True)}
    assert dict(told(third)) == {website.path_of(n): 304 for n in range(PAGES)} | {CHANGED: 200}
    assert [one.unchanged for one in third if one.status == 200] == [False]
    assert all(one.conditional for one in third)
