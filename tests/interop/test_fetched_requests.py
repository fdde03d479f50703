"""Verifiers that nobody here wrote accept the requests that the crawler really sends."""

from pathlib import Path
from typing import Any

import pytest
import verifiers
from capture import Answer, Captured, capturing, respond
from verifiers import BotgateProfile
from visitor import origin, visiting

from crawler.events import Arm
from crawler.settings import ProfileName, Second
from signing.keys import PrivateKey

TARGET = "/caf%C3%A9/a%2Fb;c?q=%7E&u=https://x.example/y&empty="
PROFILES = [name for name in ProfileName if name is not ProfileName.AUTO]
BOTGATE: dict[ProfileName, BotgateProfile] = {
    name: BotgateProfile.CLOUDFLARE
    if name in (ProfileName.LEGACY, ProfileName.PUBLISHED)
    else BotgateProfile.IETF
    for name in PROFILES
}


def page(_: Captured) -> Answer:
    return respond(200, ("Content-Type", "text/html"), body=b"page")


async def sent(
    folder: Path, profile: ProfileName, **task: Any
) -> tuple[str, Captured, PrivateKey, PrivateKey]:
    """One request as the server got it, and the keys that it was signed with."""
    with capturing(page) as server:
        asked = origin(server.url("/"), profile=profile, sig2=Second.ALWAYS)
        async with visiting(asked, folder) as visitor:
            await visitor.fetch(TARGET, **task)
        ring = visitor.told[0].keyring
        assert ring.second is not None
        return server.url(TARGET), server.requests[0], ring.first, ring.second


@pytest.mark.parametrize("profile", PROFILES)
async def test_http_message_signatures_accepts_sig1_as_it_was_sent(
    tmp_path: Path, profile: ProfileName
) -> None:
    url, request, first, _ = await sent(tmp_path, profile)
    label = "sig1" if profile is ProfileName.PUBLISHED else None

    result = verifiers.first_by_message_signatures(
        request.method, url, request.fields, first.public, label=label
    )

    assert request.target == TARGET
    assert result.parameters["keyid"] == first.keyid
    assert verifiers.labels(request.fields) == ["sig1", "sig2"]


@pytest.mark.parametrize("profile", PROFILES)
async def test_botgate_accepts_sig1_as_it_was_sent(tmp_path: Path, profile: ProfileName) -> None:
    url, request, first, _ = await sent(tmp_path, profile, arm=Arm.FIRST_ONLY)

    complaints = verifiers.first_by_botgate(
        request.method, url, request.fields, first.public, BOTGATE[profile], tmp_path
    )

    assert complaints == []


@pytest.mark.parametrize("profile", PROFILES)
async def test_two_sources_of_ml_dsa_accept_sig2_as_it_was_sent(
    tmp_path: Path, profile: ProfileName
) -> None:
    url, request, _, second = await sent(tmp_path, profile)

    verifiers.second_by_cryptography(request.method, url, request.fields, second.public)
    verifiers.second_by_pqcrypto(request.method, url, request.fields, second.public)

    assert verifiers.parameters(request.fields, "sig2")["keyid"] == second.keyid
