"""Requests judged by the keys that they name themselves."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import keyhouse
import pytest
from aiohttp import web
from keyhouse import NOW

from crawler.serve import discovery, naming, shelf
from crawler.serve.allowance import SLOTS, Share
from crawler.serve.discovery import Directories
from crawler.serve.reader import NoKeySet, Read, Reader
from crawler.serve.replay import Memory, Shared
from signing import algorithms, directory, keys
from signing.directory import KeySet
from signing.keys import PublicKey
from signing.message import Message
from signing.profile import SECOND_KEYS_PATH, Labels, Name
from signing.signer import Keyring
from signing.verifier import Outcome, Policy, Reason, ReplayKey, Seen, Verification

FIRST, SECOND = keys.generate(algorithms.ED25519), keys.generate(algorithms.ML_DSA_44)
RING = Keyring(FIRST, SECOND)
BOTH = (FIRST.public_key, SECOND.public_key)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def looking(
    now: Callable[[], float] = time.monotonic,
    told: list[str] | None = None,
    patience: float = 5.0,
) -> AsyncIterator[Directories]:
    said = told if told is not None else []
    found = Directories(
        Reader(keyhouse.reach()),
        told=lambda url, why: said.append(f"{url}: {why}"),
        now=now,
        patience=patience,
    )
    try:
        yield found
    finally:
        await found.close()


async def judge(
    message: Message, directories: Directories, at: float = NOW + 1, seen: Seen | None = None
) -> Verification:
    return await discovery.verify(message, directories, Policy(), at, seen)


def reasons(verification: Verification) -> list[Reason | None]:
    return [one.reason for one in verification.labels]


@pytest.mark.parametrize("profile", [name for name in Name if name is not Name.AUTO])
async def test_both_labels_verify_by_what_their_home_publishes(profile: Name) -> None:
    async with keyhouse.opened(keyhouse.published(BOTH)) as house, looking() as directories:
        message = keyhouse.signed(RING, house.url(), profile=profile)
        verification = await judge(message, directories)
        again = await judge(message, directories)

    assert reasons(verification) == [None, None]
    assert again == verification
    assert len(house.asked) == (1 if profile in (Name.LEGACY, Name.PUBLISHED) else 2)


async def test_one_signature_verifies_though_the_set_of_the_other_is_away() -> None:
    async with keyhouse.opened(keyhouse.published([FIRST.public_key])) as house:
        well = house.answer

        async def answer(request: web.Request) -> web.StreamResponse:
            if request.path == directory.WELL_KNOWN:
                return await well(request)
            return web.Response(status=404)

        house.answer = answer
        async with looking() as directories:
            verification = await judge(keyhouse.signed(RING, house.url()), directories)

    assert verification.outcome is Outcome.VERIFIED
    assert reasons(verification) == [None, Reason.DIRECTORY_UNAVAILABLE]


@pytest.mark.parametrize(
    ("at", "reason"),
    [
        pytest.param(NOW + 3600, Reason.EXPIRED, id="expired"),
        pytest.param(NOW - 60, Reason.CLOCK_AHEAD, id="not yet made"),
    ],
)
async def test_what_fails_without_network_fetches_nothing(at: float, reason: Reason) -> None:
    async with keyhouse.opened(keyhouse.published(BOTH)) as house, looking() as directories:
        verification = await judge(keyhouse.signed(RING, house.url()), directories, at)

    assert reasons(verification) == [reason, reason]
    assert house.asked == []


async def test_garbage_fetches_nothing() -> None:
    async with keyhouse.opened(keyhouse.published(BOTH)) as house, looking() as directories:
        good = keyhouse.signed(RING, house.url())
        spoiled = [
            (name, value.replace("=:", "=::", 1) if name == "Signature" else value)
            for name, value in good.fields
        ]
        verification = await judge(replace(good, fields=tuple(spoiled)), directories)

    assert verification.outcome is Outcome.INVALID
    assert house.asked == []


async def test_a_thousand_requests_of_one_unknown_agent_cause_one_fetch() -> None:
    ready = asyncio.Event()
    well = keyhouse.published([FIRST.public_key])

    async def answer(request: web.Request) -> web.StreamResponse:
        await ready.wait()
        return await well(request)

    async with keyhouse.opened(answer) as house, looking() as directories:
        message = keyhouse.signed(RING, house.url(), labels=Labels.FIRST)
        tasks = [asyncio.create_task(judge(message, directories)) for _ in range(1000)]
        await house.reached(1)
        ready.set()
        verifications = await asyncio.gather(*tasks)

    assert {one.outcome for one in verifications} == {Outcome.VERIFIED}
    assert len(house.asked) == directories.fetches == 1


async def test_a_thousand_requests_of_an_agent_without_keys_cause_one_fetch() -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=404)

    async with keyhouse.opened(answer) as house, looking() as directories:
        message = keyhouse.signed(RING, house.url(), labels=Labels.FIRST)
        for _ in range(3):
            verifications = await asyncio.gather(*(judge(message, directories) for _ in range(350)))

    assert {tuple(reasons(one)) for one in verifications} == {(Reason.DIRECTORY_UNAVAILABLE,)}
    assert len(house.asked) == 1


async def test_whoever_gives_up_does_not_take_the_fetch_from_the_others() -> None:
    ready = asyncio.Event()
    well = keyhouse.published([FIRST.public_key])

    async def answer(request: web.Request) -> web.StreamResponse:
        await ready.wait()
        return await well(request)

    async with keyhouse.opened(answer) as house, looking() as directories:
        message = keyhouse.signed(RING, house.url(), labels=Labels.FIRST)
        hasty, patient = (asyncio.create_task(judge(message, directories)) for _ in range(2))
        await house.reached(1)
        hasty.cancel()
        ready.set()
        verification = await patient

    assert verification.outcome is Outcome.VERIFIED
    assert hasty.cancelled()
    assert len(house.asked) == 1


async def test_a_set_that_cannot_be_read_again_goes_on_verifying() -> None:
    clock = Clock()
    async with keyhouse.opened(keyhouse.published([FIRST.public_key])) as house:
        message = keyhouse.signed(RING, house.url(), labels=Labels.FIRST)
        async with looking(clock) as directories:
            await judge(message, directories)

            async def away(_: web.Request) -> web.Response:
                return web.Response(status=503)

            house.answer = away
            clock.now = shelf.USUAL + 1
            during = await judge(message, directories)
            clock.now += shelf.STALE + shelf.NEGATIVE
            after = await judge(message, directories)

    assert reasons(during) == [None]
    assert reasons(after) == [Reason.DIRECTORY_UNAVAILABLE]
    assert len(house.asked) == 3


async def test_a_key_that_its_home_has_dropped_verifies_no_more() -> None:
    clock = Clock()
    async with keyhouse.opened(keyhouse.published([FIRST.public_key])) as house:
        message = keyhouse.signed(RING, house.url(), labels=Labels.FIRST)
        async with looking(clock) as directories:
            before = await judge(message, directories)
            house.answer = keyhouse.published([])
            clock.now = shelf.USUAL + 1
            after = await judge(message, directories)

    assert reasons(before) == [None]
    assert reasons(after) == [Reason.UNKNOWN_KEY]


async def test_a_key_that_its_home_has_added_is_found_after_a_minute() -> None:
    clock = Clock()
    async with keyhouse.opened(keyhouse.published([])) as house:
        message = keyhouse.signed(RING, house.url(), labels=Labels.FIRST)
        async with looking(clock) as directories:
            found = [reasons(await judge(message, directories))]
            house.answer = keyhouse.published([FIRST.public_key])
            for moment in (1.0, shelf.RECHECK + 1):
                clock.now = moment
                found.append(reasons(await judge(message, directories)))

    assert found == [[Reason.UNKNOWN_KEY], [Reason.UNKNOWN_KEY], [None]]


@pytest.mark.parametrize(
    ("held", "reason"),
    [
        pytest.param(
            replace(FIRST.public_key, not_before=NOW + 60), Reason.UNKNOWN_KEY, id="nbf to come"
        ),
        pytest.param(
            replace(FIRST.public_key, expires=NOW - 60), Reason.UNKNOWN_KEY, id="exp is past"
        ),
        pytest.param(
            keys.generate(algorithms.ED25519).public_key, Reason.UNKNOWN_KEY, id="another key"
        ),
    ],
)
async def test_a_set_without_a_usable_key_leaves_it_unknown(
    held: PublicKey, reason: Reason
) -> None:
    async with keyhouse.opened(keyhouse.published([held])) as house, looking() as directories:
        message = keyhouse.signed(RING, house.url(), labels=Labels.FIRST)
        verification = await judge(message, directories)

    assert reasons(verification) == [reason]


async def test_a_key_counts_at_its_own_home_only() -> None:
    """Anybody may publish anybody's key; a set is looked up by its URL, never by a keyid."""
    told: list[str] = []
    async with keyhouse.opened(keyhouse.published([FIRST.public_key])) as house:
        well = house.answer

        async def answer(request: web.Request) -> web.StreamResponse:
            return await well(request) if "bot." in request.host else web.Response(status=404)

        house.answer = answer
        async with looking(told=told) as directories:
            for name, expected in (("bot", None), ("other", Reason.DIRECTORY_UNAVAILABLE)):
                message = keyhouse.signed(
                    RING, house.url(name=name), labels=Labels.FIRST, profile=Name.LEGACY
                )
                verification = await judge(message, directories)

                assert reasons(verification) == [expected]

    assert told == [f"{house.url(directory.WELL_KNOWN, 'other')}: it answers 404, only 200 counts"]


async def test_whoever_invents_urls_is_refused_after_two_and_keeps_no_set_stale() -> None:
    clock = Clock()
    async with keyhouse.opened(keyhouse.published([FIRST.public_key])) as house:
        message = keyhouse.signed(RING, house.url(), labels=Labels.FIRST)
        async with looking(clock) as directories:
            await judge(message, directories)
            clock.now = shelf.USUAL + 1
            for number in range(20):
                await directories.ask(house.url(f"/invented/{number}"))
            verification = await judge(message, directories)

    assert reasons(verification) == [None]
    assert len(house.asked) == 1 + SLOTS[Share.OTHER] + 1


class Gathering(Reader):
    """Reads nothing before it may, and writes down what it should have read."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.most = self.at_once = 0
        self.go = asyncio.Event()

    async def read(self, url: str) -> Read:
        self.asked.append(url)
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await self.go.wait()
        self.at_once -= 1
        raise NoKeySet(Reason.DIRECTORY_UNAVAILABLE, "nothing there")


async def test_eight_sets_are_read_at_once_and_the_rest_waits_its_turn() -> None:
    told: list[str] = []
    reader = Gathering()
    directories = Directories(reader, told=lambda url, _: told.append(url))
    tasks = [
        asyncio.create_task(directories.ask(f"https://{number}.example")) for number in range(100)
    ]
    for _ in range(2):  # all have asked, the first are reading
        await asyncio.sleep(0)
    refused = len(told)
    reader.go.set()
    await asyncio.gather(*tasks)
    await directories.close()

    assert reader.most == discovery.IN_FLIGHT
    assert refused == 100 - discovery.IN_FLIGHT - discovery.WAITING
    assert len(reader.asked) == discovery.IN_FLIGHT + discovery.WAITING


async def test_the_sets_of_known_agents_wait_for_nobody_elses() -> None:
    reader = Gathering()
    directories = Directories(reader, known={"https://bot.example:8443"}, patience=0.01)
    names = [f"https://{number}.example" for number in range(100)]
    names += [f"https://bot.example/junk{number}" for number in range(20)]
    names += [f"https://bot.example:{port}" for port in range(1, 20)]
    await asyncio.gather(*map(directories.ask, names))
    before = reader.most
    await directories.ask("https://bot.example:8443")
    last = reader.asked[-1]
    await directories.close()

    assert before == discovery.IN_FLIGHT - discovery.FOR_KNOWN
    assert last == f"https://bot.example:8443{directory.WELL_KNOWN}"


async def test_whoever_invents_urls_of_an_origin_keeps_nobody_from_its_own_sets() -> None:
    reader, clock = Gathering(), Clock()
    reader.go.set()
    directories = Directories(reader, now=clock)
    homes = [f"https://bot.example{path}" for path in ("", SECOND_KEYS_PATH)]
    for minute in range(5):
        clock.now = minute * 61.0
        for number in range(20):
            await directories.ask(f"https://bot.example/junk{minute}-{number}")
            await directories.ask(f"https://bot.example:{number}{minute}0")
        for home in homes:
            await directories.ask(home)
    await directories.close()

    for home in homes:
        assert reader.asked.count(naming.location(home)) == 5
    assert len(reader.asked) == 5 * (2 + SLOTS[Share.OTHER] + SLOTS[Share.ALIKE])


async def test_one_invented_url_of_an_origin_is_read_at_a_time() -> None:
    reader = Gathering()
    directories = Directories(reader)
    names = [f"https://bot.example/{number}" for number in range(4)]
    tasks = [asyncio.create_task(directories.ask(name)) for name in names]
    await asyncio.sleep(0)
    reader.go.set()
    await asyncio.gather(*tasks)
    at_once = list(reader.asked)
    await directories.ask(names[3])
    await directories.close()

    assert at_once == names[:1]
    assert reader.asked == [names[0], names[3]]


async def test_a_request_causes_a_few_fetches_whatever_it_names() -> None:
    reader = Gathering()
    reader.go.set()
    directories = Directories(reader)
    message = keyhouse.signed(RING, "https://bot.example", labels=Labels.FIRST)
    fields = {name.lower(): value for name, value in message.fields}
    many = {
        name: ", ".join(
            fields[name]
            .replace('key="sig1"', f'key="sig{number}"')
            .replace("sig1=", f"sig{number}=", 1)
            .replace("bot.example", f"{number}.example")
            for number in range(1, 9)
        )
        for name in ("signature-agent", "signature-input", "signature")
    }
    asked = replace(message, fields=tuple((fields | many).items()))
    verification = await judge(asked, directories)
    await directories.close()

    assert len(verification.labels) == 8
    assert len(reader.asked) == discovery.PER_REQUEST


@pytest.mark.parametrize("at_hand", ["", "/.well-known/bot-pq-jwks.json"], ids=["sig1", "sig2"])
async def test_a_request_that_is_judged_twice_is_remembered_once(at_hand: str) -> None:
    asked: list[ReplayKey] = []

    def seen(key: ReplayKey, _until: int) -> bool:
        asked.append(key)
        return asked.count(key) > 1

    async with keyhouse.opened(keyhouse.published(BOTH)) as house, looking() as directories:
        await directories.ask(house.url(at_hand))  # the other label's set is not
        message = keyhouse.signed(RING, house.url())
        first = await judge(message, directories, seen=seen)
        second = await judge(message, directories, seen=seen)

    assert reasons(first) == [None, None]
    assert reasons(second) == [Reason.REPLAYED, Reason.REPLAYED]
    assert len(asked) == 4


def verified(found: Verification) -> bool:
    return found.outcome is Outcome.VERIFIED


@pytest.mark.parametrize("warm", [True, False], ids=["sig1 at hand", "nothing at hand"])
async def test_nobody_waits_for_a_set_that_nothing_depends_on(warm: bool) -> None:
    go = asyncio.Event()
    well = keyhouse.published(BOTH)

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path == SECOND_KEYS_PATH:
            await go.wait()
        return await well(request)

    seen = Memory(now=lambda: float(NOW))
    async with keyhouse.opened(answer) as house, looking() as directories:
        message = keyhouse.signed(RING, house.url())
        fields = dict(message.fields)
        alone = replace(
            message,
            fields=tuple(
                (name, value.partition(", ")[2] if name.startswith("Signature") else value)
                for name, value in fields.items()
            ),
        )
        if warm:
            await directories.ask(house.url())
        judged = [
            await discovery.verify(one, directories, Policy(), NOW + 1, seen, enough=verified)
            for one in (message, message)
        ]
        go.set()
        await asyncio.gather(*directories._rests)
        judged.append(await discovery.verify(alone, directories, Policy(), NOW + 1, seen))

    away = Reason.DIRECTORY_UNAVAILABLE
    assert list(map(reasons, judged)) == [[None, away], [Reason.REPLAYED, away], [Reason.REPLAYED]]
    assert len(house.asked) == 2


async def test_without_a_memory_there_is_nothing_left_to_do_but_to_read() -> None:
    reader = Gathering()
    pinned = {"https://bot.example": KeySet(BOTH)}
    directories = Directories(reader, pinned=pinned)
    message = keyhouse.signed(RING, "https://bot.example")
    fields = tuple(
        (name, value.replace("https://bot.example/.w", "https://other.example/.w"))
        for name, value in message.fields
    )
    found = await discovery.verify(
        replace(message, fields=fields), directories, Policy(), NOW + 1, enough=verified
    )
    reader.go.set()
    await asyncio.gather(*directories._rests)
    await directories.close()

    assert reasons(found) == [None, Reason.DIRECTORY_UNAVAILABLE]
    assert reader.asked == [f"https://other.example{SECOND_KEYS_PATH}"]


async def test_where_too_much_is_still_to_be_done_requests_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(discovery, "RESTS", 0)
    async with keyhouse.opened(keyhouse.published(BOTH)) as house, looking() as directories:
        message = keyhouse.signed(RING, house.url())
        await directories.ask(house.url())
        found = await discovery.verify(message, directories, Policy(), NOW + 1, enough=verified)

    assert reasons(found) == [None, None]


async def test_sets_that_come_one_after_the_other_are_all_judged() -> None:
    async with keyhouse.opened(keyhouse.published(BOTH)) as house, looking() as directories:
        message = keyhouse.signed(RING, house.url())
        found = await discovery.verify(message, directories, Policy(), NOW + 1, enough=verified)

    assert reasons(found) == [None, None]


async def test_a_memory_that_several_share_says_which_of_the_labels_came_again(
    tmp_path: Path,
) -> None:
    seen = Shared(tmp_path / "replay.db", now=lambda: float(NOW))
    directories = Directories(Reader(), pinned={"https://bot.example": KeySet(BOTH)})
    message = keyhouse.signed(RING, "https://bot.example")
    half = keyhouse.signed(RING, "https://bot.example", labels=Labels.FIRST)
    found = [
        await discovery.verify(one, directories, Policy(), NOW + 1, seen)
        for one in (half, message, message)
    ]
    await directories.close()
    seen.close()

    assert list(map(reasons, found)) == [
        [None],
        [Reason.REPLAYED, None],
        [Reason.REPLAYED, Reason.REPLAYED],
    ]
    assert [one.outcome for one in found] == ["verified", "verified", "invalid"]


async def test_a_home_whose_keys_are_pinned_is_not_asked() -> None:
    home = "https://bot.example"
    directories = Directories(Reader(), pinned={home: KeySet(BOTH)})
    strange = Keyring(keys.generate(algorithms.ED25519), None)

    verification = await judge(keyhouse.signed(RING, home), directories)
    other = await judge(keyhouse.signed(strange, home, labels=Labels.FIRST), directories)
    await directories.close()

    assert reasons(verification) == [None, None]
    assert reasons(other) == [Reason.UNKNOWN_KEY]
    assert directories.fetches == 0


async def test_a_file_beside_a_home_whose_keys_are_pinned_is_not_its_own() -> None:
    home, keyid = "https://bot.example", FIRST.public_key.keyid
    directories = Directories(Reader(), pinned={home: KeySet(BOTH)})
    found = [
        directories.known(f"{home}{path}", keyid)
        for path in ("", directory.WELL_KNOWN, SECOND_KEYS_PATH, "/uploads/mallory.json")
    ]
    await directories.close()

    assert found == [FIRST.public_key] * 3 + [None]


async def test_what_is_under_way_ends_with_the_directories() -> None:
    async def answer(_: web.Request) -> web.Response:
        await asyncio.sleep(60)
        raise AssertionError("nobody waits so long")

    async with keyhouse.opened(answer) as house:
        async with looking() as directories:
            task = asyncio.create_task(directories.ask(house.url()))
            await house.reached(1)
        await task

    assert not directories._under_way


async def test_nobody_waits_longer_than_he_has_patience_for() -> None:
    go = asyncio.Event()
    well = keyhouse.published([FIRST.public_key])

    async def answer(request: web.Request) -> web.StreamResponse:
        await go.wait()
        return await well(request)

    async with keyhouse.opened(answer) as house, looking(patience=0.05) as directories:
        message = keyhouse.signed(RING, house.url(), labels=Labels.FIRST)
        hasty = await judge(message, directories)
        go.set()
        await asyncio.wait(directories._under_way.values())
        lucky = await judge(message, directories)

    assert reasons(hasty) == [Reason.DIRECTORY_UNAVAILABLE]
    assert reasons(lucky) == [None]
    assert len(house.asked) == 1


async def test_a_mistake_of_our_own_is_no_missing_key() -> None:
    class Broken(Reader):
        async def read(self, url: str) -> Read:
            raise ZeroDivisionError

    directories = Directories(Broken())
    with pytest.raises(ZeroDivisionError):
        await directories.ask("https://bot.example")
    await directories.close()
