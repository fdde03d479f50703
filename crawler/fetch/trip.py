"""One request under way, and the record that it ends in."""

from typing import TYPE_CHECKING

from msgspec import Struct

from crawler.events import FetchRecord, Outcome, Stage
from crawler.fetch.answer import NO_ANSWER, Answer, shown
from crawler.fetch.connection import Flight
from crawler.fetch.middleware import NO_CARD, Card, Signing
from crawler.fetch.redaction import Ours
from crawler.polite.frontier import FetchTask

if TYPE_CHECKING:
    from aiohttp import ClientResponse


class Ending(Struct, frozen=True, kw_only=True):
    """How a request ended. `body` is decoded and whole; `body_bytes` counts what was decoded."""

    outcome: Outcome
    stage: Stage | None = None
    detail: str = ""
    body: bytes | None = None
    body_bytes: int = 0
    digest: str | None = None
    refusal: str = ""


class Trip:
    """What is known of a request so far; times in seconds since 1970."""

    __slots__ = (
        "answer",
        "asked_for",
        "began",
        "cookie",
        "flight",
        "received",
        "response",
        "signing",
    )

    def __init__(self, began: float) -> None:
        self.began = began
        self.flight = Flight(admitted=False, tls=False)
        self.signing: Signing | None = None
        self.cookie: str | None = None  # as it is sent
        self.response: ClientResponse | None = None
        self.received: float | None = None  # when the answer's head had come
        self.answer: Answer = NO_ANSWER
        self.asked_for = ""  # by its Accept-Signature

    @property
    def card(self) -> Card:
        """What it carries about us; nothing before it was signed."""
        return NO_CARD if self.signing is None else self.signing.card

    @property
    def ours(self) -> Ours:
        """Our own values that nothing may bring into the log."""
        return Ours(self.card.private, self.cookie)

    def close(self) -> None:
        """End the connection, unless the answer was read to its end and gave it back."""
        if self.response is not None and not self.response.closed:
            self.response.close()

    def record(self, task: FetchTask, ending: Ending, now: float) -> FetchRecord:
        """The record of a request that ended at `now`.

        What never left carried no signature and no byte, whatever it was meant to.
        """
        answer, card = self.answer, self.card
        left = self.flight.connected
        confirmed = answer.status == 304
        return FetchRecord(
            at=self.began,
            id=task.id,
            origin=task.origin,
            scope=task.scope,
            url=task.url,
            kind=task.kind,
            depth=task.depth,
            attempt=task.attempt,
            via=task.via,
            control_of=task.control_of,
            behalf=task.behalf,
            waited=task.waited,
            waited_for=task.waited_for,
            profile=card.profile,
            profile_reason=card.profile_reason,
            labels=card.labels if left else (),
            without=card.without,
            second_tag=card.second_tag if left else None,
            header_bytes=card.header_bytes if left else 0,
            signature_bytes=card.signature_bytes if left else 0,
            longest_line=card.longest_line if left else 0,
            cookie_bytes=len(self.cookie) if left and self.cookie is not None else 0,
            sign_us=card.sign_us,
            wish=card.wish if left else "",
            outcome=ending.outcome,
            stage=ending.stage,
            detail=ending.detail,
            reused=self.flight.reused,
            address=self.flight.address,
            status=answer.status,
            reason=answer.reason,
            server=answer.server,
            fields=answer.fields,
            asked_for=shown(self.asked_for, self.ours),
            refusal=ending.refusal,
            first_byte=None if self.received is None else self.received - self.began,
            elapsed=now - self.began,
            retry_after=answer.retry_after,
            quota_left=answer.quota.left,
            quota_reset=answer.quota.reset,
            location=answer.location,
            crawl_delay=task.crawl_delay,
            robots=task.robots,
            etag=answer.etag,
            last_modified=answer.last_modified or (task.last_modified if confirmed else None),
            conditional=task.etag is not None or task.last_modified is not None,
            fresh_for=answer.fresh_for,
            content_type=answer.content_type,
            digest=ending.digest,
            body_bytes=ending.body_bytes,
            wire_bytes=0 if self.response is None else self.response.content.total_bytes,
            place=task.place if confirmed else None,
            unchanged=confirmed or (ending.digest is not None and ending.digest == task.digest),
        )
