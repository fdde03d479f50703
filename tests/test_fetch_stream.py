"""The watch over a body's rate, where two clocks run out at once."""

import asyncio

import pytest

from crawler.fetch.stream import Trickle


async def test_a_request_that_is_out_of_time_is_not_called_slow() -> None:
    limit = asyncio.timeout(0)
    trickle = Trickle(limit, rate=1000, window=0.0)

    async def wait() -> None:
        async with limit:
            trickle.start()
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await wait()

    assert not trickle.too_slow


async def test_a_watch_that_was_never_started_is_stopped_all_the_same() -> None:
    trickle = Trickle(asyncio.timeout(None), rate=1000)

    trickle.stop()

    assert not trickle.too_slow
