"""The life of a key on the command line: made, shown, rotated, retired, taken in and given out."""

import base64
import json
import os
import shutil
import subprocess
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from crawling import CRAWL, Ended, Operator

from signing import algorithms, keys, pem
from signing.keys import PrivateKey

DAY: Final = 86_400
# RFC 8037, appendix A
PRINTED: Final = PrivateKey(
    algorithms.ED25519,
    bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"),
)


@pytest.fixture
def somebody(tmp_path: Path) -> Operator:
    return Operator(folder=tmp_path, origins={"one": {"url": "http://127.0.0.1:9/"}})


def rows(somebody: Operator) -> dict[str, dict[str, Any]]:
    """What `crawl keys list` knows, by thumbprint."""
    listed = json.loads(somebody.crawl("keys", "list", "--format", "json").answer)
    return {row["keyid"]: row for row in listed["keys"]}


def standing(somebody: Operator, use: str) -> set[str]:
    return {keyid for keyid, row in rows(somebody).items() if row["standing"] == use}


def complaint(ended: Ended) -> tuple[str, ...]:
    """What stderr says of a command that failed, without prefixes: the error and the hint."""
    assert ended.code in (1, 2)
    assert ended.answer == ""
    return tuple(line.split(": ", 2)[2] for line in ended.said.splitlines())


def fed(somebody: Operator, data: bytes, *arguments: str) -> Ended:
    """The command with something on its stdin."""
    done = subprocess.run(
        [CRAWL, *arguments],
        cwd=somebody.folder,
        env={**os.environ, "COLUMNS": "200", "NO_COLOR": "1"},
        input=data,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Ended(code=done.returncode, answer=done.stdout.decode(), said=done.stderr.decode())


def spellings(seed: bytes) -> Iterator[str]:
    yield seed.hex()
    yield base64.urlsafe_b64encode(seed).decode().rstrip("=")
    yield base64.b64encode(seed).decode()
    yield repr(seed)[2:-1]


# new, list, show


def test_new_keys_beside_others_are_only_published_and_the_next_step_is_named(
    somebody: Operator,
) -> None:
    before = standing(somebody, "signing")

    made = somebody.crawl("keys", "new")

    new = standing(somebody, "published")
    assert (made.code, made.said) == (0, "")
    assert standing(somebody, "signing") == before
    assert len(new) == 2
    for keyid in new:
        assert f"{keyid}.jwk: published, does not sign yet\n" in made.answer
        assert f"--to {keyid}" in made.answer


def test_the_next_step_that_is_named_has_them_sign(somebody: Operator) -> None:
    said = somebody.crawl("keys", "new").answer
    (line,) = (line for line in said.splitlines() if line.startswith("  crawl keys rotate"))
    before = standing(somebody, "signing")

    ended = somebody.crawl(*line.split()[1:], "--wait", "0s")

    assert ended.code == 0
    assert standing(somebody, "published") == before
    assert not standing(somebody, "signing") & before


def test_a_key_is_made_of_one_algorithm_and_for_a_time(somebody: Operator) -> None:
    now = time.time()

    made = somebody.crawl(
        "keys", "new", "--algorithm", "ed25519", "--valid-from", "2026-01-02",
        "--valid-until", "90d",
    )  # fmt: skip

    (keyid,) = standing(somebody, "published")
    row = rows(somebody)[keyid]
    assert made.code == 0
    assert row["not_before"] == 1_767_312_000
    assert now + 90 * DAY - 1 <= row["ends"] <= now + 90 * DAY + 60
    assert row["next"] == {"at": row["ends"], "standing": "retired"}
    assert f"--to {keyid}" in made.answer


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        pytest.param(
            ("new", "--valid-until", "soon"), "--valid-until soon: no moment", id="no moment"
        ),
        pytest.param(
            ("new", "--valid-until", "2026-01-01"), "would never be valid", id="over already"
        ),
        pytest.param(
            ("new", "--valid-from", "9d", "--valid-until", "8d"), "never be valid", id="no time"
        ),
        pytest.param(
            ("new", "--algorithm", "rsa"),
            "--algorithm rsa: requests are signed with ed25519, ml-dsa-44, ml-dsa-65 or ml-dsa-87",
            id="unknown",
        ),
        pytest.param(
            ("rotate", "--algorithm", "ecdsa-p256-sha256"),
            "--algorithm ecdsa-p256-sha256: requests are signed with ed25519, ml-dsa-44, ",
            id="of no use",
        ),
        pytest.param(("rotate", "--wait", "tomorrow"), "is not a duration", id="no duration"),
        pytest.param(
            ("rotate", "--to", "x", "--algorithm", "ed25519"), "--algorithm and --to", id="both"
        ),
        pytest.param(("rotate", "--to", "!"), "!: there is no such key", id="no such key"),
        pytest.param(("retire", "!"), "!: there is no such key", id="none to retire"),
        pytest.param(("show", ""), ": 2 keys begin so", id="two keys"),
        pytest.param(("export", "!"), "!: there is no such key", id="none to export"),
    ],
)
def test_a_command_line_that_makes_no_sense_changes_nothing(
    somebody: Operator, arguments: tuple[str, ...], problem: str
) -> None:
    before = sorted(somebody.keys.iterdir())

    ended = somebody.crawl("keys", *arguments)

    assert ended.code == 2
    assert problem in complaint(ended)[0]
    assert sorted(somebody.keys.iterdir()) == before


def test_the_list_names_problems_and_shows_no_secret(somebody: Operator) -> None:
    (pq,) = somebody.keys.glob("ml-dsa-44-*.jwk")
    pq.chmod(0o644)

    ended = somebody.crawl("keys", "list")

    assert (ended.code, ended.said) == (0, "")
    head, first, second, empty, where = ended.answer.splitlines()
    assert head.split() == ["keyid", "algorithm", "standing", "next"]
    assert somebody.key("ed25519").keyid in first
    assert "others may use it (mode 644)" in second
    assert (empty, where) == ("", f"The files are {somebody.keys}/ALGORITHM-KEYID.jwk")
    for algorithm in ("ed25519", "ml-dsa-44"):
        for spelling in spellings(somebody.key(algorithm).secret):
            assert spelling not in ended.answer


def test_the_list_says_all_that_becomes_of_a_key_in_few_columns(somebody: Operator) -> None:
    key = somebody.key("ed25519")
    (path,) = somebody.keys.glob("ed25519-*.jwk")
    path.rename(path.with_name("ed25519-mine.jwk"))
    somebody.crawl("keys", "rotate")

    lines = somebody.crawl("keys", "list").answer.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(key.keyid))

    assert "is published only from " in lines[at]
    assert lines[at + 1].strip().startswith("is dropped at ")
    assert lines[at + 2].strip() == "its file is ed25519-mine.jwk"
    assert max(map(len, lines[:-1])) <= 120
    assert {row["file"] for row in rows(somebody).values()} == set(
        map(str, somebody.keys.glob("*.jwk"))
    )


def test_all_that_is_public_about_a_key_is_shown(somebody: Operator) -> None:
    key = somebody.key("ed25519")
    somebody.crawl("keys", "rotate", "--algorithm", "ed25519")

    shown = somebody.crawl("keys", "show", key.keyid[:10])
    told = json.loads(somebody.crawl("keys", "show", key.keyid, "--format", "json").answer)

    lines = dict(line.split(None, 1) for line in shown.answer.splitlines())
    assert (shown.code, shown.said) == (0, "")
    assert (lines["keyid"], lines["standing"]) == (key.keyid, "signing")
    assert lines["next"].startswith("is published only from 20")
    assert told["jwk"] == {**key.public_key.jwk(), "exp": told["ends"]}
    assert json.loads(lines["published"].removeprefix("as ")) == told["jwk"]
    assert told["next"]["standing"] == "published"
    assert told["file"] == str(next(somebody.keys.glob(f"*{key.keyid}.jwk")))
    for spelling in spellings(key.secret):
        assert spelling not in shown.answer


def test_since_when_a_key_signs_is_shown_where_that_is_known(somebody: Operator) -> None:
    now = time.time()
    somebody.crawl("keys", "rotate", "--wait", "0s")
    (keyid, _) = (row for row in rows(somebody) if row in standing(somebody, "signing"))

    told = json.loads(somebody.crawl("keys", "show", keyid, "--format", "json").answer)

    assert now - 1 <= told["since"] <= now + 60
    assert "signs since" in somebody.crawl("keys", "show", keyid).answer


def test_a_retired_or_damaged_key_is_shown_without_jwk(somebody: Operator) -> None:
    (pq,) = somebody.keys.glob("ml-dsa-44-*.jwk")
    keyid = somebody.key("ml-dsa-44").keyid
    somebody.crawl("keys", "retire", keyid)
    retired = somebody.crawl("keys", "show", keyid).answer
    (somebody.keys / "state.toml").unlink()
    pq.write_bytes(b"{}")

    damaged = somebody.crawl("keys", "show", keyid).answer

    assert "published as" not in retired + damaged
    assert "no usable key" in damaged


# rotate, retire


def test_a_rotation_says_what_comes_when(somebody: Operator) -> None:
    old = standing(somebody, "signing")

    ended = somebody.crawl("keys", "rotate")
    now = rows(somebody)

    assert (ended.code, ended.said) == (0, "")
    new = now.keys() - old
    assert {now[keyid]["next"]["standing"] for keyid in new} == {"signing"}
    assert {now[keyid]["next"]["standing"] for keyid in old} == {"published"}
    for keyid in (*old, *new):
        assert keyid in ended.answer
    state = tomllib.loads((somebody.keys / "state.toml").read_text())
    assert state["sign_from"].keys() == new
    assert state["drop_from"].keys() == old
    waits = {at.timestamp() for at in state["sign_from"].values()}
    drops = {at.timestamp() for at in state["drop_from"].values()}
    assert {drop - wait for drop in drops for wait in waits} == {DAY}


def test_a_rotation_in_json_has_its_moments_in_seconds(somebody: Operator) -> None:
    key = somebody.key("ml-dsa-44")

    ended = somebody.crawl(
        "keys", "rotate", "--algorithm", "ml-dsa-44", "--wait", "2h", "--keep", "1h",
        "--format", "json",
    )  # fmt: skip

    (turn,) = json.loads(ended.answer)["turns"]
    assert (turn["algorithm"], turn["old"]) == ("ml-dsa-44", key.keyid)
    assert turn["drop_from"] - turn["sign_from"] == 3600


def test_a_planned_moment_that_is_replaced_is_told(somebody: Operator) -> None:
    planned = somebody.crawl("keys", "rotate", "--algorithm", "ed25519", "--format", "json")
    (turn,) = json.loads(planned.answer)["turns"]

    ended = somebody.crawl("keys", "rotate", "--to", turn["new"], "--wait", "2h")
    again = somebody.crawl("keys", "rotate", "--to", turn["new"], "--format", "json")
    (last,) = json.loads(again.answer)["turns"]

    assert f"  {turn['new']}  was to sign from " in ended.answer
    assert turn["instead_of"] is None
    assert turn["sign_from"] > last["instead_of"]


def test_a_rotation_in_a_hurry_says_what_it_costs(somebody: Operator) -> None:
    ended = somebody.crawl("keys", "rotate", "--wait", "0s", "--keep", "0s")

    assert "until then some of them may not verify us" in ended.answer
    assert len(standing(somebody, "retired")) == 2


def test_retiring_says_what_signs_now(somebody: Operator) -> None:
    first, second = somebody.key("ed25519"), somebody.key("ml-dsa-44")

    without = somebody.crawl("keys", "retire", second.keyid[:12])
    refused = somebody.crawl("keys", "retire", first.keyid)

    assert (without.code, without.said) == (0, "")
    assert "no ml-dsa-44 key signs now; requests carry sig1 alone" in without.answer
    assert refused.code == 1
    assert "without it no ed25519 key signs" in complaint(refused)[0]
    assert standing(somebody, "signing") == {first.keyid}


def test_ending_a_rotation_says_that_the_old_key_stays(somebody: Operator) -> None:
    old = somebody.key("ed25519")
    somebody.crawl("keys", "rotate", "--algorithm", "ed25519")
    (new,) = standing(somebody, "published")

    ended = somebody.crawl("keys", "retire", new)

    assert f"{old.keyid}: is not dropped as it was to be" in ended.answer
    assert rows(somebody)[old.keyid]["next"] is None


# import, export


def test_a_key_goes_out_as_pem_and_comes_in_elsewhere(somebody: Operator, tmp_path: Path) -> None:
    other = Operator(folder=tmp_path / "other", origins=somebody.origins)
    for algorithm in ("ed25519", "ml-dsa-44"):
        key = somebody.key(algorithm)
        file = tmp_path / f"{algorithm}.pem"

        given = somebody.crawl(
            "keys", "export", key.keyid, "--private", "--format", "pem", "--output", str(file)
        )
        taken = other.crawl("keys", "import", str(file))

        assert (given.code, given.answer) == (0, "")
        assert file.stat().st_mode & 0o777 == 0o600
        assert (taken.code, taken.said) == (0, "")
        copy = next(other.keys.glob(f"*{key.keyid}.jwk"))
        assert copy.stat().st_mode & 0o777 == 0o600
        assert keys.read_private(copy.read_bytes()) == key
        assert rows(other)[key.keyid]["standing"] == "published"
        assert f"crawl keys rotate --to {key.keyid}" in taken.answer


def test_a_jwk_comes_in_from_stdin_with_its_moments(somebody: Operator) -> None:
    end = int(time.time()) + DAY
    key = keys.generate(algorithms.ED25519, not_before=1_700_000_000, expires=end)
    if key.keyid.startswith("-"):
        key = PrivateKey(
            algorithms.ED25519, bytes(range(32)), not_before=1_700_000_000, expires=end
        )

    ended = fed(somebody, json.dumps(key.jwk()).encode(), "keys", "import", "-")

    row = rows(somebody)[key.keyid]
    assert ended.code == 0
    assert (row["not_before"], row["ends"]) == (1_700_000_000, end)


def test_the_first_key_that_comes_in_signs(somebody: Operator) -> None:
    for path in somebody.keys.iterdir():
        path.unlink()
    key = PrivateKey(algorithms.ED25519, bytes(range(32)))

    ended = fed(somebody, bytes(pem.write_private(key)), "keys", "import", "-")

    assert ended.answer.endswith(f"ed25519-{key.keyid}.jwk: signs\n")
    assert standing(somebody, "signing") == {key.keyid}


def test_a_file_that_others_may_have_read_is_noted(somebody: Operator, tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    file.write_bytes(pem.write_private(PrivateKey(algorithms.ED25519, bytes(range(32)))))
    file.chmod(0o644)

    ended = somebody.crawl("keys", "import", str(file))

    assert ended.code == 0
    assert ended.said == f"crawl: note: {file}: others may have read it (mode 644)\n"


def test_that_others_may_have_read_what_is_no_key_is_not_noted(
    somebody: Operator, tmp_path: Path
) -> None:
    file = tmp_path / "keys.json"
    file.write_text(somebody.crawl("keys", "export").answer)
    file.chmod(0o644)

    ended = somebody.crawl("keys", "import", str(file))

    assert ended.said.startswith(f"crawl: error: {file}: a JWK Set, which is a set of public keys")
    assert "crawl: hint: one private JWK is wanted" in ended.said


SEED: Final = bytes(range(100, 132))
OURS: Final = PrivateKey(algorithms.ML_DSA_44, SEED)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(
            json.dumps(PRINTED.jwk()).encode(), "everybody has this key", id="printed in an RFC"
        ),
        pytest.param(b"", "not a JWK", id="nothing"),
        pytest.param(
            json.dumps({"keys": [OURS.public_key.jwk()]}).encode(),
            "a JWK Set, which is a set of public keys",
            id="a set",
        ),
        pytest.param(
            json.dumps({**OURS.jwk(), "nbf": 10**30}).encode(),
            "no calendar has the moment from which it is valid",
            id="a start beyond time",
        ),
        pytest.param(
            json.dumps({**OURS.jwk(), "exp": -(10**15)}).encode(),
            "no calendar has the moment at which it ends",
            id="an end before time",
        ),
        pytest.param(json.dumps(OURS.jwk()).encode()[:-4], "not a JWK", id="torn"),
        pytest.param(
            json.dumps({**OURS.jwk(), "priv": str(OURS.jwk()["priv"])[:-3]}).encode(),
            "32 bytes, this one 30",
            id="a short seed",
        ),
        pytest.param(
            json.dumps(OURS.public_key.jwk()).encode(), "no text member 'priv'", id="public"
        ),
        pytest.param(bytes(pem.write_private(OURS)).replace(b"END", b"AND"), "no PEM", id="no end"),
        pytest.param(
            bytes(pem.write_private(PrivateKey(algorithms.ECDSA_P256, SEED))),
            "not signed with ecdsa-p256-sha256",
            id="of no use",
        ),
    ],
)
def test_what_cannot_come_in_is_said_and_never_quoted(
    somebody: Operator, data: bytes, problem: str
) -> None:
    before = sorted(somebody.keys.iterdir())

    ended = fed(somebody, data, "keys", "import", "-")

    assert problem in complaint(ended)[0]
    assert ended.code == 1
    for spelling in spellings(SEED):
        assert spelling[:16] not in ended.said
    assert sorted(somebody.keys.iterdir()) == before


def test_an_encrypted_pem_names_the_command_that_decrypts_it(somebody: Operator) -> None:
    if (openssl := shutil.which("openssl")) is None:
        pytest.skip("no openssl: apt-get install openssl")
    made = subprocess.run(
        [openssl, "genpkey", "-algorithm", "ed25519", "-aes256", "-pass", "pass:x"],
        capture_output=True,
        check=True,
    )

    ended = fed(somebody, made.stdout, "keys", "import", "-")

    assert "`openssl pkcs8 -topk8 -nocrypt -in FILE -out NEW` decrypts it" in complaint(ended)[0]


def test_a_file_that_cannot_be_read_is_said(somebody: Operator, tmp_path: Path) -> None:
    ended = somebody.crawl("keys", "import", str(tmp_path / "none"))

    assert complaint(ended) == (f"{tmp_path}/none: cannot be read: No such file or directory",)


def test_a_key_that_is_there_does_not_come_in_twice(somebody: Operator) -> None:
    key = somebody.key("ed25519")

    ended = fed(somebody, json.dumps(key.jwk()).encode(), "keys", "import", "-")

    assert complaint(ended)[0].endswith(f"{key.keyid}.jwk: this key is there already")


def test_what_is_published_goes_out_and_nothing_private(somebody: Operator) -> None:
    somebody.crawl("keys", "rotate", "--algorithm", "ed25519")
    first = [keyid for keyid in standing(somebody, "signing") if rows(somebody)[keyid]["next"]]

    jwks = json.loads(somebody.crawl("keys", "export").answer)
    spki = somebody.crawl("keys", "export", "--format", "pem").answer

    assert jwks["keys"][0]["kid"] == first[0]
    assert {key["kid"] for key in jwks["keys"]} == rows(somebody).keys()
    assert not {name for key in jwks["keys"] for name in key} & {"d", "priv"}
    assert spki.count("-----BEGIN PUBLIC KEY-----\n") == 3
    assert "PRIVATE" not in spki


def test_one_public_key_goes_into_a_new_file(somebody: Operator, tmp_path: Path) -> None:
    key, file = somebody.key("ed25519"), tmp_path / "public.pem"
    arguments = ("keys", "export", key.keyid, "--format", "pem", "--output", str(file))

    given, again = somebody.crawl(*arguments), somebody.crawl(*arguments)

    assert (given.code, given.answer, given.said) == (0, "", f"wrote {file}\n")
    assert pem.read_public(file.read_bytes()) == key.public_key
    assert complaint(again) == (f"{file}: is there already", "name another file")


@pytest.mark.parametrize("output", [(), ("--output", "-")], ids=["unasked", "by -"])
def test_a_private_key_goes_to_stdout_only_where_that_is_asked_for(
    somebody: Operator, output: tuple[str, ...]
) -> None:
    key = somebody.key("ml-dsa-44")

    ended = somebody.crawl("keys", "export", key.keyid, "--private", *output)

    if output:
        assert keys.read_private(ended.answer.encode()) == key
        return
    assert (ended.code, ended.answer) == (2, "")
    assert "--output FILE" in complaint(ended)[0]


def test_a_private_key_is_never_written_over_another_file(
    somebody: Operator, tmp_path: Path
) -> None:
    key, file = somebody.key("ed25519"), tmp_path / "mine"
    file.write_text("mine")

    ended = somebody.crawl("keys", "export", key.keyid, "--private", "--output", str(file))

    assert complaint(ended)[0] == f"{file}: is there already"
    assert file.read_text() == "mine"


@pytest.mark.parametrize("private", [(), ("--private",)], ids=["public", "private"])
def test_a_damaged_key_does_not_go_out(
    somebody: Operator, tmp_path: Path, private: tuple[str, ...]
) -> None:
    key = somebody.key("ed25519")
    (path,) = somebody.keys.glob("ed25519-*")
    path.chmod(0o644)

    ended = somebody.crawl("keys", "export", key.keyid, *private, "--output", str(tmp_path / "x"))

    assert complaint(ended) == (f"{path}: others may use it (mode 644)", f"chmod 600 {path}")


def test_a_folder_that_cannot_be_written_to_is_said(somebody: Operator, tmp_path: Path) -> None:
    file = tmp_path / "none" / "key.pem"

    ended = somebody.crawl("keys", "export", "--output", str(file))

    assert complaint(ended) == (f"{file}: cannot be written: No such file or directory",)
