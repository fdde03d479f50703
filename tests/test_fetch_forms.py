"""A form is prepared once for what an origin covers, and anew for each wish."""

import pytest
from visitor import BOT

from crawler.fetch.forms import Forms
from crawler.settings import COMPONENTS, NonceForm, SecondSignature, Settings, Signatures
from signing import profile
from signing.message import Component
from signing.profile import FIXED, Name, Wish

SETTINGS = Settings(
    base=".",
    bot=BOT,
    signatures=Signatures(
        lifetime=30,
        nonce=NonceForm.BASE64URL,
        second=SecondSignature(label="pq", alg="", tag="mine"),
    ),
)
NAMES = [name for name in Name if name is not Name.AUTO]
WISH = Wish(label="sig", covered=(Component("@authority"),), nonce="n", keyid="k")


@pytest.mark.parametrize("name", NAMES)
def test_a_form_is_made_of_the_settings_once_for_each_choice(name: Name) -> None:
    forms = Forms(SETTINGS)
    chosen = ("@authority", "user-agent")

    form = forms.of(name, COMPONENTS)

    assert form.name is name
    assert (form.home, form.lifetime) == (BOT.home, 30)
    assert form.nonce_form is profile.NonceForm.BASE64URL
    assert form.second.label == "pq"
    assert forms.of(name, COMPONENTS) is form
    assert (forms.of(name, chosen) is form) is (name in FIXED)
    if name not in FIXED:
        assert [item.name for item in form.target] == list(COMPONENTS)
        assert [item.name for item in forms.of(name, chosen).target] == list(chosen)


@pytest.mark.parametrize("name", NAMES)
def test_a_wish_is_granted_in_every_form_that_leaves_it_open(name: Name) -> None:
    form = Forms(SETTINGS).granting(name, WISH)

    assert (form is None) is (name is Name.PUBLISHED)
    if form is not None:
        assert (form.name, form.wish) == (name, WISH)
