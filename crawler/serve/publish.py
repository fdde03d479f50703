"""What we publish about ourselves: the key directory, the post-quantum keys, the /bot page.

Documents are values; the application below only hands them out. Private members never reach a
document, since only public keys come in.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from urllib.parse import urlsplit

from aiohttp import web
from msgspec import Struct

from crawler.serve import page
from crawler.settings import ProfileName, Second, Settings
from signing import directory
from signing.algorithms import ED25519
from signing.keys import PrivateKey, PublicKey
from signing.profile import SECOND_KEYS_PATH

PQ_KEYS = SECOND_KEYS_PATH
JWK_SET = "application/jwk-set+json"
_MAX_AGE = 86400  # seconds, also how long a response signature lives
_RESIGN = 3600


class Document(Struct, frozen=True, kw_only=True):
    """One published resource; `signed` ones carry a signature for each Ed25519 key."""

    media_type: str
    body: bytes
    signed: bool = False

    @property
    def etag(self) -> str:
        return f'"{sha256(self.body).hexdigest()[:32]}"'


def documents(
    settings: Settings, keys: Sequence[PublicKey], signing: Collection[str]
) -> dict[str, Document]:
    """Every path that we publish; `signing` are the identifiers of the keys that sign now.

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
    return {
        directory.WELL_KNOWN: Document(
            media_type=directory.MEDIA_TYPE, body=well_known, signed=True
        ),
        "/": Document(media_type=JWK_SET, body=well_known, signed=True),
        PQ_KEYS: Document(media_type=JWK_SET, body=directory.key_set(second)),
        "/bot": Document(
            media_type="text/html; charset=utf-8",
            body=page.bot(settings, classical, second, signing=signing, pq_keys=PQ_KEYS).encode(),
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


def application(
    published: Callable[[], Mapping[str, Document]],
    active: Callable[[], Iterable[PrivateKey]],
    *,
    authority: str,
    wall: Callable[[], float],
) -> web.Application:
    """A web application that hands the documents out (GET, HEAD, conditional, CORS `*`).

    `published` and `active` are asked for each request, so that a new key needs no restart. The
    response is signed for `authority`, our home's, never for whatever Host a client sends.
    """
    signatures: dict[bytes, tuple[float, tuple[tuple[str, str], ...]]] = {}

    def signed(body: bytes) -> tuple[tuple[str, str], ...]:
        made, fields = signatures.get(body, (-float(_RESIGN), ()))
        if wall() - made >= _RESIGN or wall() < made:
            made = wall()
            fields = directory.signed_fields(
                body,
                active(),
                authority=authority,
                created=int(made),
                expires=int(made) + _MAX_AGE,
            )
            signatures.clear()
            signatures[body] = made, fields
        return fields

    async def hand_out(request: web.Request) -> web.Response:
        document = published().get(request.path)
        if document is None:
            raise web.HTTPNotFound(text="nothing is published here; see /bot\n")
        headers = {
            "Cache-Control": f"public, max-age={_MAX_AGE}",
            "ETag": document.etag,
            "Access-Control-Allow-Origin": "*",
            "X-Content-Type-Options": "nosniff",
        }
        if document.signed:
            headers |= dict(signed(document.body))
        if _matches(request.headers.get("If-None-Match"), document.etag):
            return web.Response(status=304, headers=headers)
        headers["Content-Type"] = document.media_type
        return web.Response(body=document.body, headers=headers)

    app = web.Application()
    app.router.add_get("/{path:.*}", hand_out)
    return app


def home_authority(settings: Settings) -> str:
    """The authority that our published responses are signed for."""
    return urlsplit(settings.bot.home).netloc.lower().removesuffix(":443")


def _matches(condition: str | None, etag: str) -> bool:
    """If-None-Match, compared weakly (RFC 9110, section 13.1.2)."""
    if condition is None:
        return False
    if condition.strip() == "*":
        return True
    return etag in (item.strip().removeprefix("W/") for item in condition.split(","))
