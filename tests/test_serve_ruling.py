"""What a site does with what the verifier says."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from crawler.serve import policy, ruling
from crawler.serve.policy import Admit, Policy, Told
from crawler.serve.ruling import Refusal, Ruling
from signing.directory import WELL_KNOWN
from signing.verifier import Judgement, Outcome, Reason, Verification

BOT, OTHER = "https://bot.example", "https://other.example"
BOTH = ("ed25519", "ml-dsa-44")
USUAL = policy.default()


def admitting(known: frozenset[str] = frozenset(), **admit: object) -> Policy:
    return replace(USUAL, admit=replace(Admit(), **admit), known=known)


def good(label: str, algorithm: str, agent: str = BOT) -> Judgement:
    return Judgement(label=label, agent=agent, algorithm=algorithm, keyid="k")


def bad(label: str, reason: Reason, agent: str | None = BOT) -> Judgement:
    return Judgement(label=label, agent=agent, reason=reason)


def found(*labels: Judgement, reason: Reason | None = None) -> Verification:
    outcomes = {one.outcome for one in labels}
    return Verification(
        outcome=next(one for one in (*Outcome, None) if one in outcomes or one is None)
        or Outcome.UNVERIFIED,
        labels=labels,
        reason=reason,
    )


SIG1, SIG2 = (
    good("sig1", "ed25519"),
    good("sig2", "ml-dsa-44", f"{BOT}/.well-known/bot-pq-jwks.json"),
)
FORGED = bad("sig2", Reason.BAD_SIGNATURE)
AWAY = bad("sig1", Reason.DIRECTORY_UNAVAILABLE)
UNSIGNED = found(reason=Reason.NO_SIGNATURE)


@pytest.mark.parametrize(
    ("verification", "required", "outcome", "agent", "reason"),
    [
        pytest.param(found(SIG1), (), "verified", BOT, None, id="one"),
        pytest.param(found(SIG1, SIG2), (), "verified", BOT, None, id="both"),
        pytest.param(found(SIG1, SIG2), BOTH, "verified", BOT, None, id="both required"),
        pytest.param(found(SIG1, FORGED), (), "verified", BOT, None, id="one and a bad one"),
        pytest.param(
            found(SIG1, FORGED), BOTH, "invalid", None, "bad-signature", id="the second is forged"
        ),
        pytest.param(
            found(SIG1), BOTH, "unverified", None, "signature-missing", id="the second is missing"
        ),
        pytest.param(
            found(SIG2), ("ed25519",), "unverified", None, "signature-missing", id="only the second"
        ),
        pytest.param(
            found(good("sig1", "ed25519"), good("sig2", "ed25519")),
            BOTH,
            "unverified",
            None,
            "signature-missing",
            id="twice the same algorithm",
        ),
        pytest.param(
            found(SIG1, good("sig2", "ml-dsa-44", OTHER)),
            BOTH,
            "unverified",
            None,
            "signature-missing",
            id="of two strangers",
        ),
        pytest.param(
            found(good("x", "ed25519", OTHER), SIG1, SIG2),
            BOTH,
            "verified",
            BOT,
            None,
            id="of one agent behind another's",
        ),
        pytest.param(
            found(AWAY), (), "unverified", None, "directory-unavailable", id="keys are away"
        ),
        pytest.param(
            found(AWAY, FORGED),
            (),
            "invalid",
            None,
            "bad-signature",
            id="what is wrong comes first",
        ),
        pytest.param(UNSIGNED, (), "unverified", None, "no-signature", id="unsigned"),
    ],
)
def test_the_agent_is_who_signed_by_all_that_is_required(
    verification: Verification,
    required: tuple[str, ...],
    outcome: str,
    agent: str | None,
    reason: str | None,
) -> None:
    decided = ruling.decide(verification, admitting(require=required))

    assert (decided.outcome, decided.agent, decided.reason) == (outcome, agent, reason)


@pytest.mark.parametrize(
    ("verification", "admit", "status"),
    [
        pytest.param(UNSIGNED, {}, 200, id="unsigned"),
        pytest.param(UNSIGNED, {"unsigned": False}, 403, id="unsigned refused"),
        pytest.param(found(AWAY), {}, 200, id="unverified"),
        pytest.param(found(AWAY), {"unsigned": False}, 403, id="unverified refused"),
        pytest.param(found(SIG1), {"require": BOTH}, 200, id="missing"),
        pytest.param(found(SIG1), {"require": BOTH, "unsigned": False}, 403, id="missing refused"),
        pytest.param(found(FORGED), {}, 403, id="invalid"),
        pytest.param(found(FORGED), {"invalid": True}, 200, id="invalid admitted"),
        pytest.param(found(bad("sig1", Reason.REPLAYED)), {}, 429, id="replayed"),
        *(
            pytest.param(found(reason=one), {}, 400, id=one)
            for one in (
                Reason.SIGNATURE_INPUT_UNREADABLE,
                Reason.SIGNATURE_VALUE_UNREADABLE,
                Reason.DUPLICATE_LABEL,
                Reason.LABEL_MISMATCH,
            )
        ),
        pytest.param(
            found(bad("sig1", Reason.SIGNATURE_AGENT_UNPARSABLE)), {}, 400, id="no such agent"
        ),
        pytest.param(found(SIG1), {"unsigned": False}, 200, id="verified"),
    ],
)
def test_the_policy_says_who_may_pass(
    verification: Verification, admit: dict[str, object], status: int
) -> None:
    assert ruling.decide(verification, admitting(**admit)).status == status  # type: ignore[arg-type]


def test_an_unknown_agent_is_verified_and_may_still_be_refused() -> None:
    listed = admitting(frozenset({OTHER}), unknown=False)

    decided = ruling.decide(found(SIG1), listed)

    assert (decided.outcome, decided.agent, decided.status) == (Outcome.VERIFIED, BOT, 403)
    assert decided.reason is Refusal.UNKNOWN_AGENT
    assert ruling.wanted(decided, listed) is None


def test_a_known_agent_comes_before_a_stranger_on_the_same_request() -> None:
    listed = admitting(frozenset({OTHER}), unknown=False)

    decided = ruling.decide(found(SIG1, good("x", "ed25519", f"{OTHER}{WELL_KNOWN}")), listed)

    assert (decided.agent, decided.status) == (OTHER, 200)


def test_a_file_on_a_known_origin_is_an_agent_of_its_own() -> None:
    file = f"{OTHER}/uploads/a,b;c'd.json"
    listed = admitting(frozenset({OTHER}), unknown=False)

    decided = ruling.decide(found(good("sig1", "ed25519", file)), listed)
    mixed = ruling.decide(
        found(good("sig1", "ed25519", OTHER), good("sig2", "ml-dsa-44", file)),
        admitting(require=BOTH),
    )

    assert (decided.agent, decided.status) == (file, 403)
    assert mixed.reason is Refusal.SIGNATURE_MISSING
    assert ruling.site_fields(decided, Told.SITE)["X-Bot-Agent"] == (
        f"{OTHER}/uploads/a%2Cb%3Bc%27d.json"
    )


DUAL = ruling.decide(found(SIG1, SIG2), USUAL)
REFUSED = ruling.decide(found(FORGED), USUAL)


@pytest.mark.parametrize(
    ("decided", "told", "fields"),
    [
        pytest.param(
            DUAL,
            Told.SITE,
            {
                "X-Bot-Outcome": "verified",
                "X-Bot-Status": "200",
                "X-Bot-Agent": BOT,
                "X-Bot-Algorithms": "ed25519, ml-dsa-44",
                "X-Bot-Labels": "sig1=verified;alg=ed25519, sig2=verified;alg=ml-dsa-44",
            },
            id="verified",
        ),
        pytest.param(
            REFUSED,
            Told.SITE,
            {
                "X-Bot-Outcome": "invalid",
                "X-Bot-Status": "403",
                "X-Bot-Reason": "bad-signature",
                "X-Bot-Labels": "sig2=invalid;reason=bad-signature",
            },
            id="refused",
        ),
        pytest.param(
            REFUSED,
            Told.NOBODY,
            {"X-Bot-Outcome": "invalid", "X-Bot-Status": "403", "X-Bot-Labels": "sig2=invalid"},
            id="refused without a word",
        ),
        pytest.param(
            REFUSED,
            Told.EVERYBODY,
            {
                "X-Bot-Outcome": "invalid",
                "X-Bot-Status": "403",
                "X-Bot-Reason": "bad-signature",
                "X-Bot-Labels": "sig2=invalid;reason=bad-signature",
                "X-Bot-Told": "bad-signature",
            },
            id="refused, and everybody knows why",
        ),
        pytest.param(
            ruling.decide(UNSIGNED, USUAL),
            Told.EVERYBODY,
            {
                "X-Bot-Outcome": "unverified",
                "X-Bot-Status": "200",
                "X-Bot-Reason": "no-signature",
            },
            id="unsigned",
        ),
    ],
)
def test_the_site_is_told_by_fields(decided: Ruling, told: Told, fields: dict[str, str]) -> None:
    assert ruling.site_fields(decided, told) == fields
    assert set(fields) <= set(ruling.FIELDS)


@pytest.mark.parametrize(
    ("admit", "tags", "members"),
    [
        pytest.param(
            {},
            ("web-bot-auth",),
            [
                'sig1=("@authority" "signature-agent";key="sig1");created;expires;keyid'
                ';tag="web-bot-auth"'
            ],
            id="any",
        ),
        pytest.param(
            {"require": BOTH},
            ("web-bot-auth", "web-bot-auth-pq"),
            [
                'sig1=("@authority" "signature-agent";key="sig1");created;expires;keyid'
                ';alg="ed25519";tag="web-bot-auth"',
                'sig2=("@authority" "signature-agent";key="sig2");created;expires;keyid'
                ';alg="ml-dsa-44";tag="web-bot-auth-pq"',
            ],
            id="both",
        ),
        pytest.param(
            {"require": ("ml-dsa-44",)},
            ("agent",),
            [
                'sig1=("@authority" "signature-agent";key="sig1");created;expires;keyid'
                ';alg="ml-dsa-44";tag="agent"'
            ],
            id="a tag of its own",
        ),
    ],
)
def test_what_is_wanted_is_said_where_it_would_help(
    admit: dict[str, object], tags: tuple[str, ...], members: list[str], tmp_path: Path
) -> None:
    stated = ", ".join(f'"{tag}"' for tag in tags)
    (tmp_path / "gate.toml").write_text(f"[signatures]\ntags = [{stated}]\n")
    site = replace(
        policy.load(tmp_path / "gate.toml"),
        admit=replace(Admit(), unsigned=False, **admit),
    )

    assert ruling.wanted(ruling.decide(UNSIGNED, site), site) == ", ".join(members)
    assert ruling.wanted(ruling.decide(found(reason=Reason.LABEL_MISMATCH), site), site) is None
