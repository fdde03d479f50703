"""`crawl keys`: making and listing the keys that sign."""

import os
from collections.abc import Sequence

import msgspec

from crawler.fetch import keyfiles
from crawler.settings import Settings


def new(settings: Settings) -> None:
    """Make a key of each algorithm and say where it lies, and what is left to do where it waits."""
    folder = settings.keys_directory
    state = folder / keyfiles.STATE
    stated = state.exists()
    made = keyfiles.add(folder, ("ed25519", settings.signatures.second.algorithm))
    waiting = [file for file in made if file.standing is not keyfiles.Standing.SIGNING]
    for file in made:
        print(f"made {file.path}" + (": published, does not sign yet" if file in waiting else ""))
    if not waiting:
        return
    there = keyfiles.listing(folder)
    signing = [file for file in there if file.standing is keyfiles.Standing.SIGNING]
    replaced = {file.algorithm.name for file in waiting}
    old = [file.keyid for file in signing if file.algorithm.name in replaced]
    new = [file.keyid for file in signing if file.algorithm.name not in replaced]
    new += [file.keyid for file in waiting]
    retired = [file.keyid for file in there if file.standing is keyfiles.Standing.RETIRED]
    did = "is left as it is" if stated else "is written"
    print(
        f"""{state} {did}: what signed before signs on.

Next:
  1. Publish: a running `crawl serve` does already.
  2. Wait a day: that is how long sites may keep the key set of before.
  3. Sign with the new; no restart is needed. In {state}:
       signing = {_toml(new)}"""
    )
    if old:
        print(
            f"""  4. Publish the old no more, a day later. In {state}:
       retired = {_toml([*retired, *old])}"""
        )


def _toml(keyids: Sequence[str]) -> str:
    """A list of thumbprints as state.toml has it."""
    return msgspec.json.encode(keyids).decode().replace(",", ", ")


def show_all(settings: Settings, form: str) -> None:
    """Each key file: identifier, algorithm, standing, path, and the problem where there is one."""
    rows = [
        {
            "keyid": file.keyid,
            "algorithm": file.algorithm.name,
            "standing": str(file.standing),
            "file": os.fsencode(file.path).decode("utf-8", "replace"),  # JSON knows no bytes
            "problem": file.problem,
        }
        for file in keyfiles.listing(settings.keys_directory)
    ]
    if form == "json":
        print(msgspec.json.encode({"keys": rows}).decode())
        return
    head = {"keyid": "keyid", "algorithm": "algorithm", "standing": "standing", "file": "file"}
    for row in (head, *rows):
        problem = f"  {row['problem']}" if row.get("problem") else ""
        print(
            f"{row['keyid']:<43}  {row['algorithm']:<10}  {row['standing']:<9}  "
            f"{row['file']}{problem}"
        )
