"""Feed the parsers and the verifier with what atheris thinks up, guided by what it covers.

    python -m venv /tmp/fuzz && /tmp/fuzz/bin/pip install atheris -e .
    nice -n 19 /tmp/fuzz/bin/python tests/fuzz/fuzz_signing.py /tmp/corpus -max_total_time=600
    python tests/fuzz/fuzz_signing.py --replay /tmp/corpus

`feeding` says what has to hold. Under atheris all is too slow to be measured, so a replay looks how
much CPU each input of the corpus takes: 50 ms is the aim, past three times that it fails (exit code
1), as bench_hostile does.
"""

import sys
from pathlib import Path
from time import thread_time
from typing import Final

AIM: Final = 50.0  # milliseconds
LONGEST: Final = 65_536  # bytes of one input


def fuzz(corpus: Path, options: list[str]) -> None:
    """Run until the options of libFuzzer say that it is enough, or something is found."""
    import atheris  # type: ignore[import-untyped]  # in an environment of its own

    with atheris.instrument_imports(include=["signing", "http_sf", "feeding", "general"]):
        from feeding import SEEDS, feed

    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(SEEDS):
        (corpus / f"seed-{number:02}").write_bytes(seed)
    atheris.Setup([sys.argv[0], str(corpus), f"-max_len={LONGEST}", *options], feed)
    atheris.Fuzz()


def replay(corpus: Path) -> int:
    """Put each input through once more and say what the dearest took."""
    from feeding import feed

    spent = []
    for path in sorted(corpus.iterdir()):
        data = path.read_bytes()
        feed(data)  # what is kept from one to the next is no part of it
        began = thread_time()
        feed(data)
        spent.append(((thread_time() - began) * 1e3, path.name))
    dearest, name = max(spent)
    verdict = "FAILED" if dearest > 3 * AIM else "ok"
    print(f"{len(spent)} inputs, the dearest {dearest:.1f} ms CPU ({name}) {verdict}")
    return int(dearest > 3 * AIM)


def main() -> int:
    """Fuzz, or replay."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    match sys.argv[1:]:
        case ["--replay", corpus]:
            return replay(Path(corpus))
        case [corpus, *options] if not corpus.startswith("-"):
            fuzz(Path(corpus), options)
            return 0
        case _:
            print(__doc__, file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main())
