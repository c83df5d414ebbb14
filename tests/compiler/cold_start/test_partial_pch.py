import os
import shutil
import subprocess
import sys
import time

import pytest

from tests.older_releases import since
from workbench.compiler.cold_start import partial_pch
from workbench.compiler.cold_start.partial_pch import (
    PartialPch,
    compile_arguments,
    list_expected_arguments,
    precompiling,
    read_opening,
)
from workbench.compiler.internals import torch_private as tp

SLEEP = "import time; time.sleep(60)"
LINE = "g++ i.cpp -O3 -D A -o o.so -ltorch"


@pytest.fixture
def avx2(monkeypatch):
    monkeypatch.setattr(type(tp.CPU_CAPABILITY), "get", lambda _: lambda: "AVX2")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})


@pytest.fixture
def compiler(monkeypatch):
    """Stand in for g++ with a Python program; returns how to choose the program."""

    def choose(program):
        popen = subprocess.Popen
        monkeypatch.setattr(
            partial_pch.subprocess,
            "Popen",
            lambda command, **options: popen([sys.executable, "-c", program], **options),
        )

    return choose


def started(program):
    return subprocess.Popen([sys.executable, "-c", program], start_new_session=True)


def test_the_arguments_are_those_that_decide_over_a_header():
    assert compile_arguments(LINE) == ("g++", "-O3", "-D", "A")
    assert compile_arguments("g++ i -O3") == ("g++", "-O3")


def test_a_header_for_other_arguments_is_not_used(tmp_path):
    done = started("")
    header = PartialPch(done, tmp_path / "opening.h", compile_arguments(LINE))
    assert header.for_command(LINE) == str(tmp_path / "opening.h")
    assert header.for_command(LINE.replace("-O3", "-O2")) is None
    assert header.for_command(LINE.replace("g++", "clang++")) is None


def test_a_failed_compiler_gives_no_header(tmp_path):
    header = PartialPch(started("raise SystemExit(1)"), tmp_path / "h", compile_arguments(LINE))
    header.process.wait()
    assert header.for_command(LINE) is None


def test_a_slow_compiler_is_ended_not_waited_for(tmp_path):
    header = PartialPch(started(SLEEP), tmp_path / "h", compile_arguments(LINE))
    before = time.perf_counter()
    assert header.for_command(LINE) is None
    assert time.perf_counter() - before < partial_pch.PATIENCE_SECONDS + 5
    assert header.process.poll() is not None
    assert header.for_command(LINE) is None


@since("2.13", "kernels begin with other headers, so that none is precompiled early")
@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_nothing_is_left(error, tmp_path, avx2, compiler):
    compiler(SLEEP)

    def use():
        with precompiling(tmp_path / "headers") as pch:
            found.append(pch)
            assert list((tmp_path / "headers").iterdir())
            if error:
                raise error

    found = []
    if error:
        with pytest.raises(error):
            use()
    else:
        use()
    assert found[0].process.poll() is not None
    assert list((tmp_path / "headers").iterdir()) == []


def test_nothing_is_begun_where_it_cannot_help(tmp_path, avx2, compiler, monkeypatch):
    compiler(SLEEP)
    with precompiling(None) as pch:
        assert pch is None
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    with precompiling(tmp_path) as pch:
        assert pch is None


def test_a_machine_without_the_compiler(tmp_path, avx2, monkeypatch):
    monkeypatch.setattr(partial_pch, "list_expected_arguments", lambda: ("no-such-compiler",))
    with precompiling(tmp_path) as pch:
        assert pch is None
    assert list(tmp_path.iterdir()) == []


@since("2.13", "kernels begin with other headers, so that none is precompiled early")
def test_what_a_killed_process_left_is_removed(tmp_path, avx2, compiler):
    compiler("")
    old, new = tmp_path / "early-old", tmp_path / "early-new"
    old.mkdir(), new.mkdir()
    os.utime(old, (0, 0))
    with precompiling(tmp_path):
        assert not old.exists()
    assert new.exists()


@since("2.13", "kernels begin with other headers, so that none is precompiled early")
def test_the_opening_stops_before_what_takes_long():
    names = read_opening()
    assert names[0] == "<omp.h>"
    assert "<vector>" in names
    assert not any("ATen" in name for name in names)


@pytest.mark.slow
def test_the_guess_is_what_torch_passes_and_the_compiler_takes_the_header(tmp_path):
    """On a processor with AVX2 only, in a process where nobody changed an option."""
    if tp.CPU_CAPABILITY.get()() != "AVX2" or shutil.which("g++") is None:
        pytest.skip("the guess is for AVX2 and g++")
    with precompiling(tmp_path) as pch:
        assert pch is not None
        assert pch.process.wait(100) == 0
        source = tmp_path / "kernel.cpp"
        source.write_text("#include <torch/csrc/inductor/cpp_prefix.h>\n")
        done = subprocess.run(
            [
                *list_expected_arguments(),
                "-include",
                str(pch.header),
                "-H",
                "-fsyntax-only",
                "-Winvalid-pch",
                str(source),
            ],
            capture_output=True,
            text=True,
            timeout=100,
        )
    assert f"! {pch.header}.gch" in done.stderr
    assert "invalid-pch" not in done.stderr
    assert arguments_of_torch() == list_expected_arguments()


def arguments_of_torch():
    cache, isa = tp.CPP_BINDINGS_CACHE.get(), tp.PICK_VEC_ISA.get()()
    flags = {**cache.cpp_compile_command_flags, "vec_isa": isa, "device_type": "cpu"}
    options = tp.CPP_BUILD_OPTIONS.get()(**flags)
    builder = tp.CPP_BUILDER.get()(name="o", sources="i", BuildOption=options)
    return compile_arguments(builder.get_command_line())
