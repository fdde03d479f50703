"""Ways to call the packages that judge a request, under the names that matrix.json has for them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import verifiers
from http_message_signatures import HTTPMessageSignaturesException
from npm import Fields, Npm
from verifiers import BotgateProfile

from signing.signer import Keyring

ACCEPTED: Final = "accepted"

Receiver = Callable[[str, Fields, Keyring], str]
"""Told a URL, the fields of a GET, and whose keys it may know: ACCEPTED, or what it says."""


def receivers(npm: Npm | None, folder: Path) -> dict[str, Receiver]:
    """All of them, or those that need no Node. `folder` is for botgate's files."""
    found = {
        "pypi-plain": _message_signatures(),
        "pypi-tag": _message_signatures(tag="web-bot-auth"),
        "pypi-tag-label": _message_signatures(tag="web-bot-auth", label="sig1"),
        "botgate-verify-ietf": _botgate("verify", BotgateProfile.IETF, folder),
        "botgate-inspect-ietf": _botgate("inspect", BotgateProfile.IETF, folder),
        "botgate-verify-cloudflare": _botgate("verify", BotgateProfile.CLOUDFLARE, folder),
        "botgate-inspect-cloudflare": _botgate("inspect", BotgateProfile.CLOUDFLARE, folder),
    }
    if npm is None:
        return found
    return found | {
        "npm-web-bot-auth": _npm(npm, "web-bot-auth"),
        "npm-message-sig": _npm(npm, "http-message-sig"),
        "npm-message-sig-label": _npm(npm, "http-message-sig", label="sig1"),
        "npm-message-signatures": _npm(npm, "http-message-signatures", all=False),
        "npm-message-signatures-all": _npm(npm, "http-message-signatures", all=True),
    }


def _message_signatures(*, tag: str | None = None, label: str | None = None) -> Receiver:
    def ask(url: str, fields: Fields, keyring: Keyring) -> str:
        try:
            results = verifiers.by_message_signatures(
                "GET", url, fields, keyring.first.public, tag=tag, label=label
            )
        except HTTPMessageSignaturesException as error:
            return str(error)
        labels = [result.label for result in results]
        return ACCEPTED if labels == ["sig1"] else f"verified {labels}"

    return ask


def _botgate(command: str, profile: BotgateProfile, folder: Path) -> Receiver:
    def ask(url: str, fields: Fields, keyring: Keyring) -> str:
        keys = _key_set(fields, keyring)
        complaints = verifiers.by_botgate(command, "GET", url, fields, keys, profile, folder)
        return complaints[0] if complaints else ACCEPTED

    return ask


def _npm(npm: Npm, package: str, **options: object) -> Receiver:
    def ask(url: str, fields: Fields, keyring: Keyring) -> str:
        keys = _key_set(fields, keyring)
        answer = npm.verify(package, method="GET", url=url, fields=fields, keys=keys, **options)
        return ACCEPTED if answer.accepted else answer.why

    return ask


def _key_set(fields: Fields, keyring: Keyring) -> list[Mapping[str, object]]:
    """The Ed25519 key; where one string is the way to both keys, one set has both."""
    first = verifiers.jwk(keyring.first.public)
    if keyring.second is None or not verifiers.field(fields, "signature-agent").startswith('"'):
        return [first]
    return [first, keyring.second.public_key.jwk()]
