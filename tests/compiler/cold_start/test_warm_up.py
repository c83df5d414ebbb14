import dataclasses
import os

import pytest

from workbench.compiler.cold_start.warm_up import WarmUp, _alone, _Done, start_warming
from workbench.processes.child import Child
from workbench.settings import Settings


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Starts a warm-up whose program is this code."""
    monkeypatch.syspath_prepend(tmp_path)

    def start(code):
        (tmp_path / "program.py").write_text(f"def main(parent):\n    {code}\n")
        return WarmUp(Child("program"))

    return start


@pytest.mark.parametrize(("code", "state"), [("return 0", "done"), ("return 75", "busy")])
def test_the_end_is_told(started, code, state):
    warm_up = started(code)
    assert warm_up.wait(30) == state
    assert warm_up.error is None


def test_a_failure_is_visible(started):
    warm_up = started("raise OSError('no compiler')")
    assert warm_up.wait(30) == "failed"
    assert "OSError: no compiler" in warm_up.error


def test_stop_ends_it(started):
    warm_up = started("import time; time.sleep(600)")
    assert warm_up.state == "running"
    warm_up.stop()
    warm_up.stop()
    assert repr(warm_up) == "WarmUp(stopped)"


def test_it_never_raises(tmp_path):
    (tmp_path / "file").write_text("")
    warm_up = start_warming(Settings(tmp_path / "file" / "cache", tmp_path))
    assert warm_up.state == "failed"
    assert "Not a directory" in warm_up.error


def test_one_at_a_time(tmp_path):
    lock = _alone(tmp_path / "cache")
    assert lock is not None
    assert _alone(tmp_path / "cache") is None
    second = start_warming(Settings(tmp_path / "cache", tmp_path))
    assert second.wait(60) == "busy"
    lock.close()


@pytest.mark.slow
def test_it_leaves_a_header_behind(tmp_path):
    settings = dataclasses.replace(
        Settings.from_environment(), cache_folder=tmp_path / "cache", inductor_cache=None
    )
    warm_up = start_warming(settings)
    assert warm_up.wait(300) == "done", warm_up.error
    assert list(settings.cache_folder.glob("*/precompiled_headers/*.ready"))
    assert list(settings.cache_folder.glob("*/precompiled_headers/*.gch"))
    assert _Done.of(settings).is_so()


def test_a_machine_that_is_warm_is_left_alone(tmp_path):
    settings = Settings(tmp_path / "cache", tmp_path)
    (tmp_path / "cache" / "torch").mkdir(parents=True)
    done = _Done.of(settings)
    assert not done.is_so()
    done.write(tmp_path / "cache" / "torch")
    warm_up = start_warming(settings)
    assert warm_up.wait(60) == "done"
    assert list((tmp_path / "cache" / "torch").iterdir()) == []  # nothing was compiled


def test_it_is_warmed_again_after_a_restart_and_without_its_cache(tmp_path):
    done = _Done.of(Settings(tmp_path, tmp_path))
    done.write(tmp_path)
    assert done.is_so()
    os.utime(done.note, (1, 1))
    assert not done.is_so()
    done.write(tmp_path / "deleted")
    assert not done.is_so()
