"""Every private name of torch exists in every supported release, with the shape that was checked.

A name that is new in the table, or a release that is new in pyproject.toml, needs the snapshots
anew: `make snapshot-2.13`, and so for each release, in environments of their own.
"""

from __future__ import annotations

import functools
import importlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch
from packaging.requirements import Requirement

from tests.compiler.internals import snapshot
from workbench.compiler.internals import torch_private as tp
from workbench.errors import TorchNameMissing

ROOT = Path(__file__).parents[3]
OLD = ("2.11", "2.12")
EARLY = (*OLD, "2.13", "2.14")
RENAMED = "the release has it under another name, which is listed too"
OLD_NAME = "what an older release called it"
UNKNOWN = "the release does not ask this yet, so it does not remember it"
WITHOUT = "`since` names the release that has it first; older ones do without"
ABSENT = {
    "torch._C:_accelerator_getDefaultGenerator": ((*OLD, "2.13"), WITHOUT),
    "torch._dynamo.aot_compile:_open_aot_compile_payload": (EARLY, "its files have no header"),
    "torch._dynamo.backends.debugging:AOTEagerOutputCode": (("2.11",), WITHOUT),
    "torch._dynamo.convert_frame:_safe_builtins_dict": (("2.11",), WITHOUT),
    "torch._functorch._aot_autograd.runtime_wrappers:_AutogradBackwardCompiler.get_or_compile": (
        ("2.11",),
        WITHOUT,
    ),
    "torch._functorch.partitioners:minimum_cut": (EARLY, RENAMED),
    "torch._inductor.comm_analysis:_has_nvlink": (OLD, UNKNOWN),
    "torch._inductor.fx_passes.overlap_scheduling:estimate_roofline_runtime_ms": (
        ("2.11",),
        WITHOUT,
    ),
    "torch._inductor.fx_passes.pad_mm:hint_symbols": (("2.11",), RENAMED),
    "torch._inductor.fx_passes.pad_mm:realize_symbols": (
        ("2.12", "2.13", "2.14", "2.15"),
        OLD_NAME,
    ),
    "torch._inductor.lowering:user_lowerings": (("2.11",), WITHOUT),
    "torch._inductor.runtime.triton_heuristics:CachingAutotuner._could_rblock_scale": (
        OLD,
        WITHOUT,
    ),
    "torch._inductor.utils:_triton_supported_fp8_dtypes": (OLD, UNKNOWN),
    "torch._inductor.utils:_get_device_dram_gbps": (EARLY, RENAMED),
    "torch._inductor.utils:_get_device_tflops": (EARLY, RENAMED),
    "torch._inductor.utils:_prefers_swizzle_32_8_cached": (EARLY, UNKNOWN),
    "torch._inductor.utils:rocm_gfx_arch": (EARLY, UNKNOWN),
    "torch._inductor.utils:using_rocm_rdna3": ((*OLD, "2.13"), UNKNOWN),
    "torch.utils._triton:_device_supports_tensor_descriptor": ((*OLD, "2.13"), RENAMED),
    "torch.utils._triton:_device_supports_tma": (("2.14", "2.15"), RENAMED),
    "torch.utils._triton:has_triton_cuda_tma_device": (EARLY, UNKNOWN),
}
"""Names that some supported releases do not have, each with the reason why that is right."""
NOT_YET = ("torch._C:_cuda_cudaCachingAllocator_is_enabled", "2.11")
"""The one name of CUDA's builds that a release has in neither build."""
NOT_OF_A_DEVICE = {
    "torch.utils._triton": {
        "get_triton_version",
        "has_triton_block_ptr",
        "has_triton_cpu_backend",
        "has_triton_package",
        "has_triton_reduction_ordering",
        "_has_triton_amd_tdm_device",  # of the architecture that is its argument
    },
    "torch._inductor.utils": {
        "boolean_ops",
        "ensure_cute_available",
        "ensure_nv_universal_gemm_available",
        "ensure_nvmatmul_heuristics_available",
        "get_dtype_size",
        "get_k_splits",
        "get_triton_attrs_descriptor_version",
        "has_torchvision_roi_align",
        "tlx_only_cuda_options",
        "try_import_ck_lib",
        "use_decompose_k_choice",
        "_overloadpacket_str",
        "_rocm_version_tuple",  # of the build
        "_tlx_registry",
    },
    "torch._inductor.kernel.mm": {"lazy_register_extern_choice"},
}
"""Answers that torch remembers and that no device changes: read once for each release."""


def supported() -> list[str]:
    """The minor releases of torch in the range of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = {r.name: r.specifier for r in map(Requirement, project["dependencies"])}
    return [f"2.{n}" for n in range(100) if asked["torch"].contains(f"2.{n}.0")]


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    """The shapes in the installed release, of a process in which nothing is patched or set."""
    command = [sys.executable, "-m", "tests.compiler.internals.snapshot", "--print"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=True
    )
    shapes: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return shapes


def test_a_name_is_found_first_of_all_in_a_fresh_process() -> None:
    code = (
        "from workbench.compiler.internals import torch_private as tp; "
        "assert tp.OLDER_LAZY_BACKWARD.find(); import torch; torch.compiler.reset()"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_every_name_says_what_it_is_for() -> None:
    for row in snapshot.names().values():
        assert row.used_for, row
        assert ":" in row.target, row


def test_every_supported_release_has_a_snapshot_and_no_other() -> None:
    kept = {path.stem.removeprefix("torch_private_") for path in snapshot.HERE.glob("*.json")}
    assert kept == set(supported())
    assert snapshot.release() in kept


@pytest.mark.parametrize("release", supported())
def test_a_snapshot_has_every_name_and_lacks_those_with_a_reason(release: str) -> None:
    kept = snapshot.read(release)
    targets = {row.target for row in snapshot.names().values()}
    assert kept.keys() == targets - snapshot.BY_BUILD.keys(), f"run make snapshot-{release}"
    missing = {target for target, shape in kept.items() if shape == snapshot.MISSING}
    assert missing == {target for target, (releases, _) in ABSENT.items() if release in releases}


def test_the_installed_release_is_as_in_its_snapshot(found: dict[str, str]) -> None:
    kept = snapshot.read(snapshot.release())
    assert snapshot.differences(kept, snapshot.without_builds(found)) == []


def test_what_depends_on_the_build_is_as_in_this_build(found: dict[str, str]) -> None:
    release = snapshot.release()
    expected = {
        target: with_cuda if torch.version.cuda and (target, release) != NOT_YET else without
        for target, (without, with_cuda) in snapshot.BY_BUILD.items()
    }
    assert snapshot.differences(expected, {target: found[target] for target in expected}) == []


@pytest.mark.parametrize("module", NOT_OF_A_DEVICE)
def test_what_torch_remembers_of_a_device_is_listed(module: str) -> None:
    """Else a compilation for a second GPU would find the answers about the first."""
    listed = {row.attribute for row in tp.DEVICE_CACHES if row.module == module}
    remembered = {
        name
        for name, value in vars(importlib.import_module(module)).items()
        if isinstance(value, functools._lru_cache_wrapper) and value.__module__ == module
    }
    assert remembered - listed - NOT_OF_A_DEVICE[module] == set()


def test_a_missing_a_changed_and_a_new_name_are_differences() -> None:
    kept = {"torch:a": "(x)", "torch:b": "(x)", "torch:c": "module"}
    found = {"torch:a": "missing", "torch:b": "(x, y)", "torch:c": "module", "torch:d": "int"}
    assert snapshot.differences(kept, found) == [
        "torch:a: (x) -> missing",
        "torch:b: (x) -> (x, y)",
        "torch:d: not listed -> int",
    ]


def test_none_is_a_value_and_not_a_missing_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "nothing_yet", None, raising=False)
    assert snapshot.shape(tp.Name("torch:nothing_yet", "showing a value")) == "None"
    assert snapshot.shape(tp.Name("torch:not_there", "showing a gap")) == snapshot.MISSING
    assert snapshot.shape(tp.Name("torch.no_module:x.y", "showing a gap")) == snapshot.MISSING


def test_a_missing_name_is_a_sentence() -> None:
    row = tp.Name("torch._dynamo:no_such_thing", "showing an error")
    assert row.find() is None
    with pytest.raises(TorchNameMissing, match=r"has no torch\._dynamo\.no_such_thing, which the"):
        row.get()


def test_a_name_of_newer_releases_says_with_which_it_came() -> None:
    row = tp.Name("torch._dynamo:no_such_thing", "showing an error", since="2.12")
    with pytest.raises(TorchNameMissing, match=r"error\. It was added in torch 2\.12\. Use torch"):
        row.get()
