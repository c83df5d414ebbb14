"""Which processors run what a package's options have compiled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from workbench.artifacts.manifest.manifest_json import Build
from workbench.artifacts.preflight.preflight import BUILD_FLAGS
from workbench.compiler.aot_files.payload import find_native_build
from workbench.compiler.internals import torch_private as tp

_V2 = ("popcnt", "sse4_1", "sse4_2", "ssse3")
_V3 = (*_V2, "abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe")
_LEVELS: Mapping[str, tuple[str, ...]] = {
    "x86-64": (),
    "x86-64-v2": _V2,
    "x86-64-v3": _V3,
    "x86-64-v4": (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"),
}
"""The processor flags that each level of the x86-64 psABI needs, as /proc/cpuinfo names them."""


def build_of(options: Mapping[str, Any]) -> Build:
    """The build that these options of Inductor make here.

    It needs the whole processor, as `-march=native` does, unless `cpp.march` names a level of
    x86-64: then that level, and what the vectors that torch picks need.
    """
    config = tp.INDUCTOR_CONFIG.get()
    mine = {name: value for name, value in options.items() if name.startswith("cpp.")}
    with config.patch({name: value for name, value in mine.items() if hasattr(config, name)}):
        native = find_native_build()
        level = str(mine.get("cpp.march"))
        if level not in _LEVELS:
            return native
        vectors = str(tp.PICK_VEC_ISA.get()().build_arch_flags() or "").split()
    known = {flag.replace("_", ""): flag for flag in BUILD_FLAGS}  # the compiler's are without
    asked = (re.sub(r"^-?m|[-_]", "", vector) for vector in vectors)
    named = {known[flag] for flag in asked if flag in known}
    flags = tuple(sorted({*_LEVELS[level], *named}))
    return Build(f"{native.isa}-{level}" if named else level, native.isa, flags)
