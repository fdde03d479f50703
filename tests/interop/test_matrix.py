"""Each cell of matrix.json is what the package says, and README shows the same.

A cell stands for every profile of its form and for a target with and without a query.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from typing import Final

import arrangements
import matrix
import npm
import pytest
import receivers
import verifiers
from arrangements import Arrangement, Fields
from matrix import ACCEPTED, Verifier
from receivers import Receiver

from signing import algorithms, keys
from signing.profile import Name
from signing.signer import Keyring

MATRIX: Final = matrix.load()
PROFILES: Final = [profile for form in MATRIX.forms.values() for profile in form]
KNOWN: Final = [
    pytest.param(verifier, profile, id=f"{verifier.id}-{profile}")
    for verifier in MATRIX.verifiers
    for form in verifier.knows
    for profile in MATRIX.forms[form]
]
# Two signatures with sig1 in front, other than what we send by default.
OTHERS: Final = (Arrangement.PUBLISHED, Arrangement.UNTAGGED, Arrangement.TWO_LINES)

Said = Mapping[tuple[str, str, Arrangement], set[str]]
"""What a verifier said of each profile's requests in an arrangement."""


@pytest.fixture(scope="module")
def keyring() -> Keyring:
    return Keyring(keys.generate(algorithms.ED25519), keys.generate(algorithms.ML_DSA_44))


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Receiver]]:
    """The verifiers that are on this machine."""
    with nullcontext(None) if npm.missing() else npm.running() as node:
        yield receivers.receivers(node, tmp_path_factory.mktemp("botgate"))


@pytest.fixture(scope="module")
def said(asked: dict[str, Receiver], keyring: Keyring) -> Said:
    measured: dict[tuple[str, str, Arrangement], set[str]] = {}
    for profile in PROFILES:
        for arrangement in Arrangement:
            for target in arrangements.TARGETS:
                fields = arrangements.offered(keyring, Name(profile), arrangement, target)
                for name, ask in asked.items():
                    answer = ask(f"https://{arrangements.AUTHORITY}{target}", fields, keyring)
                    measured.setdefault((name, profile, arrangement), set()).add(answer)
    return measured


@pytest.fixture
def complete() -> None:
    """For what is said of all verifiers at once."""
    npm.needed()


def there(verifier: Verifier) -> None:
    if verifier.registry == "npm":
        npm.needed()


def accepting(said: Said, profile: str, arrangement: Arrangement) -> list[str]:
    return [one.id for one in MATRIX.verifiers if said[one.id, profile, arrangement] == {ACCEPTED}]


def test_every_verifier_profile_and_arrangement_has_a_cell() -> None:
    assert list(MATRIX.arrangements) == list(Arrangement)
    assert {*PROFILES, Name.PUBLISHED} == {*Name} - {Name.AUTO}
    for verifier in MATRIX.verifiers:
        assert verifier.cells.keys() == MATRIX.forms.keys()
        for cells in verifier.cells.values():
            assert list(cells) == list(Arrangement)


@pytest.mark.parametrize("arrangement", Arrangement)
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("verifier", MATRIX.verifiers, ids=lambda one: one.id)
def test_each_cell_is_what_the_package_says(
    said: Said, verifier: Verifier, profile: str, arrangement: Arrangement
) -> None:
    there(verifier)

    expected = MATRIX.expected(verifier, profile, arrangement)
    assert said[verifier.id, profile, arrangement] == {expected}


@pytest.mark.parametrize(("verifier", "profile"), KNOWN)
def test_sig1_alone_is_accepted_by_all_that_know_the_form(
    said: Said, verifier: Verifier, profile: str
) -> None:
    there(verifier)

    assert said[verifier.id, profile, Arrangement.ALONE] == {ACCEPTED}


@pytest.mark.usefixtures("complete")
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("profile", PROFILES)
def test_no_form_of_two_with_sig1_first_is_accepted_by_more_than_the_default(
    said: Said, profile: str, other: Arrangement
) -> None:
    default = accepting(said, profile, Arrangement.BOTH)

    assert len(default) >= len(accepting(said, profile, other)) > 0


@pytest.mark.usefixtures("complete")
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("profile", PROFILES)
def test_who_verifies_signatures_and_accepts_any_of_them_accepts_the_default(
    said: Said, profile: str, other: Arrangement
) -> None:
    judging = {one.id for one in MATRIX.verifiers if one.judges == "signatures"}
    accepted = judging & {*accepting(said, profile, other)}

    assert accepted <= {*accepting(said, profile, Arrangement.BOTH)}


@pytest.mark.parametrize(("verifier", "profile"), KNOWN)
def test_a_forged_sig1_is_refused_by_all_that_look_at_keys(
    asked: dict[str, Receiver], keyring: Keyring, verifier: Verifier, profile: str
) -> None:
    there(verifier)
    fields = arrangements.offered(keyring, Name(profile), Arrangement.ALONE, "/")

    answer = asked[verifier.id](f"https://{arrangements.AUTHORITY}/", forged(fields), keyring)

    assert (answer != ACCEPTED) is (verifier.judges == "signatures")


def forged(fields: Fields) -> Fields:
    """The same with one bit of the signature changed."""
    signature = bytearray(verifiers.signature(fields, "sig1"))
    signature[0] ^= 1
    value = f"sig1=:{b64encode(bytes(signature)).decode()}:"
    return [(name, value if name == "Signature" else other) for name, other in fields]


@pytest.mark.parametrize(
    ("package", "stated"),
    sorted({(one.package, one.version) for one in MATRIX.verifiers if one.registry == "PyPI"}),
)
def test_each_version_from_pypi_is_the_one_that_was_asked(package: str, stated: str) -> None:
    assert version(package) == stated


def test_each_version_from_npm_is_the_one_that_was_asked() -> None:
    npm.needed()
    stated = {one.package: one.version for one in MATRIX.verifiers if one.registry == "npm"}
    wanted = json.loads((npm.HERE / "package.json").read_text())["dependencies"]
    installed = {
        name: json.loads((npm.folder() / "node_modules" / name / "package.json").read_text())
        for name in stated
    }

    assert stated == wanted == {name: one["version"] for name, one in installed.items()}


def test_the_lock_names_every_package_by_its_digest_and_no_host() -> None:
    text = (npm.HERE / "package-lock.json").read_text()
    packages = {name: one for name, one in json.loads(text)["packages"].items() if name}

    assert "://" not in text
    assert packages
    for one in packages.values():
        algorithm, _, digest = one["integrity"].partition("-")
        assert (algorithm, len(b64decode(digest, validate=True))) == ("sha512", 64)


def test_readme_shows_the_table() -> None:
    path = Path(__file__).parents[2] / "README.md"
    readme = path.read_text(encoding="utf-8")

    assert readme == matrix.refreshed(readme, MATRIX), "run: python tests/interop/matrix.py"


def test_a_readme_without_the_markers_is_an_error() -> None:
    with pytest.raises(ValueError, match="verifiers"):
        matrix.refreshed("# callingcard\n", MATRIX)
