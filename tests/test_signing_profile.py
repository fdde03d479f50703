"""Each profile sends exactly the form that its receivers want."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signing import fields as sf
from signing import signature
from signing.algorithms import ED25519, ML_DSA_44
from signing.errors import AlgorithmUnsupported
from signing.keys import PrivateKey
from signing.message import Component, Message
from signing.profile import (
    Choice,
    Labels,
    Name,
    NonceForm,
    Profile,
    Second,
    WhenSecond,
    Why,
    Wish,
    choose,
)
from signing.signer import Keyring, cost, sign

HOME = "https://bot.example"
DIRECTORY = f"{HOME}/.well-known/http-message-signatures-directory"
SECOND_KEYS = f"{HOME}/.well-known/bot-pq-jwks.json"
KEYRING = Keyring(PrivateKey(ED25519, bytes(32)), PrivateKey(ML_DSA_44, bytes(32)))
CREATED = 1_800_000_000
NONCE = "A" * 85 + "A=="
TARGET = '"@authority" "@method" "@path" "@query"'
TIMES = ";created=1800000000;expires=1800000060"

FORMS = {
    Name.BRIDGE: (
        f'sig1="{HOME}", sig2="{SECOND_KEYS}"',
        f'({TARGET} "signature-agent";key="sig1")',
        f'({TARGET} "signature-agent";key="sig2")',
    ),
    Name.IETF_01: (
        f'sig1="{DIRECTORY}", sig2="{SECOND_KEYS}"',
        f'({TARGET} "signature-agent";key="sig1")',
        f'({TARGET} "signature-agent";key="sig2")',
    ),
    Name.IETF_00: (
        f'sig1="{HOME}", sig2="{SECOND_KEYS}";type=jwks_uri',
        f'({TARGET} "signature-agent";key="sig1")',
        f'({TARGET} "signature-agent";key="sig2")',
    ),
    Name.LEGACY: (
        f'"{HOME}"',
        '("@authority" "signature-agent")',
        '("@authority" "signature-agent")',
    ),
    Name.PUBLISHED: (
        f'"{HOME}"',
        '("@authority" "signature-agent")',
        '("@authority" "signature-agent")',
    ),
}


def sent(profile: Profile, labels: Labels = Labels.BOTH) -> dict[str, str]:
    message = Message(method="GET", scheme="https", authority="shop.example", target="/")
    return dict(sign(message, KEYRING, profile, CREATED, NONCE, labels).fields)


def keyids() -> tuple[str, str]:
    assert KEYRING.second is not None
    return KEYRING.first.keyid, KEYRING.second.keyid


@pytest.mark.parametrize("name", FORMS)
def test_both_signatures_are_announced_in_the_profiles_form(name: Name) -> None:
    agent, first, second = FORMS[name]
    published = name is Name.PUBLISHED
    nonce = "" if published else f';nonce="{NONCE}"'
    tag = "web-bot-auth" if published else "web-bot-auth-pq"

    fields = sent(Profile(name=name, home=HOME))

    assert fields["Signature-Agent"] == agent
    assert fields["Signature-Input"] == (
        f'sig1={first}{TIMES};keyid="{keyids()[0]}";alg="ed25519"{nonce};tag="web-bot-auth", '
        f'sig2={second}{TIMES};keyid="{keyids()[1]}";alg="ml-dsa-44";tag="{tag}"'
    )


@pytest.mark.parametrize("name", FORMS)
def test_sig1_alone_leaves_no_trace_of_sig2(name: Name) -> None:
    agent, first, _ = FORMS[name]
    nonce = "" if name is Name.PUBLISHED else f';nonce="{NONCE}"'

    fields = sent(Profile(name=name, home=HOME), Labels.FIRST)

    assert fields["Signature-Agent"] == agent.partition(", ")[0]
    assert fields["Signature-Input"] == (
        f'sig1={first}{TIMES};keyid="{keyids()[0]}";alg="ed25519"{nonce};tag="web-bot-auth"'
    )
    assert "sig2" not in fields["Signature"]


def test_the_second_signatures_names_are_settings() -> None:
    profile = Profile(name=Name.BRIDGE, home=HOME, second=Second(label="pq", tag="mine", alg=""))

    fields = sent(profile)

    assert fields["Signature-Agent"] == f'sig1="{HOME}", pq="{SECOND_KEYS}"'
    assert fields["Signature-Input"].partition(", ")[2] == (
        f'pq=({TARGET} "signature-agent";key="pq"){TIMES};keyid="{keyids()[1]}";tag="mine"'
    )


def test_an_empty_tag_sends_none() -> None:
    fields = sent(Profile(name=Name.LEGACY, home=HOME, second=Second(tag="")))

    assert fields["Signature-Input"].endswith(';alg="ml-dsa-44"')


def test_the_published_form_keeps_its_own_tag_and_alg() -> None:
    second = Second(label="pq", tag="mine", alg="")

    fields = sent(Profile(name=Name.PUBLISHED, home=HOME, second=second))

    assert fields["Signature-Input"].partition(", ")[2] == (
        f'pq=("@authority" "signature-agent"){TIMES};keyid="{keyids()[1]}"'
        ';alg="ml-dsa-44";tag="web-bot-auth"'
    )


def test_a_profile_says_where_its_keys_are() -> None:
    profile = Profile(name=Name.BRIDGE, home=HOME)

    assert profile.directory == DIRECTORY
    assert profile.second_keys == SECOND_KEYS


@pytest.mark.parametrize(
    ("name", "when"),
    [
        (Name.BRIDGE, WhenSecond.BY_DEFAULT),
        (Name.IETF_01, WhenSecond.BY_DEFAULT),
        (Name.IETF_00, WhenSecond.BY_DEFAULT),
        (Name.LEGACY, WhenSecond.IF_INSISTED),
        (Name.PUBLISHED, WhenSecond.ALWAYS),
    ],
)
def test_legacy_holds_sig2_back_and_published_never_does(name: Name, when: WhenSecond) -> None:
    assert Profile(name=name, home=HOME).when_second is when


CHOICES = [
    pytest.param("cloudflare", True, Name.LEGACY, Why.SERVER_IS_CLOUDFLARE, id="both signs"),
    pytest.param(" Cloudflare ", False, Name.LEGACY, Why.SERVER_IS_CLOUDFLARE, id="any case"),
    pytest.param("cloudflare-nginx", False, Name.LEGACY, Why.SERVER_IS_CLOUDFLARE, id="old name"),
    pytest.param("nginx", True, Name.LEGACY, Why.HAS_CF_RAY, id="a ray behind another name"),
    pytest.param(None, True, Name.LEGACY, Why.HAS_CF_RAY, id="a ray alone"),
    pytest.param("nginx", False, Name.BRIDGE, Why.NOTHING_SHOWS_CLOUDFLARE, id="another server"),
    pytest.param("my-cloudflare", False, Name.BRIDGE, Why.NOTHING_SHOWS_CLOUDFLARE, id="alike"),
    pytest.param(None, False, Name.BRIDGE, Why.NOTHING_SHOWS_CLOUDFLARE, id="no answer yet"),
]


@pytest.mark.parametrize(("server", "ray", "name", "why"), CHOICES)
def test_auto_follows_the_last_answer(server: str | None, ray: bool, name: Name, why: Why) -> None:
    assert choose(Name.AUTO, server, ray) == Choice(name, why)


@given(st.sampled_from(Name), st.none() | st.text(), st.booleans())
def test_a_choice_is_never_auto_and_never_overrules_the_operator(
    name: Name, server: str | None, ray: bool
) -> None:
    chosen = choose(name, server, ray)

    assert chosen.name is not Name.AUTO
    assert name is Name.AUTO or chosen == Choice(name, Why.CONFIGURED)


CHOSEN = tuple(map(Component, ("user-agent", "@authority", "@target-uri")))
OTHERS = [name for name in FORMS if name not in (Name.LEGACY, Name.PUBLISHED)]


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_covered_beside_the_agent_is_a_choice(name: Name) -> None:
    message = Message(
        method="GET",
        scheme="https",
        authority="shop.example",
        target="/",
        fields=(("User-Agent", "ExampleBot/1.0"),),
    )
    profile = Profile(name=name, home=HOME, covered=CHOSEN)

    signed = sign(message, KEYRING, profile, CREATED, NONCE)

    stated = dict(signed.fields)["Signature-Input"]
    for label in ("sig1", "sig2"):
        assert (
            f'{label}=("user-agent" "@authority" "@target-uri" "signature-agent";key="{label}")'
            in stated
        )
    assert sum(cost(KEYRING, profile)) == signed.size


@pytest.mark.parametrize("name", [Name.LEGACY, Name.PUBLISHED])
def test_what_a_fixed_form_covers_is_no_choice(name: Name) -> None:
    with pytest.raises(ValueError, match=f"what {name} covers belongs to its form"):
        Profile(name=name, home=HOME, covered=CHOSEN)


@pytest.mark.parametrize("nonce", [None, "abc", 'a"b\\c', " "])
@pytest.mark.parametrize("name", [*OTHERS, Name.LEGACY])
def test_a_wish_that_is_granted_decides_label_coverage_and_nonce(
    name: Name, nonce: str | None
) -> None:
    wish = Wish(
        label="theirs",
        covered=(Component("@path"), Component("@authority")),
        nonce=nonce,
        keyid=KEYRING.first.keyid,
    )
    message = Message(method="GET", scheme="https", authority="shop.example", target="/")
    covered = None if name is Name.LEGACY else CHOSEN
    profile = Profile(name=name, home=HOME, covered=covered, wish=wish)

    signed = sign(message, KEYRING, profile, CREATED, NONCE)

    assert signed.labels == ("theirs", "sig2")
    fields = dict(signed.fields)
    agent = '"signature-agent"' if name is Name.LEGACY else '"signature-agent";key="theirs"'
    first = fields["Signature-Input"].partition(", sig2=")[0]
    said = sf.serialize_string(NONCE if nonce is None else nonce)
    assert first == (
        f'theirs=("@path" "@authority" {agent}){TIMES};keyid="{KEYRING.first.keyid}"'
        f';alg="ed25519";nonce={said};tag="web-bot-auth"'
    )
    if name is not Name.LEGACY:
        assert fields["Signature-Agent"].startswith("theirs=")
    assert sum(cost(KEYRING, profile)) == signed.size
    whole = replace(message, fields=signed.fields)
    (ours, _) = signature.read(whole)
    assert ours.fault(whole, KEYRING.first.public_key) is None


def test_the_published_form_grants_no_wish() -> None:
    wish = Wish(label="a", covered=(Component("@authority"),), nonce=None, keyid="k")

    with pytest.raises(ValueError, match="grants no wish"):
        Profile(name=Name.PUBLISHED, home=HOME, wish=wish)


HOMES = [
    "http://bot.example",
    "https://bot.example/",
    "https://bot.example/bot",
    "https://bot.example?x",
    "https://user@bot.example",
    "https://Bot.example",
    "https://bücher.example",
    "https://bot.example:",
    "https://-",
    "https://",
    "bot.example",
    "",
    "https://bot.example\n",
    "https://bot.example:99999",
    "https://bot.example:65536",
    "https://bot.example:0",
    "https://bot.example:0443",
    "https://bot..example",
    "https://.example",
    "https://bot.example.",
    "https://bot-.example",
    "https://-bot.example",
    f"https://{'a' * 64}.example",
    "https://" + ".".join(["a" * 49] * 6),
    "https://[::::]",
    "https://[1:2]",
    "https://[127.0.0.1]",
    "https://[::1%1]",
    "https://[]",
    "https://::1",
]


@pytest.mark.parametrize("home", HOMES)
def test_a_home_is_a_bare_https_origin(home: str) -> None:
    with pytest.raises(ValueError, match=r"is no https origin; write for example https://"):
        Profile(name=Name.BRIDGE, home=home)


@pytest.mark.parametrize(
    "home",
    [
        "https://b",
        "https://bot.example:8443",
        "https://bot.example:65535",
        "https://[::1]:8443",
        "https://[::ffff:192.0.2.1]",
        "https://192.0.2.1",
        "https://xn--bcher-kva.example",
        f"https://{'a' * 63}.example",
        "https://" + ".".join(["a" * 50] * 4) + "." + "b" * 49,
    ],
)
def test_a_home_may_have_a_port_or_be_an_address(home: str) -> None:
    assert Profile(name=Name.LEGACY, home=home).agent(Labels.BOTH) == f'"{home}"'


@pytest.mark.parametrize("lifetime", [0, -1, 86_401])
def test_a_lifetime_is_between_a_second_and_a_day(lifetime: int) -> None:
    with pytest.raises(ValueError, match="not within 1 to 86400"):
        Profile(name=Name.BRIDGE, home=HOME, lifetime=lifetime)


def test_auto_has_no_form_of_its_own() -> None:
    with pytest.raises(ValueError, match="choose"):
        Profile(name=Name.AUTO, home=HOME)


def test_the_nonce_is_standard_base64_unless_asked_otherwise() -> None:
    assert Profile(name=Name.BRIDGE, home=HOME).nonce_form is NonceForm.BASE64


@pytest.mark.parametrize("label", ["sig1", "", "Sig2", "2sig", "sig 2", "sig2\n", "sig=2", "é"])
def test_a_second_label_is_a_key_of_its_own(label: str) -> None:
    with pytest.raises(ValueError, match="cannot label the second signature"):
        Second(label=label)


@pytest.mark.parametrize("label", ["sig2", "*", "a-b_c.d*e9"])
def test_any_structured_field_key_can_be_the_second_label(label: str) -> None:
    assert Second(label=label).label == label


@pytest.mark.parametrize("text", ["é", "a\nb", "\x7f"])
def test_a_tag_or_alg_is_printable_ascii(text: str) -> None:
    with pytest.raises(ValueError, match=r"tag .* is not printable ASCII"):
        Second(tag=text)
    with pytest.raises(ValueError, match=r"alg .* is not printable ASCII"):
        Second(alg=text)


def test_a_second_signature_is_post_quantum() -> None:
    with pytest.raises(ValueError, match="ed25519 is no post-quantum algorithm"):
        Second(algorithm="ed25519", alg="ed25519")
    with pytest.raises(AlgorithmUnsupported, match="falcon"):
        Second(algorithm="falcon")


def test_an_alg_does_not_name_another_algorithm() -> None:
    with pytest.raises(ValueError, match="'ml-dsa-44' names another algorithm than 'ml-dsa-65'"):
        Second(algorithm="ml-dsa-65")


def test_a_token_of_ones_own_may_stand_for_the_algorithm() -> None:
    assert Second(algorithm="ml-dsa-65", alg="mldsa65").alg == "mldsa65"
