"""gate.toml: what is read, and what is said of each mistake in it."""

import tomllib
from pathlib import Path

import keyhouse
import msgspec
import pytest

from crawler import shipped
from crawler.configuration import SettingsError
from crawler.serve import policy
from crawler.serve.policy import Policy, Store, Told
from signing import algorithms, directory, keys
from signing.verifier import Keying

KEY = keys.generate(algorithms.ED25519).public_key
SECOND = keys.generate(algorithms.ML_DSA_44).public_key


def load(folder: Path, text: str) -> Policy:
    (folder / "gate.toml").write_text(text)
    (folder / "bot.json").write_bytes(directory.key_set([KEY]))
    (folder / "bot-pq.json").write_bytes(directory.key_set([SECOND]))
    (folder / "empty.json").write_bytes(directory.key_set([]))
    (folder / "page.html").write_text("<html>")
    (folder / "ca.pem").write_text(keyhouse.authority())
    (folder / "nothing").touch()
    (folder / "large.json").write_bytes(b" " * 70_000)
    return policy.load(folder / "gate.toml")


def test_the_shipped_file_says_what_holds_without_a_file(tmp_path: Path) -> None:
    shown = load(tmp_path, shipped.text("gate.toml"))
    usual = policy.default()

    for field in ("site", "admit", "answers", "replay", "judged_by", "known", "pinned", "reach"):
        assert getattr(shown, field) == getattr(usual, field), field


def test_the_shipped_file_names_each_setting() -> None:
    shown = tomllib.loads(shipped.text("gate.toml").replace("# [[", "[[").replace("# ori", "ori"))
    shown["agent"] = dict.fromkeys(["origin", "keys"])

    for item in msgspec.structs.fields(policy._File):
        kind = policy.Agent if item.name == "agent" else item.type
        assert set(shown[item.name]) == {one.name for one in msgspec.structs.fields(kind)}


def test_an_agent_may_have_its_keys_in_files(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        """
        [admit]
        require = ["ed25519", "ml-dsa-44"]
        unknown = false
        [[agent]]
        origin = "https://Bot.example/"
        keys = ["bot.json", "bot-pq.json"]
        [[agent]]
        origin = "https://other.example:8443"
        """,
    )

    assert found.known == {"https://bot.example", "https://other.example:8443"}
    assert {origin: held.keys for origin, held in found.pinned.items()} == {
        "https://bot.example": (KEY, SECOND)
    }
    assert found.judged_by.algorithms == {"ed25519", "ml-dsa-44"}


@pytest.mark.parametrize(
    ("scheme", "hosts"),
    [("https", ("a.example", "a.example:80")), ("http", ("a.example:443", "a.example"))],
)
def test_the_usual_port_of_a_host_is_no_part_of_it(
    tmp_path: Path, scheme: str, hosts: tuple[str, ...]
) -> None:
    found = load(
        tmp_path, f'[site]\nscheme = "{scheme}"\nhosts = ["A.example:443", "a.example:80"]'
    )

    assert found.site.hosts == hosts


def test_it_is_said_what_relative_paths_are_relative_to(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, '[[agent]]\norigin = "https://a.example"\nkeys = ["none.json"]')

    assert str(tmp_path) in str(caught.value.hint)


def test_what_is_said_reaches_the_verifier(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        """
        [site]
        hosts = ["Shop.example", "localhost:8080", "[::1]:8080"]
        [admit]
        require = ["rsa-pss-sha512"]
        [signatures]
        tags = ["agent"]
        components = ["@method", "@path"]
        max_window = 300
        skew = 0
        keying = "lenient"
        alg = "ml-dsa"
        [replay]
        store = "sqlite"
        path = "seen.db"
        [answers]
        reasons = "nobody"
        [discovery]
        private = true
        ca = "ca.pem"
        """,
    )
    judged = found.judged_by

    assert found.site.hosts == ("shop.example", "localhost:8080", "[::1]:8080")
    assert judged.tags == {"agent"}
    assert judged.required == {"@authority", "@method", "@path"}
    assert (judged.max_window, judged.skew) == (300, 0)
    assert judged.keying is Keying.LENIENT
    assert judged.second_alg == "ml-dsa"
    assert "rsa-pss-sha512" in judged.algorithms
    assert (found.replay.store, found.replay_path) == (Store.SQLITE, tmp_path / "seen.db")
    assert found.answers.reasons is Told.NOBODY
    assert found.reach.local
    assert found.reach.trust is not True


@pytest.mark.parametrize(
    ("text", "place", "said", "hint"),
    [
        pytest.param("[admit", "gate.toml", "is not TOML", None, id="no TOML"),
        pytest.param("[amdit]", "gate.toml: amdit", "unknown", "'admit'", id="unknown table"),
        pytest.param(
            "[admit]\nunsinged = 1", "gate.toml: admit.unsinged", "unknown", "'unsigned'", id="typo"
        ),
        pytest.param(
            '[admit]\nunsigned = "no"',
            "gate.toml: admit.unsigned",
            "true or false is expected, not text",
            "unsigned = true",
            id="another type",
        ),
        pytest.param(
            '[site]\nhosts = "shop.example"',
            "gate.toml: site.hosts",
            "a list is expected, not text",
            'hosts = ["…"]',
            id="no list",
        ),
        pytest.param(
            '[admit]\nrequire = ["ed448"]',
            "gate.toml: admit.require",
            "ed448",
            "ed25519",
            id="unknown algorithm",
        ),
        pytest.param(
            "[admit]\nunknown = false",
            "gate.toml: admit.unknown",
            "no agent is known",
            "[[agent]]",
            id="nobody could pass",
        ),
        pytest.param(
            '[site]\nscheme = "ftp"',
            "gate.toml: site.scheme",
            "'ftp'",
            "one of https, http",
            id="scheme",
        ),
        pytest.param(
            '[site]\nhosts = ["a", "https://b"]',
            "gate.toml: site.hosts[1]",
            "no host",
            "",
            id="host",
        ),
        pytest.param(
            '[site]\nhosts = ["a:b"]', "gate.toml: site.hosts[0]", "no host", "8080", id="port"
        ),
        pytest.param(
            '[answers]\nreasons = "me"',
            "gate.toml: answers.reasons",
            "'me'",
            "nobody, site, everybody",
            id="reasons",
        ),
        pytest.param(
            '[replay]\nstore = "redis"', "gate.toml: replay.store", "'redis'", "sqlite", id="store"
        ),
        pytest.param(
            '[replay]\nstore = "sqlite"\npath = ""',
            "gate.toml: replay.path",
            "empty",
            "",
            id="path",
        ),
        pytest.param(
            "[replay]\nentries = 0", "gate.toml: replay.entries", ">= 1", "", id="entries"
        ),
        pytest.param(
            "[signatures]\nskew = -1", "gate.toml: signatures.skew", ">= 0", "", id="skew"
        ),
        pytest.param(
            "[signatures]\ntags = []", "gate.toml: signatures.tags", "empty", "", id="tags"
        ),
        pytest.param(
            '[signatures]\ncomponents = ["@status"]',
            "gate.toml: signatures.components[0]",
            "@status",
            "@path",
            id="component",
        ),
        pytest.param(
            '[signatures]\nalg = "ed25519"', "gate.toml: signatures.alg", "ed25519", "", id="alg"
        ),
        pytest.param(
            '[[agent]]\norigin = "bot.example"',
            "gate.toml: agent[0].origin",
            "no https origin",
            "https://bot.example",
            id="agent without scheme",
        ),
        pytest.param(
            '[[agent]]\norigin = "https://bot.example/keys"',
            "gate.toml: agent[0].origin",
            "no https origin",
            "",
            id="agent with a path",
        ),
        pytest.param(
            '[[agent]]\norigin = "https://bot.example:x"',
            "gate.toml: agent[0].origin",
            "no https origin",
            "",
            id="agent with a torn port",
        ),
        pytest.param(
            '[[agent]]\norigin = "https://a.example"\n[[agent]]\norigin = "https://A.example:443"',
            "gate.toml: agent[1].origin",
            "https://a.example stands twice",
            "",
            id="twice",
        ),
        pytest.param(
            '[[agent]]\norigin = "https://a.example"\nkey = []',
            "gate.toml: agent[0].key",
            "unknown",
            "'keys'",
            id="typo in an agent",
        ),
        *(
            pytest.param(
                f'[[agent]]\norigin = "https://a.example"\nkeys = ["{name}"]',
                "gate.toml: agent[0].keys",
                said,
                None,
                id=name,
            )
            for name, said in (
                ("none.json", "No such file"),
                ("page.html", "no JWK Set"),
                ("empty.json", "it is empty"),
                ("large.json", "65536 bytes"),
                (".", "no regular file"),
                ("/dev/zero", "no regular file"),
                ("a\\u0000b", "no file name"),
            )
        ),
        pytest.param(
            '[discovery]\nca = "none"', "gate.toml: discovery.ca", "none", "folder", id="no ca"
        ),
        pytest.param(
            '[discovery]\nca = "/dev/zero"',
            "gate.toml: discovery.ca",
            "no regular file",
            None,
            id="ca without end",
        ),
        pytest.param(
            '[discovery]\nca = "nothing"',
            "gate.toml: discovery.ca",
            "nothing",
            "PEM",
            id="empty ca",
        ),
        *(
            pytest.param(
                f"[site]\nhosts = [{host!a}]",
                "gate.toml: site.hosts[0]",
                said,
                hint,
                id=f"{host!a}",
            )
            for host, said, hint in (
                ("*.example", "no wildcards", "name each host"),
                ("*", "no wildcards", "name each host"),
                ("a ", "no host", "take the blanks out"),
                (" a.example", "no host", "take the blanks out"),
                ("a.example.", "no host", "shop.example"),
                ("a:0443", "no host", "shop.example"),
                ("a:99999", "no host", "shop.example"),
                ("", "no host", "shop.example"),
            )
        ),
        *(
            pytest.param(
                f"[signatures]\n{name} = {value}",
                f"gate.toml: signatures.{place}",
                "cannot stand in a signature",
                "printable ASCII",
                id=f"{name} = {value!a}",
            )
            for name, place, values in (
                ("tags", "tags[1]", ("""['a', 'b"c']""", r"['a', 'b\c']", r'["a", "b\r\nX: y"]')),
                ("tags", "tags[0]", ("['\xfc']", "['']")),
                ("alg", "alg", ("'\xfc'", """'a"b'""", r'"a\nb"')),
            )
            for value in values
        ),
        pytest.param(
            '[replay]\npath = "a\\u0000b"', "gate.toml: replay.path", "no file name", "", id="NUL"
        ),
        *(
            pytest.param(
                f'[[agent]]\norigin = "{origin}"',
                "gate.toml: agent[0].origin",
                "no https origin",
                "",
                id=f"agent {origin}",
            )
            for origin in ("https://a.", "https://a:0443", "https://a b", "https://\xe4.example")
        ),
        pytest.param(
            '[discovery]\nca = "page.html"',
            "gate.toml: discovery.ca",
            "page",
            "PEM",
            id="ca of HTML",
        ),
    ],
)
def test_a_mistake_is_said_with_its_place_and_what_to_try(
    tmp_path: Path, text: str, place: str, said: str, hint: str | None
) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, text)

    assert caught.value.place == place
    assert said in caught.value.problem
    assert hint is None or hint in str(caught.value.hint)


def test_without_a_file_it_is_said_what_writes_one(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        policy.load(tmp_path / "none.toml")

    assert "crawl gate --show policy" in str(caught.value.hint)
