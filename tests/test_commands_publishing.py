"""`crawl publish` says what it wrote and until when it is good, and refuses what helps nobody."""

import time
from pathlib import Path

import msgspec
import pytest
from published import CARD, SETTINGS

from crawler.commands import publishing
from crawler.problems import Problem, UsageProblem
from crawler.serve.publish import PQ_KEYS
from crawler.settings import Settings
from signing import directory, fields
from signing.algorithms import ED25519, by_name
from signing.keys import PrivateKey, generate

DAY = 86_400


def settings(folder: Path, *names: str) -> Settings:
    """Somebody who has a key of each of these algorithms."""
    keys = folder / "keys"
    keys.mkdir()
    for key in (generate(by_name(name)) for name in names):
        write(keys, key)
    return msgspec.structs.replace(SETTINGS, base=str(folder))


def write(keys: Path, key: PrivateKey) -> None:
    path = keys / f"{key.algorithm.name}-{key.keyid}.jwk"
    path.write_bytes(msgspec.json.encode(key.jwk()))
    path.chmod(0o600)


def publish(
    somebody: Settings, site: Path, authority: str | None = None, lifetime: str = "30d"
) -> None:
    publishing.publish(somebody, site, authority, lifetime)


def window(site: Path) -> tuple[int, int]:
    """From when until when the signatures in `_headers` are good."""
    (line, *_) = [
        line for line in (site / "_headers").read_text().splitlines() if "Signature-Input" in line
    ]
    (member, *_) = fields.parse_dictionary(line.partition(": ")[2]).values()
    params = dict(member.params)
    created, expires = params["created"], params["expires"]
    assert isinstance(created, int)
    assert isinstance(expires, int)
    return created, expires


def test_it_writes_every_document_and_says_what_comes_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site, began = tmp_path / "site", int(time.time())

    publish(settings(tmp_path, "ed25519", "ml-dsa-44"), site)

    printed, said = capsys.readouterr()
    created, expires = window(site)
    assert said == ""
    for path in (directory.WELL_KNOWN, PQ_KEYS, CARD):
        assert f"wrote {site}{path}\n" in printed
    assert f"wrote {site}/index.html\n" in printed
    assert f"wrote {site}/bot.html\n" in printed
    assert "bot.example: 1 Ed25519 key, signatures expire" in printed
    moment = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(expires - DAY))
    assert f"Publish again by {moment}" in printed
    assert expires - created == 30 * DAY
    assert began - 3 <= created <= time.time() - 3


def test_again_it_replaces_the_signatures_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    somebody, site = settings(tmp_path, "ed25519"), tmp_path / "site"
    publish(somebody, site)
    capsys.readouterr()

    publish(somebody, site, lifetime="60d")

    wrote = [line for line in capsys.readouterr().out.splitlines() if line.startswith("wrote")]
    assert wrote == [f"wrote {site}/_headers", f"wrote {site}/nginx-snippet.conf"]


def test_a_card_at_another_path_leaves_none_at_the_old_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    somebody, site = settings(tmp_path, "ed25519"), tmp_path / "site"
    publish(somebody, site)
    moved = msgspec.structs.replace(somebody.publish, card="/card")

    publish(msgspec.structs.replace(somebody, publish=moved), site)

    assert f"removed {site}{CARD}\n" in capsys.readouterr().out
    assert (site / "card").exists()
    assert not (site / CARD.removeprefix("/")).exists()


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("bot.example", "bot.example"),
        ("Bot.Example:443", "bot.example"),
        ("keys.example:8443", "keys.example:8443"),
        ("[2001:DB8::1]", "[2001:db8::1]"),
        ("bücher.example", "xn--bcher-kva.example"),
    ],
)
def test_the_authority_is_signed_as_clients_send_it(tmp_path: Path, given: str, meant: str) -> None:
    site = tmp_path / "site"

    publish(settings(tmp_path, "ed25519"), site, given)

    card = msgspec.json.decode((site / CARD.removeprefix("/")).read_bytes())
    assert card["client_id"] == f"https://{meant}{CARD}"
    assert f"Published at https://{meant} " in (site / "_headers").read_text()


def test_a_host_that_is_not_home_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(settings(tmp_path, "ed25519"), tmp_path / "site", "mirror.example")

    _, said = capsys.readouterr()
    assert said == (
        "crawl: note: our requests lead to bot.home, bot.example; no site that verifies them "
        "looks at mirror.example\n"
    )


@pytest.mark.parametrize(
    "given",
    ["", "me@bot.example", "bot.example/keys", "bot.example:0", "bot example", "a?b", "a#b"],
)
def test_what_is_no_authority_is_refused(tmp_path: Path, given: str) -> None:
    with pytest.raises(UsageProblem, match="--authority") as caught:
        publish(settings(tmp_path, "ed25519"), tmp_path / "site", given)

    assert caught.value.hint == "for example --authority bot.example"
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("soon", "not a duration"),
        ("", "not a duration"),
        ("-1", "not a duration"),
        ("86400", "would outlive it"),
        ("24h", "copies are kept for 1d"),
        ("inf", "not a duration"),
        ("11000000d", "ten years"),
    ],
)
def test_a_lifetime_that_helps_nobody_is_refused(tmp_path: Path, given: str, words: str) -> None:
    with pytest.raises(UsageProblem, match="--lifetime") as caught:
        publish(settings(tmp_path, "ed25519"), tmp_path / "site", lifetime=given)

    assert words in str(caught.value)


@pytest.mark.parametrize("given", ["90000", "25h"])
def test_a_lifetime_may_be_short(tmp_path: Path, given: str) -> None:
    publish(settings(tmp_path, "ed25519"), tmp_path / "site", lifetime=given)

    created, expires = window(tmp_path / "site")
    assert expires - created == 90_000


@pytest.mark.parametrize("names", [(), ("ml-dsa-44",)], ids=["no key", "ML-DSA alone"])
def test_without_an_ed25519_key_nothing_is_written(tmp_path: Path, names: tuple[str, ...]) -> None:
    with pytest.raises(Problem, match="no usable Ed25519 key") as caught:
        publish(settings(tmp_path, *names), tmp_path / "site")

    assert caught.value.code == 1
    assert not (tmp_path / "site").exists()


def test_each_published_key_signs_that_next_one_too(tmp_path: Path) -> None:
    somebody, site = settings(tmp_path, "ed25519"), tmp_path / "site"
    write(tmp_path / "keys", generate(ED25519))

    publish(somebody, site)

    assert (site / "_headers").read_text().count("sig2=(") == 2  # at the well-known path and at /
