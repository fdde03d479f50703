"""`crawl keys rotate` and `retire`: what signs in the place of what."""

import time
from collections.abc import Sequence

import msgspec

from crawler import configuration
from crawler.commands import keys
from crawler.fetch import keychange, keyrotation, keystate
from crawler.problems import UsageProblem
from crawler.settings import Settings

ALL_ARE_TOLD = 86_400  # seconds for which sites may keep a key set: our max-age


def rotate(
    settings: Settings, names: Sequence[str], to: Sequence[str], wait: str, keep: str, form: str
) -> None:
    """Put new keys, or the keys `to`, in the place of those that sign, and say when."""
    if names and to:
        raise UsageProblem("--algorithm and --to", "--to says which key it is, whatever its kind")
    waits, keeps = _span("--wait", wait), _span("--keep", keep)
    turns = keyrotation.rotate(
        settings.keys_directory,
        time.time(),
        names=[algorithm.name for algorithm in keys.asked(settings, names)],
        to=to,
        wait=waits,
        keep=keeps,
    )
    if form == "json":
        told = [
            {
                "algorithm": turn.new.algorithm.name,
                "new": turn.new.keyid,
                "old": turn.old.keyid if turn.old else None,
                "sign_from": turn.since,
                "drop_from": turn.until,
                "instead_of": turn.instead,
            }
            for turn in turns
        ]
        print(msgspec.json.encode({"turns": told}).decode())
        return
    for turn in turns:
        since = keystate.shown(turn.since)
        print(f"{turn.new.algorithm.name}\n  {turn.new.keyid}  published now, signs from {since}")
        if turn.instead is not None:
            print(f"  {turn.new.keyid}  was to sign from {keystate.shown(turn.instead)} until now")
        if turn.old is not None and turn.until is not None:
            print(f"  {turn.old.keyid}  signs until then, dropped at {keystate.shown(turn.until)}")
    print("A running crawl and a running `crawl serve` go by this; no restart is needed.")
    if any(turn.old for turn in turns) and min(waits, keeps) < ALL_ARE_TOLD:
        print("Sites may keep a key set for a day: until then some of them may not verify us.")


def retire(settings: Settings, begin: str) -> None:
    """Let a key neither sign nor be published any more."""
    done = keychange.retire(settings.keys_directory, time.time(), begin)
    print(f"{done.file.keyid}: retired; it neither signs nor is published from now on")
    if done.signs is None:
        print(f"no {done.file.algorithm.name} key signs now; requests carry sig1 alone")
    else:
        print(f"{done.signs.keyid}: {keys.becoming(done.signs)}")
    if done.kept is not None:
        print(f"{done.kept.keyid}: is not dropped as it was to be, since nothing takes its place")


def _span(option: str, text: str) -> float:
    try:
        return configuration.duration(text)
    except ValueError as error:
        raise UsageProblem(f"{option}: {error}", "for example 1d, 12h or 0s") from error
