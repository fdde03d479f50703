"""One run at a time in a state directory."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from scarcity import room

from crawler.fetch.errors import AnotherRun, StateUnusable
from crawler.fetch.lock import RunLock

HOLDER = """
import sys, time
from pathlib import Path
from crawler.fetch.lock import RunLock

with RunLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(directory: Path) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, directory],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def test_a_second_process_is_told_who_holds_the_directory(tmp_path: Path) -> None:
    with holder(tmp_path) as child:
        with pytest.raises(AnotherRun, match=f"process {child.pid} is crawling") as caught:
            RunLock(tmp_path).__enter__()
        child.communicate()

    assert caught.value.pid == child.pid
    with RunLock(tmp_path):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_a_process_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    with holder(tmp_path) as child:
        child.send_signal(signal.SIGKILL)

    with RunLock(tmp_path):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"


def test_the_file_is_private_and_names_nobody_once_the_run_is_over(tmp_path: Path) -> None:
    with RunLock(tmp_path / "state"):
        pass

    path = tmp_path / "state" / "lock"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == b""


def test_a_holder_that_has_not_said_its_name_yet_is_another_process(tmp_path: Path) -> None:
    with RunLock(tmp_path):
        (tmp_path / "lock").write_text("")
        with pytest.raises(AnotherRun, match="another process") as caught:
            RunLock(tmp_path).__enter__()

    assert caught.value.pid is None


def test_a_place_that_cannot_be_a_directory_is_said(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")

    with pytest.raises(StateUnusable, match="state/lock: cannot be opened"):
        RunLock(tmp_path / "state").__enter__()


def test_a_full_disk_is_said_and_nothing_is_held(tmp_path: Path) -> None:
    with room(0), pytest.raises(StateUnusable, match="state/lock: cannot be written"):
        RunLock(tmp_path / "state").__enter__()

    with RunLock(tmp_path / "state") as lock:
        assert lock.path.read_text() == f"{os.getpid()}\n"
