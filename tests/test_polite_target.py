"""URLs in the one form in which they are sent."""

import pytest
import yarl
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawler.polite import target
from crawler.polite.target import Reason, Target, Unsendable, joined, sendable


def url_of(found: Target | Unsendable) -> str:
    assert isinstance(found, Target), str(found)
    return found.url


@pytest.mark.parametrize(
    ("given_url", "sent"),
    [
        ("HTTP://Example.COM", "http://example.com/"),
        ("http://example.com:80/", "http://example.com/"),
        ("https://example.com:443", "https://example.com/"),
        ("https://example.com:80/", "https://example.com:80/"),
        ("http://example.com:", "http://example.com/"),
        ("http://example.com:08080/", "http://example.com:8080/"),
        ("http://example.com./", "http://example.com/"),
        ("http://example.com?a=b", "http://example.com/?a=b"),
        ("http://example.com/#part", "http://example.com/"),
        ("http://example.com/a?b#part?c", "http://example.com/a?b"),
        ("http://example.com/a?", "http://example.com/a"),
        ("http://example.com/a?#part", "http://example.com/a"),
        ("http://example.com/a??", "http://example.com/a??"),
        ("http://example.com/a%2Fb?x=%7E", "http://example.com/a%2Fb?x=%7E"),
        ("http://example.com/a%2fb", "http://example.com/a%2fb"),
        ("http://example.com/ä b", "http://example.com/%C3%A4%20b"),
        ("http://example.com/?q=ä b", "http://example.com/?q=%C3%A4%20b"),
        (
            'http://example.com/a[1]|^`{}"<>\\',
            "http://example.com/a%5B1%5D%7C%5E%60%7B%7D%22%3C%3E%5C",
        ),
        ("http://example.com/?a[]='1'", "http://example.com/?a%5B%5D='1'"),
        ("http://example.com/50%-off%zz%", "http://example.com/50%25-off%25zz%25"),
        ("http://example.com/a\x00b", "http://example.com/a%00b"),
        ("http://example.com/\udce9", "http://example.com/%E9"),
        ("http://example.com/\ud800", "http://example.com/%EF%BF%BD"),
        (" \thttp://exam\nple.com/a\r\n/b \x00", "http://example.com/a/b"),
        ("http://example.com/a/../b/./c", "http://example.com/b/c"),
        ("http://example.com/a/%2e%2E/b/%2e/.%2e/c/..", "http://example.com/"),
        ("http://example.com/../../a", "http://example.com/a"),
        ("http://example.com//a//b/", "http://example.com//a//b/"),
        ("http://example.com/...", "http://example.com/..."),
        ("http://example.com/.a/b.", "http://example.com/.a/b."),
        ("http://example.com/?a/../b", "http://example.com/?a/../b"),
        ("https://münchen.de/", "https://xn--mnchen-3ya.de/"),
        ("https://m%C3%BCnchen.de/", "https://xn--mnchen-3ya.de/"),
        ("https://MÜNCHEN.DE/", "https://xn--mnchen-3ya.de/"),
        ("https://faß.de/", "https://xn--fa-hia.de/"),
        ("https://xn--mnchen-3ya.de/", "https://xn--mnchen-3ya.de/"),
        ("https://日本語。jp/", "https://xn--wgv71a119e.jp/"),
        ("http://my_host.example/", "http://my_host.example/"),
        ("http://192.0.2.1/", "http://192.0.2.1/"),
        ("http://[2001:DB8::0:1]:8080/", "http://[2001:db8::1]:8080/"),
        ("http://[::ffff:192.0.2.1]/", "http://[::ffff:c000:201]/"),
    ],
    ids=lambda value: ascii(value),
)
def test_is_sent_as(given_url: str, sent: str) -> None:
    assert url_of(sendable(given_url)) == sent


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://example.com/", Reason.SCHEME),
        ("mailto:a@example.com", Reason.SCHEME),
        ("javascript:alert(1)", Reason.SCHEME),
        ("example.com/a", Reason.SCHEME),
        ("//example.com/a", Reason.SCHEME),
        ("", Reason.SCHEME),
        ("http:/example.com", Reason.NO_HOST),
        ("http:///a", Reason.NO_HOST),
        ("http:", Reason.NO_HOST),
        ("http://me@example.com/", Reason.USER_INFO),
        ("http://@example.com/", Reason.USER_INFO),
        ("http://good.example\\@evil.example/", Reason.USER_INFO),
        ("http://a..b/", Reason.BAD_HOST),
        ("http://a b/", Reason.BAD_HOST),
        ("http://a\\b/", Reason.BAD_HOST),
        ("http://%00a/", Reason.BAD_HOST),
        ("http://%E9.example/", Reason.BAD_HOST),
        ("http://%41\udce9/", Reason.BAD_HOST),
        ("http://./", Reason.BAD_HOST),
        ("http://:80/", Reason.BAD_HOST),
        (f"http://{'a' * 64}.example/", Reason.BAD_HOST),
        (f"http://{'a.' * 127}a/", Reason.BAD_HOST),
        (f"http://{'a' * 1025}/", Reason.BAD_HOST),
        ("http://127.1/", Reason.BAD_HOST),
        ("http://2130706433/", Reason.BAD_HOST),
        ("http://0x7f.1/", Reason.BAD_HOST),
        ("http://127.0.0.0x1/", Reason.BAD_HOST),
        ("http://010.0.0.1/", Reason.BAD_HOST),
        ("http://1.2.3.256/", Reason.BAD_HOST),
        ("http://[::1/", Reason.BAD_HOST),
        ("http://[::g]/", Reason.BAD_HOST),
        ("http://[fe80::1%25eth0]/", Reason.BAD_HOST),
        ("http://[v1.x]/", Reason.BAD_HOST),
        ("http://[::1]x/", Reason.BAD_HOST),
        ("http://☃.example/", Reason.BAD_NAME),
        ("http://ä-.example/", Reason.BAD_NAME),
        (f"http://{'ä' * 64}.example/", Reason.BAD_NAME),
        ("http://a\u0378.example/", Reason.BAD_NAME),
        ("http://example.com:0/", Reason.BAD_PORT),
        ("http://example.com:65536/", Reason.BAD_PORT),
        ("http://example.com:99999999999999/", Reason.BAD_PORT),
        ("http://example.com:8a/", Reason.BAD_PORT),
        ("http://example.com:٣/", Reason.BAD_PORT),
        ("http://example.com:-1/", Reason.BAD_PORT),
        ("http://example.com/" + "a" * 20_000, Reason.TOO_LONG),
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_is_not_sent_because(url: str, reason: Reason) -> None:
    found = sendable(url)

    assert isinstance(found, Unsendable)
    assert found.reason is reason
    assert str(found).startswith(reason)


def test_a_password_is_not_repeated() -> None:
    found = sendable("http://me:secret@example.com/a@b")

    assert "secret" not in repr(found)
    assert isinstance(found, Unsendable)
    assert found.url == "http://…@example.com/a@b"


def test_has_the_parts_that_a_request_needs() -> None:
    assert sendable("HTTPS://[2001:db8::1]:8443/a/b?c=d") == Target(
        url="https://[2001:db8::1]:8443/a/b?c=d",
        scheme="https",
        host="2001:db8::1",
        port=8443,
        authority="[2001:db8::1]:8443",
        target="/a/b?c=d",
    )


def test_tells_path_and_origin() -> None:
    found = sendable("https://example.com:443/a/b?c=d")

    assert isinstance(found, Target)
    assert (found.path, found.origin) == ("/a/b", "https://example.com")


HOSTS = st.sampled_from(
    ["example.com", "MÜNCHEN.de", "[::1]", "192.0.2.7", "a_b.example.", "日本語.jp", "x", "ß.x"]
)
PATHS = st.lists(
    st.sampled_from(["/", "..", ".", "%2e", "%2E%2e", "a", "ä", "%", "%2F", "%zz", ";", "[", "//"])
    | st.text(max_size=3),
    max_size=6,
).map("".join)
TAILS = st.one_of(
    st.just(""),
    st.just("?"),
    st.just("#"),
    st.text(max_size=5).map("?{}".format),
    PATHS.map("?{}".format),
)
URLS = st.tuples(
    st.sampled_from(["http://", "https://", "HTTP://"]),
    HOSTS,
    st.sampled_from(["", ":", ":80", ":443", ":8080"]),
    PATHS.map("/{}".format) | st.just(""),
    TAILS,
).map("".join)


@settings(max_examples=1000)
@given(URLS)
@example("http://x/a?")
@example("http://x/a??")
@example("http://x/a%2Fb?x=%7E")
def test_what_is_sent_is_ascii_stays_and_passes_aiohttp_unchanged(url: str) -> None:
    found = sendable(url)
    if isinstance(found, Unsendable):
        return
    passed = yarl.URL(found.url, encoded=True)

    assert found.url.isascii()
    assert found.url.isprintable()
    assert " " not in found.url
    assert sendable(found.url) == found
    assert str(passed) == found.url
    assert passed.raw_path_qs == found.target
    assert passed.raw_host == found.host
    assert passed.port == found.port
    assert found.url == f"{found.scheme}://{found.authority}{found.target}"
    assert not {".", ".."} & set(found.path.split("/"))


@settings(max_examples=500)
@given(
    st.text(st.characters(), max_size=60)
    | st.text(st.characters(), max_size=20).map("http://{}".format)
)
def test_no_text_breaks_it(url: str) -> None:
    found = sendable(url)

    assert isinstance(found, (Target, Unsendable))
    assert isinstance(joined("http://x/", url), (Target, Unsendable))


@settings(max_examples=300)
@given(st.text("0123456789abcdefx.:[]%", max_size=20))
def test_a_host_is_either_refused_or_never_changes_again(name: str) -> None:
    found = sendable(f"http://{name}/")

    if isinstance(found, Target):
        assert sendable(f"http://{found.authority}/") == found


# RFC 3986, sections 5.4.1 and 5.4.2, less what leads to other schemes; fragments are not sent.
REFERENCES = {
    "g": "http://a/b/c/g",
    "./g": "http://a/b/c/g",
    "g/": "http://a/b/c/g/",
    "/g": "http://a/g",
    "//g": "http://g/",
    "?y": "http://a/b/c/d;p?y",
    "g?y": "http://a/b/c/g?y",
    "#s": "http://a/b/c/d;p?q",
    "g#s": "http://a/b/c/g",
    "g?y#s": "http://a/b/c/g?y",
    ";x": "http://a/b/c/;x",
    "g;x": "http://a/b/c/g;x",
    "g;x?y#s": "http://a/b/c/g;x?y",
    "": "http://a/b/c/d;p?q",
    ".": "http://a/b/c/",
    "./": "http://a/b/c/",
    "..": "http://a/b/",
    "../": "http://a/b/",
    "../g": "http://a/b/g",
    "../..": "http://a/",
    "../../": "http://a/",
    "../../g": "http://a/g",
    "../../../g": "http://a/g",
    "../../../../g": "http://a/g",
    "/./g": "http://a/g",
    "/../g": "http://a/g",
    "g.": "http://a/b/c/g.",
    ".g": "http://a/b/c/.g",
    "g..": "http://a/b/c/g..",
    "..g": "http://a/b/c/..g",
    "./../g": "http://a/b/g",
    "./g/.": "http://a/b/c/g/",
    "g/./h": "http://a/b/c/g/h",
    "g/../h": "http://a/b/c/h",
    "g;x=1/./y": "http://a/b/c/g;x=1/y",
    "g;x=1/../y": "http://a/b/c/y",
    "g?y/./x": "http://a/b/c/g?y/./x",
    "g?y/../x": "http://a/b/c/g?y/../x",
    "g#s/../x": "http://a/b/c/g",
    # ours
    "?": "http://a/b/c/d;p",
    "/x/y?z=1": "http://a/x/y?z=1",
    "http://a/x/../y": "http://a/y",
    "http://a/x": "http://a/x",
    "http://a.b/x": "http://a.b/x",
    "https://a/x": "https://a/x",
    " /x\n": "http://a/x",
    "//a//x": "http://a//x",
    "/ä": "http://a/%C3%A4",
}


@pytest.mark.parametrize(("reference", "url"), REFERENCES.items(), ids=map(ascii, REFERENCES))
def test_resolves_like_rfc_3986(reference: str, url: str) -> None:
    assert url_of(joined("http://a/b/c/d;p?q", reference)) == url


@pytest.mark.parametrize(
    ("base", "reference", "reason"),
    [
        ("http://a/", "g:h", Reason.SCHEME),
        ("http://a/", "http:g", Reason.NO_HOST),
        ("http://a/", "//me@b/", Reason.USER_INFO),
        ("http://a/", "x" * 20_000, Reason.TOO_LONG),
        ("ftp://a/", "x", Reason.SCHEME),
    ],
    ids=["scheme", "host", "user", "long", "base"],
)
def test_a_reference_may_lead_nowhere(base: str, reference: str, reason: Reason) -> None:
    found = joined(base, reference)

    assert isinstance(found, Unsendable)
    assert found.reason is reason


@settings(max_examples=300)
@given(URLS, PATHS, TAILS)
def test_a_resolved_reference_is_in_its_final_form(base: str, path: str, tail: str) -> None:
    start = sendable(base)
    if isinstance(start, Unsendable):
        return
    found = joined(start.url, path + tail)

    if isinstance(found, Target):
        assert sendable(found.url) == found
        assert joined(start.url, found.url) == found


def test_robots_are_kept_by_scheme_host_and_port() -> None:
    assert target.origin_key("HTTP://Example.com:80/a") == "http://example.com"
    assert target.origin_key("https://example.com:8443/a") == "https://example.com:8443"
    with pytest.raises(ValueError, match="user info"):
        target.origin_key("http://me@example.com/")


def test_duplicates_share_a_key() -> None:
    keys = {
        target.duplicate_key("https://example.com/a?b=1&a=2"),
        target.duplicate_key("https://example.com/a?a=2&b=1"),
        target.duplicate_key("https://example.com/%61?a=2&b=1"),
    }

    assert len(keys) == 1


@settings(max_examples=300)
@given(URLS)
def test_everything_that_can_be_sent_has_a_duplicate_key(url: str) -> None:
    found = sendable(url)

    if isinstance(found, Target):
        assert target.duplicate_key(found.url)


@pytest.mark.parametrize(
    ("host", "domain"),
    [
        ("www.example.com", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("a.xn--mnchen-3ya.de", "xn--mnchen-3ya.de"),
        ("co.uk", "co.uk"),
        ("localhost", "localhost"),
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::1"),
    ],
)
def test_finds_the_domain_that_somebody_registered(host: str, domain: str) -> None:
    assert target.registrable_domain(host) == domain
