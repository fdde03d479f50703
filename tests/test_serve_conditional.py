"""Who has a document already is told so, in every spelling that RFC 9110 has for it."""

import pytest

from crawler.serve import conditional
from crawler.serve.conditional import Outcome

TAG = '"abc"'


@pytest.mark.parametrize(
    ("if_match", "if_none_match", "outcome"),
    [
        pytest.param([], [], Outcome.FULL, id="no condition"),
        pytest.param([], ['"abc"'], Outcome.NOT_MODIFIED, id="the same"),
        pytest.param([], ['W/"abc"'], Outcome.NOT_MODIFIED, id="weak"),
        pytest.param([], ["*"], Outcome.NOT_MODIFIED, id="any"),
        pytest.param([], [" * "], Outcome.NOT_MODIFIED, id="any, with spaces"),
        pytest.param([], ['"x", "a,b",W/"abc"'], Outcome.NOT_MODIFIED, id="in a list"),
        pytest.param([], ['"x"', '"abc"'], Outcome.NOT_MODIFIED, id="in a second line"),
        pytest.param([], ['"x"'], Outcome.FULL, id="another"),
        pytest.param([], ["abc"], Outcome.FULL, id="without quotes"),
        pytest.param([], ['"x*"'], Outcome.FULL, id="a star in a tag"),
        pytest.param([], ['"ABC"'], Outcome.FULL, id="other letters"),
        pytest.param([], [""], Outcome.FULL, id="empty"),
        pytest.param(['"abc"'], [], Outcome.FULL, id="it must be this, and is"),
        pytest.param(["*"], [], Outcome.FULL, id="something must be there"),
        pytest.param(['"x", "abc"'], [], Outcome.FULL, id="it must be one of these, and is"),
        pytest.param(['W/"abc"'], [], Outcome.FAILED, id="a weak tag never matches strongly"),
        pytest.param(['"x"'], [], Outcome.FAILED, id="it must be another"),
        pytest.param(['"x"'], ['"abc"'], Outcome.FAILED, id="If-Match comes first"),
        pytest.param(['"abc"'], ['"abc"'], Outcome.NOT_MODIFIED, id="both hold"),
    ],
)
def test_a_condition_decides(
    if_match: list[str], if_none_match: list[str], outcome: Outcome
) -> None:
    assert conditional.decide(TAG, if_match=if_match, if_none_match=if_none_match) is outcome
