"""A directory's response shows which keys its server holds, and for which host."""

from collections.abc import Iterable

import pytest

from signing import directory, fields, possession
from signing.algorithms import ED25519, ML_DSA_44
from signing.base import SignatureParams, signature_base
from signing.digest import content_digest
from signing.errors import FieldUnreadable
from signing.judgement import Outcome, Reason
from signing.keys import PrivateKey, expanded
from signing.message import Component, Message

NOW = 1_800_000_000
KEY, OTHER = PrivateKey(ED25519, bytes(range(32))), PrivateKey(ED25519, bytes(range(1, 33)))
PQ = PrivateKey(ML_DSA_44, bytes(range(2, 34)))
BODY = directory.key_set([KEY.public_key, OTHER.public_key])
AUTHORITY = Component("@authority", (("req", True),))
DIGEST = Component("content-digest")
PARAMS: dict[str, str | int] = {
    "created": NOW - 3,
    "expires": NOW + 3600,
    "keyid": KEY.keyid,
    "tag": directory.TAG,
}


def response(sent: Iterable[tuple[str, str]], *, host: str = "bot.example") -> Message:
    request = Message(method="GET", scheme="https", authority=host, target=directory.WELL_KNOWN)
    return Message(status=200, fields=tuple(sent), request=request)


def signed(
    covered: tuple[Component, ...] = (AUTHORITY, DIGEST),
    digest: str = content_digest(BODY),
    **params: str | int | None,
) -> Message:
    """A response by KEY, with these parameters in place of the usual ones."""
    stated = {name: value for name, value in {**PARAMS, **params}.items() if value is not None}
    said = SignatureParams(covered, tuple(stated.items()))
    base = signature_base(response([("Content-Digest", digest)]), said)
    value = fields.serialize_dictionary({"a": fields.Item(expanded(ED25519, KEY.secret)(base))})
    return response(
        [
            ("Content-Digest", digest),
            ("Signature-Input", f"a={said.serialize()}"),
            ("Signature", value),
        ]
    )


def published(*keys: PrivateKey) -> tuple[tuple[str, str], ...]:
    return directory.signed_fields(
        BODY, keys or (KEY, OTHER), authority="bot.example", created=NOW - 3, expires=NOW + 3600
    )


def reason(message: Message, content: bytes = BODY, now: float = NOW) -> Reason | None:
    keys = (KEY.public_key, OTHER.public_key, PQ.public_key)
    (found,) = possession.judge(message, content, keys, now=now)
    return found.reason


def test_what_we_publish_shows_each_key() -> None:
    keys = (KEY.public_key, OTHER.public_key)

    found = possession.judge(response(published()), BODY, keys, now=NOW)

    assert [(one.label, one.keyid, one.outcome) for one in found] == [
        ("sig1", KEY.keyid, Outcome.VERIFIED),
        ("sig2", OTHER.keyid, Outcome.VERIFIED),
    ]
    assert {one.covered for one in found} == {('"@authority";req', '"content-digest"')}


def test_a_copy_at_another_host_shows_nothing() -> None:
    message = response(published(KEY), host="thief.example")

    assert reason(message) is Reason.BAD_SIGNATURE


def test_other_keys_in_the_body_are_not_covered_by_its_digest() -> None:
    assert reason(response(published(KEY)), b'{"keys":[]}') is Reason.CONTENT_DIGEST_MISMATCH


def test_a_digest_that_cannot_be_read_agrees_with_nothing() -> None:
    message = signed(digest="sha-256=token")

    assert reason(message) is Reason.CONTENT_DIGEST_MISMATCH


def test_signatures_for_other_ends_are_passed_over() -> None:
    assert possession.judge(signed(tag="web-bot-auth"), BODY, (KEY.public_key,), now=NOW) == ()
    assert possession.judge(response([]), BODY, (KEY.public_key,), now=NOW) == ()


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param(signed(), None, id="as it should be"),
        pytest.param(signed(alg="ed25519"), None, id="with its algorithm"),
        pytest.param(signed((AUTHORITY,)), None, id="without a digest"),
        pytest.param(signed(created=NOW + 6), Reason.CLOCK_AHEAD, id="from the future"),
        pytest.param(signed(expires=NOW), Reason.EXPIRED, id="over"),
        pytest.param(
            signed(created=NOW + 5, expires=NOW + 5), Reason.EXPIRED, id="over as it begins"
        ),
        pytest.param(signed(expires=NOW + 31_536_000), None, id="good for a year"),
        pytest.param(signed(created=None), Reason.MISSING_FIELDS, id="no created"),
        pytest.param(signed(expires=None), Reason.MISSING_FIELDS, id="no expires"),
        pytest.param(signed(keyid=None), Reason.MISSING_FIELDS, id="no keyid"),
        pytest.param(
            signed(created="now"), Reason.SIGNATURE_INPUT_UNREADABLE, id="created is no number"
        ),
        pytest.param(signed(keyid="unknown"), Reason.UNKNOWN_KEY, id="a key that is not there"),
        pytest.param(signed(keyid=OTHER.keyid), Reason.BAD_SIGNATURE, id="another's name"),
        pytest.param(signed(alg="ml-dsa-44"), Reason.ALGORITHM_MISMATCH, id="another algorithm"),
        pytest.param(signed((DIGEST,)), Reason.TARGET_NOT_COVERED, id="no host"),
        pytest.param(signed(()), Reason.TARGET_NOT_COVERED, id="nothing covered"),
    ],
)
def test_each_rule_is_judged(message: Message, expected: Reason | None) -> None:
    assert reason(message) is expected


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        pytest.param(
            {"Signature-Input": f'sig1=("date");tag="{directory.TAG}"'},
            Reason.MISSING_COMPONENT,
            id="a field that is not there",
        ),
        pytest.param(
            {"Signature-Input": f'sig1;tag="{directory.TAG}"'},
            Reason.SIGNATURE_INPUT_UNREADABLE,
            id="no list of components",
        ),
        pytest.param({"Signature": "sig1=token"}, Reason.SIGNATURE_VALUE_UNREADABLE, id="no bytes"),
    ],
)
def test_what_cannot_be_read_is_a_reason(sent: dict[str, str], expected: Reason) -> None:
    assert reason(response((dict(published(KEY)) | sent).items())) is expected


def test_labels_that_do_not_pair_up_are_unreadable() -> None:
    sent = dict(published(KEY)) | {"Signature": "sig9=:AA==:"}

    with pytest.raises(FieldUnreadable):
        possession.judge(response(sent.items()), BODY, (KEY.public_key,), now=NOW)
