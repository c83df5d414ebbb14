import os
import random
import shutil
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace

import pytest
import torch

import workbench as wb
from tests.older_releases import since
from workbench.compiler.cold_start import compile_cache
from workbench.compiler.cold_start.compile_cache import (
    FastStart,
    find_trial_marker,
    has_vector_math,
    match_flags,
    partial_pch,
    read_gnu_release,
    start_fast,
    wrap_without_trial,
)
from workbench.compiler.internals import torch_private as tp
from workbench.settings import Settings
from workbench.temporary import make_private_folder

VARIABLE = "TORCHINDUCTOR_CACHE_DIR"


@pytest.fixture
def settings(tmp_path):
    return Settings(cache_folder=tmp_path / "cache", data_folder=tmp_path / "data")


def hooks():
    return tp.ISA_TRIAL.get(), tp.PRECOMPILE_HEADER.get()


def test_everything_is_undone_after_an_error(settings, monkeypatch):
    before = hooks()
    monkeypatch.delenv(VARIABLE, raising=False)

    def interrupted():
        with start_fast(settings):
            assert all(a is not b for a, b in zip(hooks(), before, strict=True))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert hooks() == before
    assert VARIABLE not in os.environ


def test_the_cache_is_ours_unless_the_user_chose_one(settings, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    with start_fast(settings) as start:
        assert os.environ[VARIABLE] == str(start.folder)
        assert start.folder.stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv(VARIABLE, "/somewhere/else")
    with start_fast(replace(settings, inductor_cache="/somewhere/else")):
        assert os.environ[VARIABLE] == "/somewhere/else"


def test_torchs_own_default_is_not_a_choice(settings, monkeypatch):
    default = os.path.abspath(tp.DEFAULT_CACHE_DIR.get()())
    monkeypatch.setenv(VARIABLE, default)
    with start_fast(replace(settings, inductor_cache=default)) as start:
        assert os.environ[VARIABLE] == str(start.folder)
    assert os.environ[VARIABLE] == default


def test_a_folder_that_cannot_be_written_costs_the_cache_only(tmp_path):
    (tmp_path / "file").write_text("")
    with start_fast(Settings(tmp_path / "file" / "cache", tmp_path)) as start:
        assert start.folder is None
    assert start.notes == ["no lasting cache: Not a directory"]


def test_a_machine_where_the_trial_disagreed_keeps_the_trial(settings):
    with start_fast(settings) as start:
        find_trial_marker(start.folder).touch()
    trial = tp.ISA_TRIAL.get()
    with start_fast(settings):
        assert tp.ISA_TRIAL.get() is trial


def test_the_header_is_built_once_it_pays(tmp_path):
    start = FastStart(tmp_path)
    built = []
    hook = compile_cache._Headers(start, tmp_path / "headers", patience=2).hook(
        lambda header, command, **options: built.append(header) or "header.h"
    )
    assert [hook("h", "g++ -O3") for _ in range(2)] == [None, None]
    assert start.header == "skipped"
    assert [hook("h", "g++ -O3") for _ in range(2)] == ["header.h", "header.h"]
    assert start.header == "built or reused"
    assert hook("h", "g++ -O2") is None  # another command line, another header
    assert built == ["h", "h"]


def test_a_header_whose_compiler_was_killed_is_built_again(tmp_path):
    header, built = tmp_path / "a.h", []

    def precompile(name, command, **options):
        if not (compiled := tmp_path / "a.h.gch").exists():
            built.append(name)
            compiled.write_bytes(b"gpch")
        return str(header)

    (tmp_path / "a.h.gch").touch()
    start = compile_cache.FastStart()
    hook = compile_cache._Headers(start, tmp_path / "headers", patience=0).hook(precompile)
    assert hook("torch.h", "g++") == hook("torch.h", "g++") == str(header)
    assert built == ["torch.h"]


def test_the_opening_serves_until_the_whole_header_pays(tmp_path):
    class Pch:
        def for_command(self, command_line):
            return "opening.h" if command_line == "g++ -O3" else None

    start = FastStart(tmp_path)
    headers = compile_cache._Headers(start, tmp_path / "headers", patience=2, pch=Pch())
    hook = headers.hook(lambda header, command, **options: "header.h")
    assert [hook("h", "g++ -O3") for _ in range(3)] == ["opening.h", "opening.h", "header.h"]
    assert hook("h", "g++ -O2") is None
    assert start.header == "skipped"


def test_no_opening_beside_a_whole_header(settings, monkeypatch):
    monkeypatch.delitem(sys.modules, tp.CODECACHE_MODULE.module, raising=False)
    asked = []
    monkeypatch.setattr(
        compile_cache, "precompiling", lambda folder: asked.append(folder) or nullcontext()
    )
    with partial_pch(settings):
        pass
    headers = asked[0]
    make_private_folder(headers)
    (headers / "0.ready").touch()
    with partial_pch(settings):
        pass
    assert asked[1] is None


def test_a_header_is_kept_in_our_folder_only_while_it_is_built(tmp_path):
    cache = tp.CODECACHE_MODULE.get()
    before = cache._HEADER_DIR
    with compile_cache._header_folder(tmp_path):
        assert str(tmp_path) == cache._HEADER_DIR
    assert before == cache._HEADER_DIR


CHILD = """
import sys, contextlib, hashlib, torch
from pathlib import Path
from workbench.compiler.cold_start.compile_cache import partial_pch, start_fast
with contextlib.ExitStack() as stack:
    if sys.argv[1] == "ours":
        pch = stack.enter_context(partial_pch())
        if pch is not None:
            pch.process.wait()  # however busy the machine is, it is used
        start = stack.enter_context(start_fast(pch=pch))
    f = torch.compile(lambda x: torch.relu(x) * 2 + x.sin().sum(-1, keepdim=True), fullgraph=True)
    f(torch.ones(64, 32))
    if sys.argv[1] == "ours":
        assert start.header == ("skipped" if pch is None else "its opening only"), start
from torch._inductor.codecache import CppPythonBindingsCodeCache as kernels
from torch._inductor.cpu_vec_isa import valid_vec_isa_list
print([str(isa) for isa in valid_vec_isa_list()])
for key in sorted(kernels.cache):
    maps = map(Path, open("/proc/self/maps").read().split())
    library = next(path for path in maps if path.stem.startswith(key))
    print(key, hashlib.sha256(library.read_bytes()).hexdigest())
"""


@pytest.mark.slow
def test_kernels_are_those_of_torchs_own_probing(tmp_path):
    said = {}
    for way in ("ours", "torch"):
        here = tmp_path / way
        here.mkdir()
        kernels = tmp_path / "kernels"  # the same path for both: it stands in the debug information
        shutil.rmtree(kernels, ignore_errors=True)
        variables = {
            **os.environ,
            "TMPDIR": str(here),  # where torch keeps its precompiled header
            "AOT_WORKBENCH_CACHE": str(here / "cache"),
            VARIABLE: str(kernels),
        }
        done = subprocess.run(
            [sys.executable, "-c", CHILD, way],
            env=variables,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        said[way] = done.stdout
    assert said["ours"] == said["torch"]
    assert len(said["ours"].splitlines()) == 2


GNU = "Using built-in specs._COLLECT_GCC=g++_gcc version 12.2.0 (Debian 12.2.0-14)"
CLANG = "Debian clang version 14.0.6_Selected GCC installation: gcc version 12.2.0"


def test_the_release_is_read_from_gnu_compilers_only():
    assert read_gnu_release(GNU) == 12
    assert read_gnu_release(CLANG) is None
    assert read_gnu_release("icx 2025") is None


@pytest.mark.parametrize(
    ("flags", "release", "known"),
    [
        ("-mavx2 -mfma -mf16c", 12, True),
        ("-mavx512f -mavx512vnni -mavx512vl", 12, True),
        ("-mavx512f -mamx-tile -mamx-fp16", 12, None),  # GNU C++ 13 is the first
        ("-mavx512f -mamx-tile -mamx-fp16", 13, True),
        ("-mavx2", 9, None),
        ("-mavx2", None, None),
        ("-march=armv9-a+sve2", 12, None),
        ("", 12, None),
    ],
)
def test_flags_are_known_or_left_to_a_trial(flags, release, known):
    assert match_flags(flags, release) is known


def test_torchs_library_has_the_vector_functions():
    assert has_vector_math("-mavx2")
    assert has_vector_math("-mavx512f")


class Isa:
    def __init__(self, flags):
        self.flags = flags

    def build_arch_flags(self):
        return self.flags


def test_what_is_uncertain_is_tried(monkeypatch):
    tried = []

    def probe(isa, code):
        tried.append(isa.flags)
        return "tried"

    monkeypatch.setattr(tp.Name, "get", lambda self: lambda *args: GNU)
    check_build = wrap_without_trial(probe)
    assert check_build(Isa("-mavx2"), "code") is True
    assert check_build(Isa("-mfuture"), "code") == "tried"
    assert tried == ["-mfuture"]


def doubled(x):
    return x + torch.from_numpy(x.numpy() * 2)


def lowered(x):
    return x + torch.from_numpy(x.numpy() - 7)


@since("2.12", "what aot_eager makes cannot be kept")
def test_two_graphs_that_torch_can_make_no_key_of_share_no_entry(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    x = torch.randn(3, 5)
    for function in (doubled, lowered):
        random.seed(0)  # torch draws a name for the entry
        untouched = random.getstate()
        compiled = wb.aot_compile(function, (x,), backend="aot_eager", capture="light")
        assert random.getstate() == untouched
        assert torch.equal(compiled(x), function(x))
    entries = list(tmp_path.glob("aotautograd/*/*"))
    assert len(entries) in (0, 2)  # some releases make keys of them
    assert len({entry.parent for entry in entries}) == len(entries)
