"""What a request can cover is chosen once, and an impossible choice says what to do instead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signing import coverable
from signing.errors import CoverageImpossible
from signing.message import Component

SENT = ("accept", "accept-encoding", "host", "user-agent")


def test_names_become_components_in_their_order() -> None:
    names = ["user-agent", "@query", "@authority", "@target-uri"]

    assert coverable.components(names, SENT) == tuple(map(Component, names))


FAULTS = [
    pytest.param("@status", "only a response has a status", "take it out", id="@status"),
    pytest.param(
        "@query-param", "verifiers differ", 'cover all with "@query"', id="@query-param alone"
    ),
    pytest.param(
        '"@query-param";name="a"', "verifiers differ", 'with "@query"', id="@query-param, named"
    ),
    pytest.param("@signature-params", "covers it anyway", "take it out", id="the parameters"),
    pytest.param("signature-agent", "covers it anyway", "take it out", id="the agent"),
    pytest.param(
        'signature-agent;key="sig1"', "covers it anyway", "take it out", id="the agent, keyed"
    ),
    pytest.param("signature", "stands by itself", "take it out", id="another signature"),
    pytest.param("signature-input", "stands by itself", "take it out", id="another's input"),
    pytest.param("accept;sf", "not a name alone", 'write "accept"', id=";sf"),
    pytest.param("accept;bs", "not a name alone", 'write "accept"', id=";bs"),
    pytest.param("accept;tr", "not a name alone", 'write "accept"', id=";tr"),
    pytest.param("@method;req", "not a name alone", 'write "@method"', id=";req"),
    pytest.param('"@method"', "not a name alone", 'write "@method"', id="in quotation marks"),
    pytest.param("User-Agent", "lower case", 'write "user-agent"', id="upper case"),
    pytest.param("cookie", "not on every request", "known are @authority", id="a cookie"),
    pytest.param("if-none-match", "not on every request", "known are", id="a validator"),
    pytest.param("if-modified-since", "not on every request", "known are", id="another"),
    pytest.param("from", "not on every request", "known are", id="an address"),
    pytest.param("date", "no field that we always send", "known are", id="a field of others"),
    pytest.param("user-agents", "no field", "did you mean 'user-agent'?", id="misspelled field"),
    pytest.param("@methods", "no component", "did you mean '@method'?", id="misspelled component"),
    pytest.param("@nothing-like-it", "no component", "known are", id="unknown component"),
    pytest.param("", "no field", "known are", id="nothing"),
]


@pytest.mark.parametrize(("name", "why", "remedy"), FAULTS)
def test_what_cannot_be_covered_is_refused_with_its_place_and_a_remedy(
    name: str, why: str, remedy: str
) -> None:
    with pytest.raises(CoverageImpossible) as caught:
        coverable.components(["@authority", name], SENT)

    assert caught.value.at == 1
    assert why in caught.value.why
    assert remedy in caught.value.remedy
    assert str(caught.value) == f"{caught.value.why}; {caught.value.remedy}"


def test_a_component_stands_once() -> None:
    with pytest.raises(CoverageImpossible, match="'@path' stands twice; take one out") as caught:
        coverable.components(["@authority", "@path", "@method", "@path"], SENT)

    assert caught.value.at == 3


@pytest.mark.parametrize("names", [[], ["@path"], ["@target-uri", "host"]])
def test_the_host_is_always_bound(names: list[str]) -> None:
    with pytest.raises(CoverageImpossible, match="'@authority' is not in it; add it") as caught:
        coverable.components(names, SENT)

    assert caught.value.at is None


@given(st.lists(st.one_of(st.text(), st.sampled_from([*coverable.DERIVED, *SENT, "@authority"]))))
def test_any_list_is_covered_as_it_is_or_refused(names: list[str]) -> None:
    try:
        found = coverable.components(names, SENT)
    except CoverageImpossible:
        return

    assert [item.name for item in found] == names
    assert "@authority" in names
    assert not any(item.params for item in found)
