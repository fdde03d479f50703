"""A server may choose what our next signature covers and its nonce, and nothing that harms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signing import accept
from signing.accept import Refused, Wish
from signing.message import Component

KEYID = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
SENT = ("accept", "host", "user-agent")
TAG = ';tag="web-bot-auth"'


def decide(field: str) -> Wish | Refused:
    return accept.decide(field, keyid=KEYID, second_label="sig2", sent=SENT)


def wish(*names: str, label: str = "sig1", nonce: str | None = None) -> Wish:
    return Wish(label=label, covered=tuple(map(Component, names)), nonce=nonce, keyid=KEYID)


GRANTED = [
    pytest.param(f'sig1=("@authority"){TAG}', wish("@authority"), id="the host alone"),
    pytest.param(
        f'sig1=("@authority" "signature-agent");created;expires;keyid{TAG}',
        wish("@authority"),
        id="as the draft shows it",
    ),
    pytest.param(
        f'sig1=("@authority" "signature-agent";key="sig1"){TAG}',
        wish("@authority"),
        id="the agent by key",
    ),
    pytest.param(
        f'a=("@path" "user-agent" "@authority");nonce="n"{TAG}',
        wish("@path", "user-agent", "@authority", label="a", nonce="n"),
        id="its label, order and nonce",
    ),
    pytest.param(
        f'sig1=("@authority");keyid="{KEYID}";alg="ed25519"{TAG}',
        wish("@authority"),
        id="our key and algorithm",
    ),
    pytest.param(f'sig1=("@authority");nonce;alg{TAG}', wish("@authority"), id="any nonce of ours"),
    pytest.param(
        f'sig1=("@method");tag="other", b=("@authority"){TAG}, c=("@authority" "@path"){TAG}',
        wish("@authority", label="b"),
        id="the first that can be granted",
    ),
    pytest.param(
        f'sig1=("@authority");nonce="{"n" * 256}"{TAG}',
        wish("@authority", nonce="n" * 256),
        id="a long nonce",
    ),
]


@pytest.mark.parametrize(("field", "expected"), GRANTED)
def test_a_wish_is_granted_as_it_was_asked(field: str, expected: Wish) -> None:
    assert decide(field) == expected


REFUSED = [
    pytest.param('sig1=("@authority")', "its tag is not web-bot-auth", id="no tag"),
    pytest.param('sig1=("@authority");tag="x"', "its tag is not", id="another tag"),
    pytest.param('sig1=("@authority");tag=web-bot-auth', "its tag is not", id="a tag of no string"),
    pytest.param(f'sig1=("@method" "@path"){TAG}', "'@authority' is not in it", id="any host"),
    pytest.param(f"sig1=(){TAG}", "'@authority' is not in it", id="nothing covered"),
    pytest.param(f'sig1=("@authority" "cookie"){TAG}', "that others may see", id="cookie"),
    pytest.param(f'sig1=("@authority" "cookie";bs){TAG}', "that others may see", id="wrapped"),
    pytest.param(
        f'sig1=("@authority" "authorization"){TAG}', "that others may see", id="authorization"
    ),
    pytest.param(
        f'sig1=("@authority" "proxy-authorization"){TAG}', "that others may see", id="proxy's"
    ),
    pytest.param(f'sig1=("@authority" "content-digest"){TAG}', "speaks of a body", id="digest"),
    pytest.param(f'sig1=("@authority" "content-type"){TAG}', "speaks of a body", id="type"),
    pytest.param(f'sig1=("@authority" "content-length"){TAG}', "speaks of a body", id="length"),
    pytest.param(f'sig1=("@authority" "repr-digest"){TAG}', "speaks of a body", id="other digest"),
    pytest.param(f'sig1=("@authority" "date"){TAG}', "no field that we always send", id="a field"),
    pytest.param(f'sig1=("@authority" "@status"){TAG}', "only a response", id="@status"),
    pytest.param(
        f'sig1=("@authority" "@query-param";name="a"){TAG}', "with parameters", id="@query-param"
    ),
    pytest.param(f'sig1=("@authority" "accept";sf){TAG}', "with parameters", id=";sf"),
    pytest.param(f'sig1=("@authority" "@authority"){TAG}', "stands twice", id="twice"),
    pytest.param(f'sig1=("@authority" tok){TAG}', "is no string", id="a token"),
    pytest.param(f'sig1=("@authority");keyid="x"{TAG}', "the key is not that", id="another key"),
    pytest.param(f'sig1=("@authority");keyid=1{TAG}', "the key is not that", id="a key of no text"),
    pytest.param(
        f'sig1=("@authority");alg="ml-dsa-44"{TAG}', "the algorithm is not that", id="alg"
    ),
    pytest.param(f'sig1=("@authority");alg=ed25519{TAG}', "the algorithm is not", id="a token"),
    pytest.param(f'sig1=("@authority");created=1{TAG}', "is for us to choose", id="created"),
    pytest.param(f'sig1=("@authority");expires=1{TAG}', "is for us to choose", id="expires"),
    pytest.param(f'sig1=("@authority");created=?0{TAG}', "is for us to choose", id="not created"),
    pytest.param(f'sig1=("@authority");own=1{TAG}', "parameter 'own'", id="another parameter"),
    pytest.param(f'sig1=("@authority");nonce=""{TAG}', "the nonce is no text", id="no nonce"),
    pytest.param(f'sig1=("@authority");nonce=tok{TAG}', "the nonce is no text", id="a token"),
    pytest.param(
        f'sig1=("@authority");nonce="{"n" * 257}"{TAG}', "1 to 256 characters", id="too long"
    ),
    pytest.param(f'sig2=("@authority"){TAG}', "the label of our second", id="sig2's label"),
    pytest.param('sig1="@authority"', "is no list of components", id="no list"),
    pytest.param("", "asks for no signature", id="empty"),
    pytest.param("sig1=(", "cannot be read", id="torn"),
    pytest.param("sig1=(), sig1=()", "cannot be read", id="twice the same label"),
    pytest.param('sig1=("@authority");tag="é"', "cannot be read", id="not ASCII"),
    pytest.param(f'a=("{"a" * 5000}"){TAG}', "longer than", id="too long a field"),
    pytest.param(f"a=({'1 ' * 500}){TAG}", "longer than", id="too many pieces"),
]


@pytest.mark.parametrize(("field", "why"), REFUSED)
def test_all_else_is_refused_with_a_reason(field: str, why: str) -> None:
    found = decide(field)

    assert isinstance(found, Refused)
    assert why in str(found)


def test_the_reason_of_each_wish_is_said() -> None:
    found = decide(f'a=("@path"){TAG}, b=("@authority");tag="x"')

    assert str(found) == "a: '@authority' is not in it; b: its tag is not web-bot-auth"


@pytest.mark.parametrize(
    ("granted", "text"),
    [
        (wish("@authority", "@path"), "sig1 over @authority, @path"),
        (wish("@authority", nonce="secret"), "sig1 over @authority, with its nonce"),
    ],
)
def test_a_wish_says_what_it_is_without_its_nonce(granted: Wish, text: str) -> None:
    assert str(granted) == text


NAMES = st.sampled_from(
    ["@authority", "@method", "@path", "cookie", "content-digest", "date", "signature-agent", "x"]
)


@given(
    st.text(max_size=60)
    | st.lists(NAMES, max_size=5).map(
        lambda names: f"a=({' '.join(f'{chr(34)}{name}{chr(34)}' for name in names)}){TAG}"
    )
)
def test_nothing_that_anybody_asks_makes_an_oracle_of_us(field: str) -> None:
    found = decide(field)

    if isinstance(found, Wish):
        names = {item.name for item in found.covered}
        assert "@authority" in names
        assert names <= {"@authority", "@method", "@path"}
