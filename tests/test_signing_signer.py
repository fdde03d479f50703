"""The signer's short way equals the generic one, and refuses what cannot be sent."""

import binascii
from base64 import b64encode, urlsafe_b64encode
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from signing import budget, coverable
from signing import fields as sf
from signing.algorithms import ECDSA_P256, ED25519, ML_DSA_44, ML_DSA_65
from signing.base import read_params, signature_base
from signing.errors import AlgorithmUnsupported, ComponentUnavailable
from signing.keys import PrivateKey
from signing.message import Message
from signing.profile import Labels, Name, NonceForm, Profile, Second, Wish
from signing.signer import FIELDS, Keyring, SignedRequest, cost, sign

FIRST = PrivateKey(ED25519, bytes(range(32)))
SECOND = PrivateKey(ML_DSA_44, bytes(range(32)))
KEYRING = Keyring(FIRST, SECOND)
CREATED = 1_800_000_000
NONCE = bytes(64)
REQUEST = Message(method="GET", scheme="https", authority="shop.example", target="/a?b=1")
PROFILES = [
    Profile(name=name, home="https://bot.example") for name in Name if name is not Name.AUTO
]
BRIDGE = PROFILES[0]
by_name = pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)


def assert_generic_base_is_signed(message: Message, signed: SignedRequest) -> None:
    """Rebuild each base by the generic way and compare: Ed25519 gives one signature a base."""
    fields = dict(signed.fields)
    whole = replace(message, fields=(*message.fields, *signed.fields))
    inputs = sf.parse_dictionary(fields["Signature-Input"])
    values = sf.parse_dictionary(fields["Signature"])
    texts = sf.own_texts(fields["Signature"], values)

    assert sf.serialize_dictionary(inputs) == fields["Signature-Input"]
    assert sf.serialize_dictionary(values) == fields["Signature"]
    assert tuple(inputs) == tuple(values) == signed.labels
    for label, member in inputs.items():
        base = signature_base(whole, read_params(member))
        value = sf.byte_sequence(values[label], texts[label])
        if label == signed.labels[0]:
            assert value == ED25519.expand(FIRST.secret)(base)
        else:
            assert ML_DSA_44.verify(SECOND.public, base, value)


def chars(*ranges: tuple[int, int], but: str = "") -> st.SearchStrategy[str]:
    alphabet = [chr(code) for first, last in ranges for code in range(first, last + 1)]
    return st.sampled_from([char for char in alphabet if char not in but])


_METHODS = st.text(chars((0x21, 0x7E), but='"(),/:;<=>?@[\\]{}'), min_size=1, max_size=20)
_HOSTS = st.text(chars((0x21, 0x7E), but='"#/<>?@[\\]^`{|}:'), min_size=1, max_size=60)
_AUTHORITIES = st.one_of(
    _HOSTS,
    st.builds(lambda host, port: f"{host}:{port}", _HOSTS, st.integers(0, 65535)),
    st.builds(lambda address: f"[{address}]", st.ip_addresses(v=6)),
    st.builds(lambda address: f"[{address}]:443", st.ip_addresses(v=6)),
)
_PATHS = st.text(chars((0x21, 0x7E), but="#?"), max_size=200).map(lambda rest: f"/{rest}")
_QUERIES = st.none() | st.text(chars((0x21, 0x7E), but="#"), max_size=200)
_SECONDS = st.builds(
    Second,
    label=st.from_regex(r"[a-z*][a-z0-9_.*-]{0,20}", fullmatch=True).filter(
        lambda label: label != "sig1"
    ),
    tag=st.text(chars((0x20, 0x7E)), max_size=30),
    alg=st.text(chars((0x20, 0x7E)), max_size=30).filter(lambda alg: not alg.startswith("ml-dsa")),
)


@settings(deadline=None)  # ML-DSA signs in a loop that ends when it ends
@given(
    method=_METHODS,
    scheme=st.sampled_from(["http", "https", "HTTPS"]),
    authority=_AUTHORITIES,
    path=_PATHS,
    query=_QUERIES,
    name=st.sampled_from([profile.name for profile in PROFILES]),
    second=_SECONDS,
    form=st.sampled_from(NonceForm),
    nonce=st.binary(min_size=64, max_size=64),
    created=st.integers(10**9, 10**10 - 1 - 86_400),
    labels=st.sampled_from(Labels),
)
def test_the_fast_template_equals_the_generic_way(
    *,
    method: str,
    scheme: str,
    authority: str,
    path: str,
    query: str | None,
    name: Name,
    second: Second,
    form: NonceForm,
    nonce: bytes,
    created: int,
    labels: Labels,
) -> None:
    assume(second.alg not in {"ed25519", "ecdsa-p256-sha256"})
    target = path if query is None else f"{path}?{query}"
    message = Message(method=method, scheme=scheme, authority=authority, target=target)
    profile = Profile(name=name, home="https://bot.example", second=second, nonce_form=form)

    signed = sign(message, KEYRING, profile, created, nonce, labels)

    assert signed.labels == (("sig1",) if labels is Labels.FIRST else ("sig1", second.label))
    assert_generic_base_is_signed(message, signed)
    expected = cost(KEYRING, profile)
    assert signed.size == (expected.first if labels is Labels.FIRST else sum(expected))


_NAMES = st.permutations([*coverable.DERIVED, "user-agent", "x-empty"]).flatmap(
    lambda names: st.integers(0, len(names)).map(
        lambda count: [name for name in names[:count] if name != "@authority"]
    )
)
_CHOICES = st.builds(
    lambda names, at: [*names[:at], "@authority", *names[at:]], _NAMES, st.integers(0, 9)
)


@settings(deadline=None)
@given(
    name=st.sampled_from([profile.name for profile in PROFILES]),
    names=_CHOICES,
    nonce=st.none() | st.text(chars((0x20, 0x7E)), min_size=1, max_size=40),
    label=st.from_regex(r"[a-z*][a-z0-9_.*-]{0,8}", fullmatch=True).filter(lambda x: x != "sig2"),
    wished=st.booleans(),
)
def test_what_was_chosen_or_asked_for_equals_the_generic_way_too(
    name: Name, names: list[str], nonce: str | None, label: str, wished: bool
) -> None:
    assume(name is not Name.PUBLISHED and (wished or name is not Name.LEGACY))
    covered = coverable.components(names, ("user-agent", "x-empty"))
    fields = (("User-Agent", "ExampleBot/1.0 "), ("X-Empty", ""))
    message = replace(REQUEST, fields=fields)
    wish = Wish(label=label, covered=covered, nonce=nonce, keyid=FIRST.keyid)
    profile = Profile(
        name=name,
        home="https://bot.example",
        covered=None if wished else covered,
        wish=wish if wished else None,
    )

    signed = sign(message, KEYRING, profile, CREATED, NONCE)

    first = read_params(
        sf.parse_dictionary(dict(signed.fields)["Signature-Input"])[signed.labels[0]]
    )
    assert first.covered[:-1] == covered
    assert signed.labels == (label if wished else "sig1", "sig2")
    assert_generic_base_is_signed(message, signed)
    assert signed.size == sum(cost(KEYRING, profile))


@given(
    method=st.just("GET") | st.text(max_size=8),
    authority=st.just("shop.example") | st.text(max_size=20),
    target=st.text(max_size=20) | st.text(max_size=20).map(lambda rest: f"/{rest}"),
    name=st.sampled_from([profile.name for profile in PROFILES]),
)
def test_arbitrary_text_is_signed_rightly_or_not_at_all(
    method: str, authority: str, target: str, name: Name
) -> None:
    try:
        message = Message(method=method, scheme="https", authority=authority, target=target)
        profile = Profile(name=name, home="https://bot.example")
        signed = sign(message, KEYRING, profile, CREATED, NONCE, Labels.FIRST)
    except ComponentUnavailable:
        return

    assert f"{method}{authority}{target}".isascii()
    assert f"{method}{authority}{target}".isprintable()
    assert_generic_base_is_signed(message, signed)


UNSENDABLE = [
    pytest.param("GET", "shop.example", "/é", '"@path"', id="non-ASCII path"),
    pytest.param("GET", "shop.example", "/a?ü", '"@path"', id="non-ASCII query"),
    pytest.param("GET", "bücher.example", "/", '"@authority"', id="non-ASCII authority"),
    pytest.param("GET", "shop.example", "/a\nb", '"@path"', id="line feed in the target"),
    pytest.param("GET", "shop.example", "/a\r\nX: y", '"@path"', id="a field in the target"),
    pytest.param("GET", "shop.example", "/a b", '"@path"', id="space in the target"),
    pytest.param("GET", "shop.example", "/a\x00", '"@path"', id="NUL in the target"),
    pytest.param("GET", "shop.example", "/a\x7f", '"@path"', id="DEL in the target"),
    pytest.param("GET", "shop.example", "/a#b", '"@path"', id="fragment"),
    pytest.param("GET", "shop.example", "", '"@path"', id="empty target"),
    pytest.param("GET", "shop.example", "a", '"@path"', id="relative target"),
    pytest.param("GET", "shop.example", "*", '"@path"', id="asterisk form"),
    pytest.param("GET", "shop.example", "https://shop.example/", '"@path"', id="absolute form"),
    pytest.param("GET", "shop.example\n", "/", '"@authority"', id="line feed in the authority"),
    pytest.param("GET", "shop.example/", "/", '"@authority"', id="path in the authority"),
    pytest.param("GET", "shop example", "/", '"@authority"', id="space in the authority"),
    pytest.param("GET\n", "shop.example", "/", '"@method"', id="line feed in the method"),
    pytest.param("GET /", "shop.example", "/", '"@method"', id="space in the method"),
    pytest.param("GÉT", "shop.example", "/", '"@method"', id="non-ASCII method"),
]


@by_name
@pytest.mark.parametrize(("method", "authority", "target", "component"), UNSENDABLE)
def test_what_cannot_be_sent_is_not_signed(
    profile: Profile, method: str, authority: str, target: str, component: str
) -> None:
    message = Message(method=method, scheme="https", authority=authority, target=target)

    with pytest.raises(ComponentUnavailable) as caught:
        sign(message, KEYRING, profile, CREATED, NONCE)

    assert caught.value.component == component


@pytest.mark.parametrize("name", ["Signature", "signature-input", "SIGNATURE-AGENT"])
def test_a_request_that_is_signed_already_is_refused(name: str) -> None:
    message = replace(REQUEST, fields=(("Host", "shop.example"), (name, "sig1=:AA==:")))

    with pytest.raises(ComponentUnavailable, match="sign each attempt from scratch"):
        sign(message, KEYRING, BRIDGE, CREATED, NONCE)


def test_a_response_is_refused() -> None:
    with pytest.raises(ComponentUnavailable, match="only requests"):
        sign(Message(status=200, request=REQUEST), KEYRING, BRIDGE, CREATED, NONCE)


def test_the_three_fields_come_as_one_line_each_with_sig1_in_front() -> None:
    signed = sign(REQUEST, KEYRING, BRIDGE, CREATED, NONCE)

    assert tuple(name for name, _ in signed.fields) == FIELDS
    assert all(value.startswith("sig1=") for _, value in signed.fields)
    assert signed.labels == ("sig1", "sig2")


@by_name
def test_costs_are_those_of_the_real_fields(profile: Profile) -> None:
    both = sign(REQUEST, KEYRING, profile, CREATED, NONCE)
    first = sign(REQUEST, KEYRING, profile, CREATED, NONCE, Labels.FIRST)
    empty = budget.head_size("GET", "/", [])

    expected = cost(KEYRING, profile)

    assert expected.first == first.size == budget.head_size("GET", "/", first.fields) - empty
    assert sum(expected) == both.size == budget.head_size("GET", "/", both.fields) - empty


def test_without_a_second_key_sig1_goes_alone() -> None:
    keyring = Keyring(FIRST)

    signed = sign(REQUEST, keyring, BRIDGE, CREATED, NONCE)

    assert signed.labels == ("sig1",)
    assert cost(keyring, BRIDGE) == (signed.size, 0)


def test_a_rotated_key_signs_at_once_under_the_same_profile() -> None:
    newer = PrivateKey(ED25519, bytes(32))

    signed = sign(REQUEST, Keyring(newer), BRIDGE, CREATED, NONCE)

    fields = dict(signed.fields)
    whole = replace(REQUEST, fields=signed.fields)
    base = signature_base(
        whole, read_params(sf.parse_dictionary(fields["Signature-Input"])["sig1"])
    )
    assert f'keyid="{newer.keyid}"' in fields["Signature-Input"]
    assert fields["Signature"] == f"sig1=:{b64encode(ED25519.expand(newer.secret)(base)).decode()}:"


def test_the_signature_of_a_larger_algorithm_is_counted_too() -> None:
    keyring = Keyring(FIRST, PrivateKey(ML_DSA_65, bytes(32)))
    second = Second(algorithm="ml-dsa-65", alg="ml-dsa-65")
    profile = Profile(name=Name.BRIDGE, home="https://bot.example", second=second)

    signed = sign(REQUEST, keyring, profile, CREATED, NONCE)

    assert sum(cost(keyring, profile)) == signed.size


ENCODED = [
    pytest.param(NonceForm.BASE64, b64encode(b"\xff" * 64).decode(), id="standard base64"),
    pytest.param(
        NonceForm.BASE64URL,
        urlsafe_b64encode(b"\xff" * 64).decode().rstrip("="),
        id="base64url without padding",
    ),
]


@pytest.mark.parametrize(("form", "text"), ENCODED)
def test_a_nonce_may_come_raw_or_encoded(form: NonceForm, text: str) -> None:
    profile = Profile(name=Name.BRIDGE, home="https://bot.example", nonce_form=form)

    raw = sign(REQUEST, Keyring(FIRST), profile, CREATED, b"\xff" * 64)
    encoded = sign(REQUEST, Keyring(FIRST), profile, CREATED, text)

    assert raw == encoded
    assert f';nonce="{text}"' in dict(raw.fields)["Signature-Input"]


NONCES = [
    pytest.param(NonceForm.BASE64, bytes(63), id="a byte short"),
    pytest.param(NonceForm.BASE64, bytes(65), id="a byte too many"),
    pytest.param(NonceForm.BASE64, b"", id="empty"),
    pytest.param(NonceForm.BASE64, "A" * 86, id="base64url where base64 is wanted"),
    pytest.param(NonceForm.BASE64URL, "A" * 86 + "==", id="base64 where base64url is wanted"),
    pytest.param(NonceForm.BASE64URL, "A" * 85 + "B", id="bits past the end"),
    pytest.param(NonceForm.BASE64, "A" * 84 + '";==', id="a quotation mark"),
    pytest.param(NonceForm.BASE64, "A" * 86 + "==\n", id="a line feed"),
    pytest.param(NonceForm.BASE64, bytearray(64), id="a bytearray"),
    pytest.param(NonceForm.BASE64URL, memoryview(bytes(64)), id="a memoryview"),
    pytest.param(NonceForm.BASE64, None, id="none"),
]


@pytest.mark.parametrize(("form", "nonce"), NONCES)
def test_any_other_nonce_is_refused(form: NonceForm, nonce: bytes | str) -> None:
    profile = Profile(name=Name.BRIDGE, home="https://bot.example", nonce_form=form)

    with pytest.raises(ValueError, match="the nonce is not 64 bytes, or not in"):
        sign(REQUEST, KEYRING, profile, CREATED, nonce)


@pytest.mark.parametrize("created", [0, 999_999_999, 10**10, 1.8e9, "1800000000"])
def test_created_has_ten_digits(created: int) -> None:
    with pytest.raises(ValueError, match="not in whole Unix seconds of ten digits"):
        sign(REQUEST, KEYRING, BRIDGE, created, NONCE)


def test_the_first_key_is_ed25519_and_the_second_ml_dsa() -> None:
    with pytest.raises(AlgorithmUnsupported, match="first key is ml-dsa-44, not ed25519"):
        Keyring(SECOND, FIRST)
    with pytest.raises(AlgorithmUnsupported, match="second key is ecdsa-p256-sha256, none of ml"):
        Keyring(FIRST, PrivateKey(ECDSA_P256, b"\x01" * 32))


def test_a_key_that_the_profile_does_not_announce_is_refused() -> None:
    keyring = Keyring(FIRST, PrivateKey(ML_DSA_65, bytes(32)))

    with pytest.raises(AlgorithmUnsupported, match="ml-dsa-65, the profile announces ml-dsa-44"):
        sign(REQUEST, keyring, BRIDGE, CREATED, NONCE)
    with pytest.raises(AlgorithmUnsupported, match="ml-dsa-65, the profile announces ml-dsa-44"):
        cost(keyring, BRIDGE)


def test_no_secret_shows_in_a_keyring() -> None:
    shown = repr(KEYRING)

    assert binascii.hexlify(FIRST.secret[:8]).decode() not in shown
    assert repr(bytes(FIRST.secret))[2:-1] not in shown
    assert FIRST.keyid in shown
