"""What we publish about ourselves: key directory, post-quantum keys, card, /bot page.

Documents are values; the application below only hands them out. Private members never reach a
document, since only public keys come in.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from msgspec import Struct

from crawler.serve import card, conditional, page
from crawler.serve.conditional import Outcome
from crawler.settings import ProfileName, Second, Settings
from signing import directory
from signing.algorithms import ED25519
from signing.card import MEDIA_TYPE as CARD_TYPE
from signing.digest import content_digest
from signing.keys import PrivateKey, PublicKey
from signing.profile import SECOND_KEYS_PATH

PQ_KEYS = SECOND_KEYS_PATH
JWK_SET = "application/jwk-set+json"
METHODS: Final = "GET, HEAD, OPTIONS"
MAX_AGE: Final = 86_400  # seconds that anybody may keep a copy
_RESIGN = 3600
_LIFETIME = MAX_AGE + 2 * _RESIGN  # of a response signature: no copy outlives its own

Fields = tuple[tuple[str, str], ...]

# Asked by a script of another origin, a browser asks whether it may, and hides most fields.
PREFLIGHT: Final[Fields] = (
    ("Allow", METHODS),
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Allow-Methods", METHODS),
    ("Access-Control-Allow-Headers", "*"),
    ("Access-Control-Max-Age", str(MAX_AGE)),
)
_SHARED: Final[Fields] = (
    # a compressed copy would have another Content-Digest, and the signature covers that
    ("Cache-Control", f"public, max-age={MAX_AGE}, no-transform"),
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", "*"),
    ("X-Content-Type-Options", "nosniff"),
)
_OF_A_PAGE: Final = ("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")


class Document(Struct, frozen=True, kw_only=True):
    """One published resource; the response to `signed` ones has a signature for each Ed25519 key.

    `fields` are those of every such response, without its digest and signatures.
    """

    media_type: str
    body: bytes
    signed: bool = False

    @property
    def etag(self) -> str:
        return f'"{sha256(self.body).hexdigest()[:32]}"'

    @property
    def fields(self) -> Fields:
        page = (_OF_A_PAGE,) if self.media_type.startswith("text/html") else ()
        return (("Content-Type", self.media_type), *_SHARED, *page)


def documents(
    settings: Settings,
    keys: Sequence[PublicKey],
    signing: Collection[str],
    authority: str | None = None,
) -> dict[str, Document]:
    """Every path that we publish; `signing` are the identifiers of the keys that sign now.

    The card is that of `authority`, by default our home's, since it has to name its own URL.

    Those come first in `keys`, for receivers that look at one key only.
    The Ed25519 set stands at the well-known path and at `/` (for the `bridge` profile), the AKP
    keys in a set of their own. Both are combined into the first where `publish.combined` says so,
    and where sig2 is sent under the bare origin, which leads nowhere else: by the `published`
    profile, and at an origin with `sig2 = "always"` whose profile is `legacy`, or `auto`, which
    may choose that.
    """
    classical = [key for key in keys if key.algorithm is ED25519]
    second = [key for key in keys if key.algorithm is not ED25519]
    combined = settings.publish.combined or _sends_second_under_bare_origin(settings)
    well_known = directory.key_set([*classical, *second] if combined else classical)
    where = settings.publish.card
    html = page.bot(settings, classical, second, signing=signing, pq_keys=PQ_KEYS, card=where)
    return {
        directory.WELL_KNOWN: Document(
            media_type=directory.MEDIA_TYPE, body=well_known, signed=True
        ),
        "/": Document(media_type=JWK_SET, body=well_known, signed=True),
        PQ_KEYS: Document(media_type=JWK_SET, body=directory.key_set(second)),
        where: Document(
            media_type=CARD_TYPE,
            body=card.card(settings, authority or home_authority(settings)).document(),
        ),
        "/bot": Document(
            media_type="text/html; charset=utf-8",
            body=html.encode(),
        ),
    }


def _sends_second_under_bare_origin(settings: Settings) -> bool:
    return ProfileName.PUBLISHED in (
        settings.signatures.profile,
        *(origin.profile for origin in settings.origins),
    ) or any(
        origin.profile in (ProfileName.LEGACY, ProfileName.AUTO) and origin.sig2 is Second.ALWAYS
        for origin in settings.origins
    )


def signed(
    document: Document,
    active: Iterable[PrivateKey],
    *,
    authority: str,
    created: int,
    expires: int,
) -> Fields:
    """Content-Digest of the document, and the response signatures where it has them.

    Where no Ed25519 key is left, which says that none counts any more, nothing can be signed.
    """
    classical = [key for key in active if key.algorithm is ED25519]
    if not document.signed or not classical:
        return (("Content-Digest", content_digest(document.body)),)
    return directory.signed_fields(
        document.body, classical, authority=authority, created=created, expires=expires
    )


def application(
    published: Callable[[], Mapping[str, Document]],
    active: Callable[[], Iterable[PrivateKey]],
    *,
    authority: str,
    wall: Callable[[], float],
    skew: int = 0,
) -> web.Application:
    """A web application that hands the documents out (GET, HEAD, OPTIONS, conditional, CORS `*`).

    `published` and `active` are asked for each request, so that a new key needs no restart. The
    response is signed for `authority`, our home's, never for whatever Host a client sends;
    `created` lies `skew` seconds back, for clients whose clock is slow.

    HEAD has the fields of GET, the digest of the content that GET would send among them (RFC
    9110, section 9.3.2). So has a 304, but for what describes that content alone (15.4.5): its
    signature replaces the one that a cache has kept, which may have expired.
    """
    made: dict[bytes, tuple[float, Fields]] = {}

    def current(document: Document) -> Fields:
        at, fields = made.get(document.body, (-float(_RESIGN), ()))
        if wall() - at >= _RESIGN or wall() < at:
            at = wall()
            created = int(at) - skew
            fields = signed(
                document,
                active(),
                authority=authority,
                created=created,
                expires=created + skew + _LIFETIME,
            )
            if document.signed:
                made.clear()
                made[document.body] = at, fields
        return fields

    async def hand_out(request: web.Request) -> web.Response:
        document = published().get(request.path)
        if document is None:
            raise web.HTTPNotFound(text="nothing is published here; see /bot\n")
        if request.method == "OPTIONS":
            return web.Response(status=204, headers=PREFLIGHT)
        if request.method not in ("GET", "HEAD"):
            raise web.HTTPMethodNotAllowed(
                request.method, METHODS.split(", "), text=f"only {METHODS}\n"
            )
        headers = dict((*document.fields, ("ETag", document.etag), *current(document)))
        outcome = conditional.decide(
            document.etag,
            if_match=request.headers.getall("If-Match", ()),
            if_none_match=request.headers.getall("If-None-Match", ()),
        )
        if outcome is Outcome.FAILED:
            raise web.HTTPPreconditionFailed(text="another version stands here now\n")
        if outcome is Outcome.NOT_MODIFIED:
            del headers["Content-Type"]
            return web.Response(status=304, headers=headers)
        return web.Response(body=document.body, headers=headers)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", hand_out)
    return app


def home_authority(settings: Settings) -> str:
    """The authority that our published responses are signed for."""
    return urlsplit(settings.bot.home).netloc.lower().removesuffix(":443")
