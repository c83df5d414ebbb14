"""A child is asked and answers, says what it does, fails with our errors, and never lives on."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from workbench.errors import UsageError
from workbench.processes.child import Child
from workbench.processes.parent import Start

LONG = 60.0


def soon() -> float:
    return time.monotonic() + LONG


def is_gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def wait_until(condition: Callable[[], bool]) -> None:
    end = soon()
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


class Phases:
    """Listens to everything that can be told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def __call__(self, name: str, elapsed: float) -> None:
        self.told.append(("begin", name))

    def end(self, name: str, elapsed: float) -> None:
        self.told.append(("end", name))

    def kernel(self, name: str) -> None:
        self.told.append(("kernel", name))


def test_it_is_asked_and_answers(program: Callable[[str], str]) -> None:
    name = program("a, b = parent.receive()\nparent.done(a + b)")
    with Child(name) as child:
        assert child.ask((1, 2), deadline=soon()) == 3
        assert child.wait(LONG) == 0


def test_it_tells_what_it_does(program: Callable[[str], str]) -> None:
    name = program(
        "parent('compile', 0.0)\nparent.kernel('k0')\nparent.end('compile', 1.0)\n"
        "parent.send('something else')\nparent.done()"
    )
    phases, heard = Phases(), list[object]()
    with Child(name) as child:
        assert child.answer(phases, deadline=soon(), hear=heard.append) is None
    assert phases.told == [("begin", "compile"), ("kernel", "k0"), ("end", "compile")]
    assert heard == ["something else"]


def test_its_error_is_ours(program: Callable[[str], str]) -> None:
    name = program(
        "from workbench.errors import UsageError\n"
        "from workbench.processes.parent import Failed\n"
        "parent.send(Failed.of(UsageError('no such input')))"
    )
    with Child(name) as child, pytest.raises(UsageError, match="no such input"):
        child.answer(deadline=soon())


def test_how_it_ended_and_its_last_words_are_known(program: Callable[[str], str]) -> None:
    with Child(program("print('x' * 9000)\nraise OSError('no disk')")) as child:
        with pytest.raises(EOFError):
            child.answer(deadline=soon())
        assert child.how_it_ended() == "ended with code 1"
        assert child.last_words(30).endswith("OSError: no disk")
    with Child(program("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)")) as child:
        with pytest.raises(EOFError):
            child.receive(soon())
        assert child.how_it_ended() == "was ended by signal 11 (SIGSEGV)"


def test_an_answer_is_waited_for_until_the_deadline(program: Callable[[str], str]) -> None:
    with Child(program("import time\ntime.sleep(600)")) as child:
        with pytest.raises(TimeoutError):
            child.answer(deadline=time.monotonic() + 0.1)
        pid = child.pid
        assert child.code is None
    assert is_gone(pid)


def test_it_ends_with_what_it_started(program: Callable[[str], str]) -> None:
    started = "child = subprocess.Popen(['sleep', '600'])\nparent.done(child.pid)\nchild.wait()"
    with Child(program(f"import subprocess\n{started}")) as child:
        grandchild = child.answer(deadline=soon())
        assert not is_gone(grandchild)
    wait_until(lambda: is_gone(grandchild))


def test_it_works_where_its_parent_does(
    program: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = program(
        "import os, sys\nfind = os.environ.get\n"
        "parent.done((os.getcwd(), sys.path, find('OF_CHILD'), find('HIDDEN')))"
    )
    monkeypatch.setenv("HIDDEN", "1")
    monkeypatch.chdir(tmp_path)
    with Child(name, variables={"OF_CHILD": "2"}, hidden=("HIDDEN",)) as child:
        found = child.answer(deadline=soon())
    assert found == (os.getcwd(), [part or os.getcwd() for part in sys.path], "2", None)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with Child(name, place=Start((str(tmp_path), *sys.path), str(elsewhere))) as child:
        assert child.answer(deadline=soon())[0] == str(elsewhere)


def test_it_ends_with_its_parent_and_removes_its_folders(
    program: Callable[[str], str], tmp_path: Path
) -> None:
    name = program("parent.done()\nimport time\ntime.sleep(600)")
    (tmp_path / "left").mkdir()
    code = (
        "import os\nfrom workbench.processes.child import Child\n"
        f"child = Child({name!r}, temporary=({str(tmp_path / 'left')!r},))\n"
        "child.answer()\nprint(child.pid, flush=True)\nos._exit(1)\n"
    )
    path = os.pathsep.join(part or os.getcwd() for part in sys.path)
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    wait_until(lambda: is_gone(int(run.stdout)) and not (tmp_path / "left").exists())
