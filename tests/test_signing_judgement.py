"""The reasons are a closed list, and each has its outcome for good."""

import pytest

from signing.algorithms import ED25519, ML_DSA_44, ML_DSA_65
from signing.errors import AlgorithmUnsupported
from signing.judgement import Judgement, Outcome, Policy, Reason
from signing.keys import (
    PUBLISHED_TEST_KEYS,
    PrivateKey,
    PublicKey,
    is_published_test_key,
)

FIRST = PrivateKey(ED25519, bytes(32)).public_key
LARGER = PrivateKey(ML_DSA_65, bytes(32)).public_key
SECOND = PrivateKey(ML_DSA_44, bytes(32)).public_key

CLOSED_LIST = """
    target-not-covered missing-fields expired clock-ahead window-too-long bad-signature
    content-digest-mismatch missing-component duplicate-component signature-input-unreadable
    signature-value-unreadable duplicate-label label-mismatch signature-agent-absent
    signature-agent-ambiguous-member signature-agent-member-missing signature-agent-not-https
    signature-agent-unparsable unsupported-algorithm algorithm-mismatch unknown-key
    directory-unavailable directory-malformed replayed no-signature
"""


def test_the_reasons_are_a_closed_list() -> None:
    assert [reason.value for reason in Reason] == CLOSED_LIST.split()


def test_what_could_not_be_decided_is_unverified_and_all_else_invalid() -> None:
    undecided = {reason.value for reason in Reason if reason.outcome is Outcome.UNVERIFIED}

    assert undecided == {
        "no-signature",
        "signature-agent-absent",
        "unsupported-algorithm",
        "unknown-key",
        "directory-unavailable",
        "directory-malformed",
    }
    assert not any(reason.outcome is Outcome.VERIFIED for reason in Reason)


def test_a_judgement_without_a_reason_is_verified() -> None:
    assert Judgement(label="sig1").outcome is Outcome.VERIFIED
    assert Judgement(label="sig1", reason=Reason.EXPIRED).outcome is Outcome.INVALID


AGREEMENTS = [
    pytest.param("ml-dsa-44", None, SECOND, True, id="no alg goes with any key"),
    pytest.param("ml-dsa-44", "ml-dsa-44", SECOND, True, id="its own name"),
    pytest.param("mldsa", "mldsa", SECOND, True, id="the configured token"),
    pytest.param("mldsa", "ml-dsa-44", SECOND, True, id="its own name beside the token"),
    pytest.param("ml-dsa-44", "mldsa", SECOND, False, id="a token that nobody configured"),
    pytest.param("ml-dsa-44", "ed25519", SECOND, False, id="the other key's name"),
    pytest.param("ml-dsa-44", "ed25519", FIRST, True, id="Ed25519 by its name"),
    pytest.param("mldsa", "mldsa", FIRST, False, id="the token is not for Ed25519"),
    pytest.param("ml-dsa-44", "ml-dsa-44", FIRST, False, id="Ed25519 by the other's name"),
    pytest.param("", "", SECOND, False, id="an empty alg is no token"),
    pytest.param("", "ml-dsa-44", SECOND, True, id="its own name without a token"),
    pytest.param("mldsa", "mldsa", LARGER, False, id="the token is for the policy's algorithm"),
    pytest.param("ml-dsa-44", "ml-dsa-44", LARGER, False, id="ML-DSA-65 by the name of -44"),
    pytest.param("", "ml-dsa-44", LARGER, False, id="ML-DSA-65 by a name that is no token"),
    pytest.param("", "ml-dsa-65", SECOND, False, id="ML-DSA-44 by the name of -65"),
]


@pytest.mark.parametrize(("token", "alg", "key", "agrees"), AGREEMENTS)
def test_an_alg_parameter_has_to_agree_with_the_key(
    token: str, alg: str | None, key: PublicKey, agrees: bool
) -> None:
    policy = Policy(second_alg=token)

    assert policy.agrees(alg, key) is agrees


def test_a_policy_knows_its_algorithms_and_its_token_and_nothing_else() -> None:
    policy = Policy(second_alg="mldsa")

    assert all(policy.knows(alg) for alg in ("ed25519", "ml-dsa-44", "mldsa"))
    assert not any(policy.knows(alg) for alg in ("", "ML-DSA-44", "hmac-sha256", "ml-dsa-65"))
    assert not Policy(second_alg="").knows("")


def test_a_policy_is_valid_from_birth() -> None:
    for name in ("skew", "max_window", "max_labels", "max_covered"):
        with pytest.raises(ValueError, match="cannot be negative"):
            Policy(**{name: -1})  # type: ignore[arg-type]
    with pytest.raises(AlgorithmUnsupported, match="hmac-sha256"):
        Policy(algorithms=frozenset({"hmac-sha256"}))


DEFAULT = Policy().algorithms
BOTH_SIZES = frozenset({"ed25519", "ml-dsa-44", "ml-dsa-65"})


def test_an_ml_dsa_key_is_not_known_by_the_name_of_another_size() -> None:
    for policy in (
        Policy(algorithms=BOTH_SIZES),
        Policy(algorithms=BOTH_SIZES, second_alg="ml-dsa-44"),
    ):
        assert policy.agrees("ml-dsa-44", SECOND)
        assert policy.agrees("ml-dsa-65", LARGER)
        assert not policy.agrees("ml-dsa-44", LARGER)
        assert not policy.agrees("ml-dsa-65", SECOND)


@pytest.mark.parametrize(
    ("token", "accepted", "match"),
    [
        pytest.param("ed25519", DEFAULT, "no ML-DSA of this policy", id="classical"),
        pytest.param("ml-dsa-65", DEFAULT, "no ML-DSA of this policy", id="another size"),
        pytest.param("ed25519", {"ed25519"}, "no ML-DSA of this policy", id="without ML-DSA"),
        pytest.param("mldsa", {"ed25519"}, "the policy has 0", id="a token for nothing"),
        pytest.param("mldsa", BOTH_SIZES, "the policy has 2", id="a token for two"),
    ],
)
def test_a_token_stands_for_the_policys_second_algorithm_only(
    token: str, accepted: frozenset[str], match: str
) -> None:
    with pytest.raises(ValueError, match=match):
        Policy(second_alg=token, algorithms=frozenset(accepted))


def test_a_token_may_stand_for_a_larger_algorithm_that_the_policy_names() -> None:
    policy = Policy(second_alg="mldsa", algorithms=frozenset({"ed25519", "ml-dsa-65"}))

    assert policy.knows("mldsa")
    assert policy.agrees("mldsa", LARGER)
    assert not policy.agrees("mldsa", SECOND)


def test_every_key_whose_secret_is_published_is_refused_unless_told_otherwise() -> None:
    assert Policy().refused_keyids == PUBLISHED_TEST_KEYS
    assert all(map(is_published_test_key, Policy().refused_keyids))
    assert len(PUBLISHED_TEST_KEYS) == 12
