"""What judging costs for what a stranger sends: 64 KiB made to be dear, before any key is known.

    python tests/bench/bench_hostile.py [--short]

CPU of `verify()` for messages whose fields have up to 64 KiB together, each shaped against
something else: members, labels, folds, pieces. Some are just small enough to be read. The aim is
50 ms; it fails (exit code 1) past three times that, since other machines are slower. --short takes
the best of two runs instead of five.
"""

import argparse
import sys
from collections.abc import Iterator
from time import thread_time_ns
from typing import Final

from signing.message import Message
from signing.verifier import Policy, Reason, verify

AIM: Final = 50.0  # milliseconds
LIMIT: Final = 3 * AIM
SIZE: Final = 65_536
NOW: Final = 1_800_000_000
TAIL: Final = f';created={NOW - 3};expires={NOW + 60};keyid="k";tag="web-bot-auth"'
OWN: Final = '"@authority" "signature-agent";key="sig1"'

Fields = tuple[tuple[str, str], ...]


def one(covered: str, *more: tuple[str, str], tail: str = TAIL, value: str = ":AAAA:") -> Fields:
    """One label and what it covers."""
    return (
        ("Signature-Agent", 'sig1="https://a.example"'),
        ("Signature-Input", f"sig1=({covered}){tail}"),
        ("Signature", f"sig1={value}"),
        *more,
    )


def several(covered: str, labels: int, *more: tuple[str, str]) -> Fields:
    """Labels that all cover the same, under one agent."""
    names = [f"s{number}" for number in range(labels)]
    return (
        ("Signature-Agent", '"https://a.example"'),
        ("Signature-Input", ", ".join(f"{name}=({covered}){TAIL}" for name in names)),
        ("Signature", ", ".join(f"{name}=:AAAA:" for name in names)),
        *more,
    )


def agents(labels: int, filler: int) -> Fields:
    """Labels with a member of Signature-Agent each, and further members that nobody asks for."""
    names = [f"s{number}" for number in range(labels)]
    inputs = [f'{name}=("@authority" "signature-agent";key="{name}"){TAIL}' for name in names]
    own = [f'{name}="https://a.example"' for name in names]
    return (
        ("Signature-Agent", ",".join([*own, *(f"z{number}" for number in range(filler))])),
        ("Signature-Input", ",".join(inputs)),
        ("Signature", ",".join(f"{name}=:AAAA:" for name in names)),
    )


def hostile() -> Iterator[tuple[str, Fields]]:
    """Each message with the name of what it is dear for."""
    for count in (30, 60, 550, 3_000):
        keyed = " ".join(f'"a";key="k{number}"' for number in range(count))
        members = ",".join(f"k{number}" for number in range(count))
        yield f"{count} members of one dictionary", one(f"{OWN} {keyed}", ("A", members))
    for labels, filler in ((8, 1_500), (8, 10_000), (70, 900), (560, 500)):
        yield f"{labels} labels and {filler} other agents", agents(labels, filler)
    minimal = ",".join(f's{number}=();tag="web-bot-auth"' for number in range(1_500))
    values = ",".join(f"s{number}=:AAAA:" for number in range(1_500))
    yield "1500 labels of nothing", (("Signature-Input", minimal), ("Signature", values))
    folded = ("A", f"x{' ' * (SIZE - 500)}x\n y")
    yield "blanks before no fold", one(f'{OWN} "a"', folded)
    yield "nothing but folds", one(f'{OWN} "a"', ("A", "x\n " * (SIZE // 3 - 200) + "x"))
    plain = ("A", "x" * (SIZE - 2_000))
    yield "one long field under 8 labels", several('"@authority" "signature-agent" "a"', 8, plain)
    usual = several('"@authority" "signature-agent" "a"', 6, ("A", "x" * (SIZE - 2_000)))
    yield "one long field under 6 usual labels", usual
    lines = tuple((f"X{number}", "v") for number in range(5_000))
    names = " ".join(f'"x{number}"' for number in range(60))
    yield (
        "60 of 5000 fields under 8 labels",
        several(f'"@authority" "signature-agent" {names}', 8, *lines),
    )
    yield "5000 lines of one field", one(f'{OWN} "a" "a";key="b"', *(("A", "b"),) * 5_000)
    for name, piece in PIECES.items():
        for most in (1_800, SIZE):
            inner = piece * min(most, SIZE // len(piece) - 50)
            member = ("A", f"b=({inner})")
            yield (
                f"{len(inner) // len(piece)} {name}",
                several('"@authority" "signature-agent" "a";key="b"', 8, member),
            )
    small = tuple((f"F{number}", f"b=({'1 ' * 500})") for number in range(60))
    for labels in (1, 8):
        keyed = " ".join(f'"f{number}";key="b"' for number in range(60))
        yield (
            f"60 lists of numbers, {labels} labels",
            several(f'"@authority" "signature-agent" {keyed}', labels, *small),
        )
    yield "64 KiB of a string", one(f'"{"a" * SIZE}"')
    yield "64 KiB of escapes", one('"' + '\\"' * (SIZE // 2) + '"')
    yield "64 KiB of a signature", one(OWN, value=f":{'A' * SIZE}:")
    yield "64 KiB of a signature with stray bits", one(OWN, value=f":{'A' * (SIZE - 1)}B==:")
    yield "64 KiB of colons", one(OWN, value=":" * SIZE)
    yield "64 KiB of empty values", one(OWN, value=", a=::" * (SIZE // 6))
    yield "64 KiB of a list", one(f'{OWN} "{"a" * 200}"' + f' "{"a" * 200}"' * (SIZE // 204))
    yield "64 KiB of a tag", one(OWN, tail=TAIL.replace('tag="', f'x="{"a" * SIZE}";tag="'))
    yield (
        "64 KiB of an agent",
        (
            ("Signature-Agent", f'"https://{"a" * SIZE}"'),
            *several('"@authority" "signature-agent"', 8)[1:],
        ),
    )
    yield "64 KiB of parameters", one(OWN, tail="".join(f";a{n}" for n in range(9_000)) + TAIL)
    yield "64 KiB of open brackets", one("(" * SIZE)
    yield "64 KiB of quotation marks", one(OWN, tail='"' * SIZE)


PIECES: Final = {
    "numbers": "1 ",
    "decimals": "1.0 ",
    "tokens": "a ",
    "dates": "@1 ",
    "strings": '"" ',
    "byte sequences": ":: ",
    "display strings": '%"" ',
    "flags": "?1 ",
    "parameters": "1;a ",
}


def spent(fields: Fields) -> tuple[float, str]:
    """Milliseconds of CPU, and what came of it."""
    message = Message(
        method="GET", scheme="https", authority="example.com", target="/", fields=fields
    )
    began = thread_time_ns()
    found = verify(message, lambda *_: Reason.UNKNOWN_KEY, Policy(), float(NOW))
    took = (thread_time_ns() - began) / 1e6
    return took, found.reason or str(found.labels[0].reason)


def main() -> int:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="best of 2 runs, not of 5")
    runs = 2 if parser.parse_args().short else 5
    dearest = 0.0
    for name, fields in hostile():
        took, outcome = min(spent(fields) for _ in range(runs))
        dearest = max(dearest, took)
        size = sum(len(field) + len(value) for field, value in fields)
        print(f"{name:40} {size / 1024:5.0f} KiB {took:7.1f} ms CPU  {outcome}")
    verdict = "FAILED" if dearest > LIMIT else "ok"
    print(f"dearest {dearest:.1f} ms (the aim {AIM:.0f}, at most {LIMIT:.0f}) {verdict}")
    return int(dearest > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
