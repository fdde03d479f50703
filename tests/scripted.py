"""Sites whose answers a test writes down: a table of targets, or a word on who asks."""

from collections.abc import Callable, Mapping
from typing import Final

from capture import Answer, Captured, Then, respond

Site = Callable[[Captured], Answer]

SILENCE: Final = Answer(then=Then.CLOSE)
RESET: Final = Answer(then=Then.RESET)


def page(*links: str, then: Then = Then.KEEP, head: str = "", **fields: str) -> Answer:
    """A page with these links; `fields` are of the answer, with _ for -."""
    anchors = "".join(link if link.startswith("<") else f'<a href="{link}">a</a>' for link in links)
    named = [(name.replace("_", "-"), value) for name, value in fields.items()]
    return respond(
        200,
        ("Content-Type", "text/html; charset=utf-8"),
        *named,
        body=f"<!DOCTYPE html><html><head>{head}</head><body>{anchors}</body></html>".encode(),
        then=then,
    )


def robots(*lines: str) -> Answer:
    """A robots.txt that says this to everyone; one that allows everything without a line."""
    text = "\n".join(("User-agent: *", *(lines or ("Allow: /",)), ""))
    return respond(200, ("Content-Type", "text/plain"), body=text.encode())


def moved(where: str, status: int = 302) -> Answer:
    """A redirect."""
    return respond(status, ("Location", where))


def site(pages: Mapping[str, Answer], *, robots_txt: Answer | None = None) -> Site:
    """A site of these targets, with an open robots.txt; 404 for all the rest."""
    known = {"/robots.txt": robots_txt if robots_txt is not None else robots(), **pages}
    return lambda request: known.get(request.target, respond(404))


def labels(request: Captured) -> list[str]:
    """Which signatures a request carries, by their names in Signature-Input."""
    found = request.field("Signature-Input") or ""
    return [label for label in ("sig1", "sig2") if f"{label}=(" in found]
