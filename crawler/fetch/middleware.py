"""Lays our card at the door: signs each request over what is really sent, as late as can be.

aiohttp hands its middleware the request as it will be written, so authority, target and size are
taken from there and not from what was planned. What does not fit an origin's header budget is left
out, sig2 first; nothing leaves unsigned.
"""

import secrets
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, assert_never

from msgspec import Struct
from yarl import URL

from crawler.events import Arm, Kind, Without
from crawler.fetch.forms import Forms
from crawler.fetch.keyring import Held, Keys
from crawler.fetch.wishes import Wishes
from crawler.polite.frontier import FetchTask
from crawler.settings import NonceForm, Origin, ProfileName, Settings
from crawler.settings import Second as WhenSecond
from signing import budget, profile, signer
from signing.accept import Wish
from signing.keys import PrivateKey
from signing.message import Message
from signing.profile import Labels, Profile

if TYPE_CHECKING:
    from aiohttp import ClientHandlerType, ClientRequest, ClientResponse

_NAMES: Final = {name: profile.Name(name.value) for name in ProfileName}
_LEFT_OUT: Final = {budget.Both: 0, budget.FirstOnly: 1, budget.Nothing: 2}
_PROFILES: Final = {name: ProfileName(name.value) for name in profile.Name}


class HeadTooLarge(Exception):
    """Not even sig1 fits what the origin takes; `card` says what would have been sent."""

    def __init__(self, card: "Card", size: int, limit: int) -> None:
        super().__init__(f"with sig1 alone the head would have {size} bytes, the limit is {limit}")
        self.card = card


class Seen(Struct, frozen=True):
    """What an origin's last answer shows of who serves it; `auto` chooses by it."""

    server: str | None = None
    cf_ray: bool = False


class Card(Struct, frozen=True, kw_only=True):
    """What a request carries about us, as its record keeps it; nothing where none was made.

    `private` are the values that an echo must not bring into the log: signatures and nonce.
    """

    profile: ProfileName | None = None
    profile_reason: str = ""
    labels: tuple[str, ...] = ()
    without: Without | None = None
    second_tag: str | None = None
    header_bytes: int = 0
    signature_bytes: int = 0
    longest_line: int = 0
    sign_us: float = 0.0
    private: tuple[str, ...] = ()
    wish: str = ""


NO_CARD: Final = Card()


class Foreseen(Struct, frozen=True, kw_only=True):
    """What a request's head would carry, before there is one: no label where it would not leave.

    `size` is in bytes, with sig1 alone where not even that fits.
    """

    labels: tuple[str, ...]
    without: Without | None
    size: int


class Signer:
    """Signs for one identity. `seen` is asked for what an origin's last answer showed."""

    def __init__(
        self,
        settings: Settings,
        keys: Keys,
        *,
        seen: Mapping[str, Seen],
        wall: Callable[[], float],
        keys_changed: Callable[[Held], None],
    ) -> None:
        signatures = settings.signatures
        self._forms = Forms(settings)
        self._wishes = Wishes(settings)
        self._encode = _base64url if signatures.nonce is NonceForm.BASE64URL else _base64
        self._skew = signatures.skew
        self._keys = keys
        self._seen = seen
        self._wall = wall
        self._keys_changed = keys_changed
        self._held: Held | None = None
        self._costs: dict[int, budget.Cost] = {}  # by identity: forms are kept

    def sign(self, request: "ClientRequest", task: FetchTask, origin: Origin, server: str) -> Card:
        """Put the three fields on a request that is about to be sent.

        `server` is the key of `seen`. Raises HeadTooLarge, KeysUnusable, and ComponentUnavailable
        for a request that could not be sent as it is.
        """
        began = time.thread_time_ns()
        held = self._look(self._wall())
        choice = self._choice(origin, server)
        form = self._forms.of(choice.name, origin.components)
        labels, without = wanted(task, origin.sig2, form, held.keyring.second)
        fields = request.headers
        method, target = request.method, request.url.raw_path_qs
        unsigned = budget.head_size(method, target, fields.items())
        limit = origin.politeness.header_limit
        plan, wish = self._room(held, form, labels, unsigned, limit), ""
        if (pending := self._wishes.taken(server)) is not None:
            wish = f"not {pending.record}: it is of another key or form"
            granting = self._granting(held, choice.name, pending.wish)
            if granting is not None:
                room = self._room(held, granting, labels, unsigned, limit)
                wish = f"not {pending.record}: no room for it"  # it costs no signature
                if _LEFT_OUT[type(room)] <= _LEFT_OUT[type(plan)]:
                    form, plan, wish = granting, room, pending.record
        match plan:
            case budget.Both():
                pass
            case budget.FirstOnly():
                labels, without = Labels.FIRST, Without.BUDGET
            case budget.Nothing(size=size):
                refused = Card(
                    profile=_PROFILES[choice.name],
                    profile_reason=choice.reason,
                    without=Without.BUDGET,
                    wish=wish,
                )
                raise HeadTooLarge(refused, size, limit)
            case never:
                assert_never(never)
        nonce = self._encode(secrets.token_bytes(signer.NONCE_SIZE))
        signed = signer.sign(
            Message(
                method=method,
                scheme=request.url.scheme,
                authority=fields["Host"],
                target=target,
                fields=tuple(fields.items()),
            ),
            held.keyring,
            form,
            int(self._wall()) - self._skew,
            nonce,
            labels,
        )
        fields.extend(signed.fields)
        return Card(
            profile=_PROFILES[choice.name],
            profile_reason=choice.reason,
            labels=signed.labels,
            without=without,
            second_tag=form.labels[1].tag if labels is Labels.BOTH else None,
            header_bytes=unsigned + signed.size,
            signature_bytes=signed.size,
            longest_line=longest_line(method, target, fields.items()),
            sign_us=(time.thread_time_ns() - began) / 1000,
            private=(signed.fields[2][1], nonce),
            wish=wish,
        )

    def asked(self, field: str, task: FetchTask, origin: Origin, server: str) -> str:
        """Decide on the Accept-Signature that answered a request of ours, and say what.

        What is granted counts for the next request to that server, and for no other.
        """
        assert self._held is not None  # noqa: S101 - it has signed what was answered
        return self._wishes.heard(
            field,
            task.id,
            server=server,
            form=self._choice(origin, server).name,
            keyid=self._held.keyring.first.keyid,
        )

    def foresee(
        self, task: FetchTask, origin: Origin, server: str, fields: Mapping[str, str]
    ) -> Foreseen:
        """What a GET with these fields, Host apart, would carry. Raises KeysUnusable."""
        held = self._look(self._wall())
        form = self._forms.of(self._choice(origin, server).name, origin.components)
        labels, without = wanted(task, origin.sig2, form, held.keyring.second)
        url = URL(task.url, encoded=True)
        host = ("Host", url.host_port_subcomponent or "")  # as aiohttp writes it
        unsigned = budget.head_size("GET", url.raw_path_qs, (host, *fields.items()))
        first, second = (label.name for label in form.labels)
        match self._room(held, form, labels, unsigned, origin.politeness.header_limit):
            case budget.Both(size=size):
                names = (first, second) if labels is Labels.BOTH else (first,)
                return Foreseen(labels=names, without=without, size=size)
            case budget.FirstOnly(size=size):
                return Foreseen(labels=(first,), without=Without.BUDGET, size=size)
            case budget.Nothing(size=size):
                return Foreseen(labels=(), without=Without.BUDGET, size=size)
            case never:
                assert_never(never)

    def _choice(self, origin: Origin, server: str) -> profile.Choice:
        seen = self._seen.get(server, _NOTHING)
        return profile.choose(_NAMES[origin.profile], seen.server, seen.cf_ray)

    def _granting(self, held: Held, name: profile.Name, wish: Wish) -> Profile | None:
        if wish.keyid != held.keyring.first.keyid:
            return None
        return self._forms.granting(name, wish)

    def _room(
        self, held: Held, form: Profile, labels: Labels, unsigned: int, limit: int
    ) -> budget.Plan:
        cost = self._cost(held, form)
        return budget.plan(unsigned, cost.first, cost.second if labels is Labels.BOTH else 0, limit)

    def _look(self, now: float) -> Held:
        held = self._keys.current(now)
        if held is not self._held:
            self._held = held
            self._costs.clear()
            self._keys_changed(held)
        return held

    def _cost(self, held: Held, form: Profile) -> budget.Cost:
        if form.wish is not None:  # made for one request
            return signer.cost(held.keyring, form)
        cost = self._costs.get(id(form))
        if cost is None:
            cost = self._costs[id(form)] = signer.cost(held.keyring, form)
        return cost


class Signing:
    """The middleware of one request: signs it, sends it on, and keeps what it carried."""

    __slots__ = ("_origin", "_server", "_signer", "_task", "card")

    def __init__(self, signer: Signer, task: FetchTask, origin: Origin, server: str) -> None:
        self.card = NO_CARD
        self._signer = signer
        self._task = task
        self._origin = origin
        self._server = server

    async def __call__(
        self, request: "ClientRequest", handler: "ClientHandlerType"
    ) -> "ClientResponse":
        try:
            self.card = self._signer.sign(request, self._task, self._origin, self._server)
        except HeadTooLarge as error:
            self.card = error.card
            raise
        return await handler(request)


def wanted(
    task: FetchTask, when: WhenSecond, form: Profile, second_key: PrivateKey | None
) -> tuple[Labels, Without | None]:
    """Which signatures a request is to carry as far as there is room, and why not sig2."""
    if task.arm is Arm.FIRST_ONLY:
        robots = task.kind is Kind.ROBOTS
        return Labels.FIRST, Without.ROBOTS_CONTROL if robots else Without.CONTROL
    if when is WhenSecond.NEVER:
        return Labels.FIRST, Without.SETTING
    if form.when_second is profile.WhenSecond.IF_INSISTED and when is not WhenSecond.ALWAYS:
        return Labels.FIRST, Without.PROFILE
    if second_key is None:
        return Labels.FIRST, Without.NO_KEY
    return Labels.BOTH, None


def longest_line(method: str, target: str, fields: Iterable[tuple[str, str]]) -> int:
    """The bytes of a request head's longest line, without its end."""
    return max(
        len(method) + len(target) + len("  HTTP/1.1"),
        max(len(name) + len(value) for name, value in fields) + len(": "),
    )


def _base64(nonce: bytes) -> str:
    return b64encode(nonce).decode("ascii")


def _base64url(nonce: bytes) -> str:
    return urlsafe_b64encode(nonce).rstrip(b"=").decode("ascii")


_NOTHING: Final = Seen()
