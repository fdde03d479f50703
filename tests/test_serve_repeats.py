"""A server that asks again about the same request hears the same."""

from crawler.serve import repeats
from crawler.serve.repeats import Repeats
from crawler.serve.ruling import Ruling
from signing.verifier import Outcome

PASSED = Ruling(outcome=Outcome.VERIFIED, status=200)
SAID = ("/page", "shop.example", "shop.example")
FIELDS = (("Signature-Input", "sig1=()"), ("Signature", "sig1=:AA==:"))


class Clock:
    """A time that moves when told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_each_part_of_a_request_makes_it_another() -> None:
    keys = [
        repeats.key("1", SAID, FIELDS),
        repeats.key("2", SAID, FIELDS),
        repeats.key("1", ("/other", *SAID[1:]), FIELDS),
        repeats.key("1", ("/page", "other.example", "shop.example"), FIELDS),
        repeats.key("1", SAID, (*FIELDS, ("Cookie", "a"))),
        repeats.key("1", SAID, FIELDS[::-1]),
        repeats.key("1", SAID, (FIELDS[0], ("Signature", "sig1=:AB==:"))),
    ]

    assert len(set(keys)) == len(keys)
    assert repeats.key("1", SAID, FIELDS) == keys[0]


def test_a_ruling_is_repeated_for_its_method_and_for_what_an_error_page_makes_of_it() -> None:
    ruled = Repeats()
    ruled.keep(b"1", "POST", PASSED)

    assert [ruled.find(b"1", method) for method in ("POST", "GET", "PUT")] == [PASSED, PASSED, None]
    assert ruled.find(b"2", "POST") is None


def test_a_ruling_is_forgotten_after_a_while() -> None:
    clock = Clock()
    ruled = Repeats(now=clock)
    ruled.keep(b"1", "GET", PASSED)
    clock.now = repeats.LIFE

    assert ruled.find(b"1", "GET") is None

    ruled.keep(b"2", "GET", PASSED)

    assert len(ruled) == 1


def test_of_too_many_the_oldest_is_forgotten() -> None:
    clock = Clock()
    ruled = Repeats(2, clock)
    for key in (b"1", b"2", b"1", b"3"):
        clock.now += 1
        ruled.keep(key, "GET", PASSED)

    assert [ruled.find(key, "GET") for key in (b"1", b"2", b"3")] == [PASSED, None, PASSED]
