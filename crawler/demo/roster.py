"""The 21 origins of the fleet: how each behaves, and how it is configured.

Delays are a tenth of what a real site would get, so that a refresh of all takes half a minute.
"""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from crawler.demo import manners
from crawler.demo.reply import Answer, Drip, Manner
from crawler.demo.site import bomb, moved, page, pages
from crawler.settings import Follow, Origin, Politeness, ProfileName, Second

PRODUCT = "CallingcardDemo"
AGAIN = ("validators",)
"""Refreshed a second time, all pages: what was kept of the first time is sent back then."""

SLOW = 0.8
CRAWL_DELAY = 2.0
HEAD_LIMIT = 8192
SMALL_HEAD_LIMIT = 2048
BOMB = 16 * 2**20
BODY_LIMIT = 256 * 2**10
CYRILLIC = "/%D1%81%D1%82%D1%80%D0%B0%D0%BD%D0%B8%D1%86%D0%B0"  # /страница
ACCENTED = "/caf%C3%A9"

POLITENESS = Politeness(
    min_delay=0.4,
    delay_factor=1.0,
    max_delay=10.0,
    max_crawl_delay=10.0,
    body_limit=BODY_LIMIT,
)

_DELAYED = f"User-agent: *\nCrawl-delay: {CRAWL_DELAY:g}\nDisallow: /never/\n"
_HALF = f"""\
# everybody else
User-agent: *
Disallow: /

User-agent: {PRODUCT}
Disallow: /closed/
Allow: /closed/door-1$
"""
_COOKIE = "session=" + "0123456789abcdef" * 310  # with sig1 it fits into 8 KB, with both not


@dataclass(frozen=True, slots=True, kw_only=True)
class Resident:
    """One origin: what it shows, how it behaves, and what is set for it."""

    name: str
    about: str
    manner: Manner
    start: tuple[str, ...] = ("/",)
    pages: int = 50
    profile: ProfileName = ProfileName.AUTO
    sig2: Second = Second.WATCH
    cookie: str | None = None
    politeness: Politeness = POLITENESS

    def origin(self, authority: str) -> Origin:
        """Its place in the configuration; `authority` is host and port."""
        return Origin(
            name=self.name,
            url=f"http://{authority}/",
            start=self.start,
            follow=(Follow.LINKS,),
            pages=self.pages,
            depth=2,
            profile=self.profile,
            sig2=self.sig2,
            sig2_set=self.sig2 is not Second.WATCH,
            cookie=self.cookie,
            allow_private=True,
            politeness=self.politeness,
        )


NAMES = (
    "plain",
    "slow",
    "crawl-delay",
    "half-closed",
    "robots-503",
    "robots-404",
    "retry-after",
    "moved",
    "loop",
    "validators",
    "drip",
    "bomb",
    "narrow",
    "strict",
    "single",
    "demoting",
    "small-head",
    "reset",
    "types",
    "charsets",
    "failing",
)


def residents(authority: Callable[[str], str]) -> tuple[Resident, ...]:
    """All of them, in the order of NAMES; `authority` gives host and port of a name."""
    plain = authority("plain")
    bystander = f"bystander.localhost:{authority('moved').rpartition(':')[2]}"
    numbered = [f"/page-{number}" for number in range(1, 10)]
    few = numbered[:4]
    return (
        Resident(
            name="plain",
            about="a plain site that sets a cookie, which nobody sends back",
            manner=manners.posing(
                manners.site({**pages("Plain", numbered), "/arrival": Answer(body=page("Hello"))}),
                (("Set-Cookie", "visitor=1"),),
            ),
        ),
        Resident(
            name="slow",
            about=f"takes {SLOW:g} s to begin an answer",
            manner=manners.slow(manners.site(pages("Slow", few)), SLOW),
            profile=ProfileName.IETF_00,
            politeness=replace(POLITENESS, delay_factor=2.0),
        ),
        Resident(
            name="crawl-delay",
            about=f"asks for {CRAWL_DELAY:g} s between requests in its robots.txt",
            manner=manners.site(pages("Calm", numbered), _DELAYED),
            profile=ProfileName.LEGACY,
            sig2=Second.ALWAYS,
        ),
        Resident(
            name="half-closed",
            about="its robots.txt closes half of it to us, and all of it to others",
            manner=manners.site(
                pages("Half", [*few, *(f"/closed/door-{number}" for number in range(1, 6))]), _HALF
            ),
        ),
        Resident(
            name="robots-503",
            about="its robots.txt answers 503, so nothing may be asked",
            manner=manners.site(pages("Shut", few), Answer(status=503, body=page("Broken"))),
        ),
        Resident(
            name="robots-404",
            about="has no robots.txt, more pages than we ask for, and poses as Cloudflare",
            manner=manners.posing(
                manners.site(pages("Open", numbered), Answer(status=404, body=page("None"))),
                (("Server", "cloudflare"), ("CF-Ray", "0123456789abcdef-PRG")),
            ),
            pages=5,
        ),
        Resident(
            name="retry-after",
            about="sends us away for seconds, and until a date",
            manner=manners.busy(
                manners.site(pages("Busy", ["/in-seconds", "/by-date", "/calm"])),
                in_seconds={"/in-seconds": 2},
                by_date={"/by-date": 4},
            ),
        ),
        Resident(
            name="moved",
            about="redirects to another origin of the fleet, and to a host that is none of ours",
            manner=manners.site(
                {
                    "/": Answer(body=page("Moved", ["/old", "/away"])),
                    "/old": moved(f"http://{plain}/arrival", 301),
                    "/away": moved(f"http://{bystander}/trap"),
                }
            ),
        ),
        Resident(
            name="loop",
            about="redirects in a circle, and on and on",
            manner=manners.site(
                {
                    "/": Answer(body=page("Loop", ["/round", "/maze/0"])),
                    "/round": moved("/round/again"),
                    "/round/again": moved("/round"),
                    **{f"/maze/{step}": moved(f"/maze/{step + 1}", 307) for step in range(30)},
                }
            ),
        ),
        Resident(
            name="validators",
            about="answers 304 to whoever knows the page",
            manner=manners.validated(manners.site(pages("Known", few)), dated=frozenset({few[0]})),
            profile=ProfileName.IETF_01,
        ),
        Resident(
            name="drip",
            about="sends a page byte by byte, without end",
            manner=manners.site({**pages("Drip", ["/drip", "/after"]), "/drip": Drip()}),
            # nobody else's: a busy machine is no reason to give up an origin that answers
            politeness=replace(POLITENESS, deadline=4.0),
        ),
        Resident(
            name="bomb",
            about=f"sends {BOMB // 2**20} MiB as a few KiB of gzip",
            manner=manners.site({**pages("Bomb", ["/bomb", "/after"]), "/bomb": bomb(BOMB)}),
        ),
        Resident(
            name="narrow",
            about=f"refuses heads of more than {HEAD_LIMIT:,} bytes in all; we have a long cookie",
            manner=manners.narrow(manners.site(pages("Narrow", few)), HEAD_LIMIT),
            cookie=_COOKIE,
        ),
        Resident(
            name="strict",
            about="verifies Ed25519 and ML-DSA-44, and lets nobody in without both",
            manner=manners.strict(manners.site(pages("Strict", few))),
            profile=ProfileName.IETF_01,
        ),
        Resident(
            name="single",
            about="refuses two signatures with 401, and takes one",
            manner=manners.single(manners.site(pages("Single", few[:2]))),
        ),
        Resident(
            name="demoting",
            about="answers 200 and says in a field that two signatures count for nothing",
            manner=manners.demoting(manners.site(pages("Demoting", few))),
            profile=ProfileName.PUBLISHED,
            # without a nonce, two signatures of the same second are one: a replay
            politeness=replace(POLITENESS, min_delay=1.1),
        ),
        Resident(
            name="small-head",
            about=f"answers 431 to heads of more than {SMALL_HEAD_LIMIT:,} bytes",
            manner=manners.narrow(manners.site(pages("Small", few)), SMALL_HEAD_LIMIT),
        ),
        Resident(
            name="reset",
            about="resets the connection twice before the first byte",
            manner=manners.torn(manners.site(pages("Torn", ["/torn", *few[:2]])), {"/torn": 2}),
        ),
        Resident(
            name="types",
            about="has an image and an archive behind its links",
            manner=manners.site(
                {
                    **pages("Types", ["/picture", "/archive", "/note"]),
                    "/picture": Answer(body=b"\x89PNG\r\n\x1a\n" + bytes(2048), type="image/png"),
                    "/archive": Answer(body=b"PK" + bytes(2048), type="application/zip"),
                    "/note": Answer(body=b"A note.\n", type="text/plain"),
                }
            ),
        ),
        Resident(
            name="charsets",
            about="writes Windows-1251 and Latin-1",
            manner=manners.site(
                {
                    "/": Answer(
                        body=page("Привет", ["/страница", "/latin"], charset="windows-1251"),
                        type="text/html",
                    ),
                    CYRILLIC: Answer(
                        body=page("Страница", charset="windows-1251"), type="text/html"
                    ),
                    "/latin": Answer(
                        body=page("Voilà", ["/café"], charset="iso-8859-1"),
                        type="text/html; charset=iso-8859-1",
                    ),
                    ACCENTED: Answer(body=page("Café")),
                }
            ),
        ),
        Resident(
            name="failing",
            about="answers 500 at random",
            manner=manners.failing(manners.site(pages("Failing", few)), share=0.3, seed=1),
        ),
    )
