"""What verifiers that nobody here wrote say about a request, given as it went over the wire.

Each function takes a method, an absolute URL and the raw header fields in their order, so that a
head captured from the crawler can be fed to it. Nothing of `signing` is used: the signature base
is built here from the fields' text, and a mistake that signer and verifier share shows.
"""

import json
import re
import subprocess
import sys
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from datetime import timedelta
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey
from http_message_signatures import HTTPMessageVerifier, MappingKeyResolver, VerifyResult
from http_message_signatures.algorithms import ED25519
from multidict import CIMultiDict
from pqcrypto.sign import ml_dsa_44  # type: ignore[import-untyped]

Fields = Sequence[tuple[str, str]]

SIGNATURE_FIELDS = ("signature-agent", "signature-input", "signature")
BOTGATE = Path(sys.executable).with_name("botgate")

# A comma between members: not one inside a quoted string, an inner list or a byte sequence.
_MEMBER = re.compile(r'(?:[^,"(:]|"(?:[^"\\]|\\.)*"|\([^)]*\)|:[^:]*:)+')
_COMPONENT = re.compile(r'"([^"]+)"(?:;key="([^"]+)")?')
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


class BotgateProfile(StrEnum):
    """The wire forms that botgate knows."""

    IETF = "ietf-draft-00"
    CLOUDFLARE = "cloudflare-2026-10"


def field(fields: Fields, name: str) -> str:
    """Give the combined value of a field that must be there."""
    values = [value.strip(" \t") for other, value in fields if other.lower() == name]
    assert values, f"no {name} field"
    return ", ".join(values)


def members(value: str) -> dict[str, str]:
    """Split a dictionary field into the raw text of its members."""
    parts = (part.strip().partition("=") for part in _MEMBER.findall(value))
    return {label: text for label, _, text in parts}


def labels(fields: Fields) -> list[str]:
    """Name the signatures that a request carries, in order."""
    return list(members(field(fields, "signature-input")))


def alone(fields: Fields, label: str) -> list[tuple[str, str]]:
    """Take every other signature out of the fields, as an intermediary might."""
    kept = []
    for name, value in fields:
        if name.lower() in SIGNATURE_FIELDS and not value.startswith('"'):
            kept.append((name, f"{label}={members(value)[label]}"))
        else:
            kept.append((name, value))
    return kept


def parameters(fields: Fields, label: str) -> dict[str, str]:
    """Give the parameters of one signature, strings without their quotes."""
    _, _, text = members(field(fields, "signature-input"))[label].partition(")")
    pairs = (part.partition("=") for part in text.removeprefix(";").split(";"))
    return {name: value.strip('"') for name, _, value in pairs}


def signature_base(method: str, url: str, fields: Fields, label: str) -> bytes:
    """Build the base from the text on the wire (RFC 9421, section 2.5)."""
    stated = members(field(fields, "signature-input"))[label]
    covered, _, _ = stated.removeprefix("(").partition(")")
    lines = [
        f"{found.group()}: {_value(method, url, fields, found.group(1), found.group(2))}"
        for found in _COMPONENT.finditer(covered)
    ]
    return "\n".join([*lines, f'"@signature-params": {stated}']).encode("ascii")


def signature(fields: Fields, label: str) -> bytes:
    """Decode one signature."""
    text = members(field(fields, "signature"))[label]
    assert text.startswith(":")
    assert text.endswith(":")
    return b64decode(text[1:-1], validate=True)


def by_message_signatures(
    method: str,
    url: str,
    fields: Fields,
    public: bytes,
    *,
    tag: str | None = None,
    label: str | None = None,
) -> list[VerifyResult]:
    """Have http-message-signatures verify what the tag and the label select; raise what it raises.

    Every signature with the tag must verify there, so a label narrows it where two have it.
    """
    key = Ed25519PublicKey.from_public_bytes(public)
    verifier = HTTPMessageVerifier(
        signature_algorithm=ED25519,
        key_resolver=MappingKeyResolver(public_keys={keyid(public): key}, private_keys={}),
    )
    request = SimpleNamespace(method=method, url=url, headers=CIMultiDict(fields))
    return verifier.verify(
        request, max_age=timedelta(minutes=5), expect_tag=tag, expect_label=label
    )


def first_by_message_signatures(
    method: str, url: str, fields: Fields, public: bytes, *, label: str | None = None
) -> VerifyResult:
    """Have http-message-signatures verify the one signature that is tagged web-bot-auth."""
    (result,) = by_message_signatures(method, url, fields, public, tag="web-bot-auth", label=label)
    return result


def by_botgate(
    command: str,
    method: str,
    url: str,
    fields: Fields,
    keys: Sequence[Mapping[str, object]],
    profile: BotgateProfile,
    folder: Path,
) -> list[str]:
    """Have botgate `verify` or `inspect` a request; give its complaints, in its order.

    `keys` are the JWKs of the signer's key set, `folder` is for its files. No complaint means that
    every signature was verified, or that `inspect`, which asks for no keys, finds the form right.
    The policy asks for what the form has: Cloudflare's covers the authority alone.
    """
    parts = urlsplit(url)
    target = url.partition(parts.netloc)[2].partition("#")[0] or "/"
    sent = list(fields)
    if not any(name.lower() == "host" for name, _ in sent):
        sent.insert(0, ("Host", parts.netloc))
    head = "\r\n".join([f"{method} {target} HTTP/1.1", *(f"{n}: {v}" for n, v in sent), "", ""])
    request, jwks, policy = (folder / name for name in ("request.http", "jwks.json", "policy.toml"))
    request.write_bytes(head.encode("latin-1"))
    jwks.write_text(json.dumps({"keys": keys}))
    whole = profile is BotgateProfile.IETF
    policy.write_text(
        "[policy]\nrequire_authority = true\n"
        f"require_method = {str(whole).lower()}\nrequire_path = {str(whole).lower()}\n"
        f'query = "{"required" if whole else "ignore"}"\n'
        "max_age_seconds = 300\nmax_lifetime_seconds = 86400\n"
    )
    asked = [str(BOTGATE), command, str(request), "--config", str(policy), "--profile", profile]
    asked += ["--context", url, "--format", "json"]
    asked += ["--jwks", str(jwks)] if command == "verify" else []
    ran = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=30)
    if ran.returncode not in (0, 1):
        return [ran.stderr.strip()]
    report = json.loads(ran.stdout)
    complaints = [
        f"{finding['id']}: {finding['message']}"
        for finding in report["findings"]
        if finding["level"] not in ("info", "warning")
    ]
    complaints += [
        f"{one['label']}: {one['cryptographic_status']}"
        for one in report["signatures"]
        if command == "verify" and one["cryptographic_status"] != "valid"
    ]
    assert bool(complaints) == bool(ran.returncode), ran.stdout
    return complaints if report["signatures"] else ["no signature found"]


def first_by_botgate(
    method: str, url: str, fields: Fields, public: bytes, profile: BotgateProfile, folder: Path
) -> list[str]:
    """Have botgate verify a request that carries sig1 alone; give its complaints."""
    return by_botgate("verify", method, url, fields, [jwk(public)], profile, folder)


def second_by_cryptography(
    method: str, url: str, fields: Fields, public: bytes, *, label: str = "sig2"
) -> None:
    """Have OpenSSL verify sig2 over the base built here; raise what it raises."""
    base = signature_base(method, url, fields, label)
    MLDSA44PublicKey.from_public_bytes(public).verify(signature(fields, label), base)


def second_by_pqcrypto(
    method: str, url: str, fields: Fields, public: bytes, *, label: str = "sig2"
) -> None:
    """Have pqcrypto verify sig2 over the base built here; raise what it raises."""
    base = signature_base(method, url, fields, label)
    ml_dsa_44.verify(public, base, signature(fields, label))


def jwk(public: bytes) -> dict[str, str]:
    """Write an Ed25519 key as a site finds it in a key set."""
    x = urlsafe_b64encode(public).rstrip(b"=").decode()
    return {"kty": "OKP", "crv": "Ed25519", "x": x, "kid": keyid(public), "use": "sig"}


def keyid(public: bytes) -> str:
    """Give the thumbprint: RFC 7638 over the members that RFC 8037, appendix A.3 names."""
    x = urlsafe_b64encode(public).rstrip(b"=").decode()
    canonical = f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'
    return urlsafe_b64encode(sha256(canonical.encode()).digest()).rstrip(b"=").decode()


def _value(method: str, url: str, fields: Fields, name: str, key: str | None) -> str:
    parts = urlsplit(url)
    match name:
        case "@method":
            return method
        case "@authority":
            return parts.netloc.lower().removesuffix(_DEFAULT_PORTS[parts.scheme])
        case "@path":
            return parts.path or "/"
        case "@query":
            return "?" + parts.query
        case _ if key is not None:
            return members(field(fields, name))[key]
        case _:
            return field(fields, name)
