"""Verifiers that nobody here wrote accept the response of our directory, from either server."""

import subprocess
import time
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import msgspec
import npm
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import HTTPMessageVerifier, InvalidSignature, MappingKeyResolver
from http_message_signatures.algorithms import ED25519
from multidict import CIMultiDict
from published import AUTHORITY, Answer, by_nginx, keys, served
from servers import NGINX, NGINX_MISSING

from signing import directory

HELD: Final = keys()
HERE: Final = Path(__file__).parent


@pytest.fixture(params=["crawl serve", "crawl publish behind nginx"])
async def answer(request: pytest.FixtureRequest, tmp_path: Path) -> Answer:
    if request.param == "crawl serve":
        async with served(HELD, time.time()) as site:
            return await site.asked(directory.WELL_KNOWN)
    if NGINX is None:
        pytest.skip(NGINX_MISSING)
    with by_nginx(HELD, tmp_path, time.time()) as site:
        return site.ask(directory.WELL_KNOWN)


def url(authority: str) -> str:
    return f"https://{authority}{directory.WELL_KNOWN}"


def by_message_signatures(answer: Answer, authority: str) -> set[str]:
    """The labels that PyPI's http-message-signatures verifies; raises what it raises."""
    public = {
        key.keyid: Ed25519PublicKey.from_public_bytes(key.public_key.public) for key in HELD[:2]
    }
    verifier = HTTPMessageVerifier(
        signature_algorithm=ED25519,
        key_resolver=MappingKeyResolver(public_keys=public, private_keys={}),
    )
    request = SimpleNamespace(method="GET", url=url(authority), headers=CIMultiDict())
    response = SimpleNamespace(
        status_code=answer.status, headers=CIMultiDict(answer.fields), request=request
    )
    found = verifier.verify(response, max_age=timedelta(days=1), expect_tag=directory.TAG)
    return {one.label for one in found}


def by_npm(answer: Answer, authority: str) -> dict[str, str]:
    """What each npm package says."""
    asked = {
        "url": url(authority),
        "status": answer.status,
        "fields": answer.fields,
        "keys": [key.public_key.jwk() for key in HELD[:2]],
        "labels": ["sig1", "sig2"],
    }
    done = subprocess.run(
        ["node", str(HERE / "directory.mjs"), str(npm.folder())],
        input=msgspec.json.encode(asked),
        capture_output=True,
        timeout=npm.PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return msgspec.json.decode(done.stdout, type=dict[str, str])


@pytest.fixture
def node() -> None:
    npm.needed()


def test_python_verifies_each_signature(answer: Answer) -> None:
    assert by_message_signatures(answer, AUTHORITY) == {"sig1", "sig2"}


def test_python_sees_that_another_host_answered(answer: Answer) -> None:
    with pytest.raises(InvalidSignature):
        by_message_signatures(answer, "thief.example")


@pytest.mark.usefixtures("node")
def test_npm_packages_verify_each_signature(answer: Answer) -> None:
    assert by_npm(answer, AUTHORITY) == {
        "http-message-signatures": "verified",
        "http-message-sig sig1": "verified",
        "http-message-sig sig2": "verified",
    }


@pytest.mark.usefixtures("node")
def test_npm_packages_see_that_another_host_answered(answer: Answer) -> None:
    assert "verified" not in by_npm(answer, "thief.example").values()
