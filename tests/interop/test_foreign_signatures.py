"""Requests that packages from elsewhere signed, before our verifier."""

import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import npm
import pytest
import verifiers
from arrangements import AUTHORITY, HOME, SENT, TARGETS, Fields
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from http_message_signatures import HTTPMessageSigner, MappingKeyResolver
from http_message_signatures.algorithms import ED25519
from multidict import CIMultiDict
from npm import Npm

from signing import algorithms, keys, verifier
from signing.directory import read_key_set
from signing.keys import PrivateKey, PublicKey
from signing.message import Message
from signing.verifier import Judgement, Keying, Outcome, Policy, Reason

LIFETIME: Final = 60  # seconds
PLAIN, QUERY = TARGETS

AUTHORITY_ALONE: Final = (("@authority", None),)
WHOLE_TARGET: Final = (*AUTHORITY_ALONE, ("@method", None), ("@path", None), ("@query", None))


@dataclass(frozen=True)
class Form:
    """What is in Signature-Agent, and what is covered: names, with the key of a member."""

    agent: str
    covered: tuple[tuple[str, str | None], ...]


# One string, the draft's own dictionary, a member with a name of its own, and a dictionary that is
# covered like a string: the last two are for a verifier that is lenient about the member.
STRING: Final = Form(f'"{HOME}"', (*AUTHORITY_ALONE, ("signature-agent", None)))
KEYED: Final = Form(f'sig1="{HOME}"', (*WHOLE_TARGET, ("signature-agent", "sig1")))
OTHERWISE: Final = Form(f'agent2="{HOME}"', (*WHOLE_TARGET, ("signature-agent", "agent2")))
WHOLE: Final = Form(f'sig1="{HOME}"', (*AUTHORITY_ALONE, ("signature-agent", None)))


@dataclass(frozen=True)
class Signed:
    """A request and the key that verifies it."""

    target: str
    fields: Fields
    public: PublicKey

    def judged(self, keying: Keying, *, authority: str = AUTHORITY) -> Judgement:
        """What our verifier says of its only label."""
        message = Message(
            method="GET",
            scheme="https",
            authority=authority,
            target=self.target,
            fields=tuple(self.fields),
        )

        def lookup(agent: str, keyid: str) -> PublicKey | Reason:
            known = (agent, keyid) == (HOME, self.public.keyid)
            return self.public if known else Reason.UNKNOWN_KEY

        found = verifier.verify(message, lookup, Policy(keying=keying), time.time())
        (judgement,) = found.labels
        assert found.outcome is judgement.outcome
        return judgement


@dataclass(frozen=True)
class Bench:
    """What signers need."""

    key: PrivateKey
    folder: Path
    npm: Npm | None


Signer = Callable[[Bench, str, Form], Signed]


def by_pypi(bench: Bench, target: str, form: Form) -> Signed:
    """Sign with http-message-signatures of PyPI."""
    secret = Ed25519PrivateKey.from_private_bytes(bytes(bench.key.secret))
    resolver = MappingKeyResolver(public_keys={}, private_keys={bench.key.keyid: secret})
    headers = CIMultiDict([*SENT, ("Signature-Agent", form.agent)])
    request = SimpleNamespace(method="GET", url=f"https://{AUTHORITY}{target}", headers=headers)
    created = datetime.now(UTC).replace(microsecond=0)
    HTTPMessageSigner(signature_algorithm=ED25519, key_resolver=resolver).sign(
        request,
        key_id=bench.key.keyid,
        created=created,
        expires=created + timedelta(seconds=LIFETIME),
        label="sig1",
        tag="web-bot-auth",
        covered_component_ids=[
            f'"{name}"' if member is None else f'"{name}";key="{member}"'
            for name, member in form.covered
        ],
    )
    return Signed(target, list(headers.items()), bench.key.public_key)


def by_npm(package: str) -> Signer:
    """Sign with a package of npm."""

    def sign(bench: Bench, target: str, form: Form) -> Signed:
        npm.needed()
        assert bench.npm is not None
        created = int(time.time())
        fields = bench.npm.sign(
            package,
            method="GET",
            url=f"https://{AUTHORITY}{target}",
            fields=[*SENT, ("Signature-Agent", form.agent)],
            jwk=bench.key.jwk(),
            covered=form.covered,
            created=created,
            expires=created + LIFETIME,
        )
        return Signed(target, fields, bench.key.public_key)

    return sign


def by_botgate(bench: Bench, target: str, form: Form) -> Signed:
    """Sign with botgate, which makes a key of its own and covers the member that it writes."""
    folder = bench.folder / "botgate"
    botgate = str(verifiers.BOTGATE)
    if not folder.exists():
        subprocess.run([botgate, "init", "--directory", folder], check=True, capture_output=True)
    lines = [f"GET {target} HTTP/1.1", *(f"{name}: {value}" for name, value in SENT), "", ""]
    request, signed = bench.folder / "request.http", bench.folder / "signed.http"
    request.write_bytes("\r\n".join(lines).encode())
    components = [name for name, _ in form.covered if name != "signature-agent"]
    command: list[str | Path] = [botgate, "sign", request, "--output", signed, "--force"]
    command += ["--agent", HOME, "--key", folder / "private.key", "--jwk", folder / "public.jwk"]
    command += ["--context", f"https://{AUTHORITY}{target}", "--components", ",".join(components)]
    command += ["--legacy-agent"] if form is STRING else []
    subprocess.run(command, check=True, capture_output=True)
    head, _, _ = signed.read_text("ascii").replace("\r\n", "\n").partition("\n\n")
    parted = (line.partition(": ") for line in head.split("\n")[1:])
    key_set = read_key_set((folder / "directory.json").read_bytes(), most=1)
    return Signed(target, [(name, value) for name, _, value in parted], key_set.keys[0])


SIGNERS: Final[dict[str, Signer]] = {
    "PyPI http-message-signatures": by_pypi,
    "PyPI botgate": by_botgate,
    "npm web-bot-auth": by_npm("web-bot-auth"),
    "npm http-message-sig": by_npm("http-message-sig"),
    "npm http-message-signatures": by_npm("http-message-signatures"),
}
FORMS: Final = {"string": STRING, "keyed": KEYED, "otherwise": OTHERWISE, "whole": WHOLE}
NOT_THEIRS: Final = {
    ("PyPI botgate", "otherwise"),
    ("PyPI botgate", "whole"),
    # It knows no members: it says ;key and signs the whole field.
    ("npm web-bot-auth", "keyed"),
    ("npm web-bot-auth", "otherwise"),
}
ALL: Final = [
    pytest.param(signer, form, id=f"{package}, {name}")
    for package, signer in SIGNERS.items()
    for name, form in FORMS.items()
    if (package, name) not in NOT_THEIRS
]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    key, folder = keys.generate(algorithms.ED25519), tmp_path_factory.mktemp("signers")
    if npm.missing():
        yield Bench(key, folder, None)
    else:
        with npm.running() as node:
            yield Bench(key, folder, node)


@pytest.mark.parametrize("target", TARGETS, ids=["no query", "query"])
@pytest.mark.parametrize(("signer", "form"), ALL)
def test_what_others_sign_verifies(bench: Bench, signer: Signer, form: Form, target: str) -> None:
    signed = signer(bench, target, form)

    judgement = signed.judged(Keying.LENIENT)

    assert judgement.outcome is Outcome.VERIFIED, judgement.reason
    assert judgement.label == "sig1"
    assert judgement.keyid == signed.public.keyid
    assert len(judgement.covered) == len(form.covered)


@pytest.mark.parametrize(("signer", "form"), ALL)
def test_who_is_strict_wants_the_member_with_the_labels_name(
    bench: Bench, signer: Signer, form: Form
) -> None:
    judgement = signer(bench, QUERY, form).judged(Keying.STRICT)

    refused = {OTHERWISE: Reason.SIGNATURE_AGENT_MEMBER_MISSING, WHOLE: Reason.MISSING_COMPONENT}
    assert judgement.reason is refused.get(form)


@pytest.mark.parametrize(("signer", "form"), ALL)
def test_what_others_signed_for_another_host_is_refused(
    bench: Bench, signer: Signer, form: Form
) -> None:
    judgement = signer(bench, QUERY, form).judged(Keying.LENIENT, authority="other.example")

    assert judgement.reason is Reason.BAD_SIGNATURE


@pytest.mark.parametrize(
    ("target", "form"),
    [
        pytest.param(QUERY, KEYED, id="the whole field in a member's place"),
        pytest.param(
            PLAIN, Form(STRING.agent, (("@query", None), *STRING.covered)), id="no ? for no query"
        ),
    ],
)
def test_what_web_bot_auth_signs_otherwise_than_the_rfc_is_refused(
    bench: Bench, target: str, form: Form
) -> None:
    signed = by_npm("web-bot-auth")(bench, target, form)

    assert signed.judged(Keying.LENIENT).reason is Reason.BAD_SIGNATURE
