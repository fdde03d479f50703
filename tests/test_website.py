"""The site that the servers serve: real, linked, and the same each time."""

import lxml.html
import website


def links(page: bytes) -> set[str]:
    anchors = lxml.html.document_fromstring(page).iter("a")
    return {str(anchor.get("href")) for anchor in anchors}


def test_every_page_is_reached_within_two_links_and_nothing_else_is_public() -> None:
    site = website.files(20)
    home = links(site["index.html"])
    near = {link for link in home if link.startswith("/page-")}
    found = {website.path_of(0), *near}
    for link in near:
        found |= {each for each in links(site[link[1:]]) if each.startswith("/page-")}

    assert found == {website.path_of(number) for number in range(20)}
    assert {f"/{website.FORBIDDEN}", "https://elsewhere.example/", "#top"} <= home
    assert set(site) - {"index.html"} == {
        "robots.txt",
        website.FORBIDDEN,
        *(website.path_of(number)[1:] for number in range(1, 20)),
    }


def test_pages_are_of_the_asked_size_and_differ() -> None:
    pages = [body for name, body in website.files(30, size=10_000).items() if name != "robots.txt"]
    sizes = [len(page) for page in pages]

    assert min(sizes) >= 8_000
    assert max(sizes) <= 13_500
    assert len(set(pages)) == len(pages)


def test_the_same_site_is_written_again() -> None:
    assert website.files(3, title="one") == website.files(3, title="one")
    assert website.files(3, title="one") != website.files(3, title="two")
