import pytest

from workbench.compiler.cold_start.vector_isa import (
    exports_vector_math,
    gnu_release,
    knows_flags,
    without_trial,
)
from workbench.compiler.internals import torch_private as tp

GNU = "Using built-in specs._COLLECT_GCC=g++_gcc version 12.2.0 (Debian 12.2.0-14)"
CLANG = "Debian clang version 14.0.6_Selected GCC installation: gcc version 12.2.0"


def test_the_release_is_read_from_gnu_compilers_only():
    assert gnu_release(GNU) == 12
    assert gnu_release(CLANG) is None
    assert gnu_release("icx 2025") is None


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
    assert knows_flags(flags, release) is known


def test_torchs_library_has_the_vector_functions():
    assert exports_vector_math("-mavx2")
    assert exports_vector_math("-mavx512f")


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
    check_build = without_trial(probe)
    assert check_build(Isa("-mavx2"), "code") is True
    assert check_build(Isa("-mfuture"), "code") == "tried"
    assert tried == ["-mfuture"]
