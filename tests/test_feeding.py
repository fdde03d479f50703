"""What the fuzzer begins with goes through, and so does what is near to it."""

from random import Random

import pytest
from feeding import SEEDS, feed


@pytest.mark.parametrize("seed", SEEDS, ids=range(len(SEEDS)))
def test_a_seed_and_what_is_near_to_it_raise_nothing(seed: bytes) -> None:
    random = Random(seed)

    feed(seed)
    for _ in range(20):
        at, cut = random.randrange(len(seed)), random.randrange(4)
        feed(seed[:at] + random.randbytes(random.randrange(4)) + seed[at + cut :])
