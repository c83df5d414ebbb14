"""Kernels in torch's bundles: listed with their machine code, found by another build of torch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from workbench.artifacts.manifest.manifest import BuiltFor
from workbench.compiler.aot_files.generated import PackedKernels
from workbench.compiler.aot_files.writing.serialized import find_kernels_asked_for, pack_binaries
from workbench.compiler.internals import torch_private as tp

SOURCE = "async_compile.triton('triton_a', '''code''')\nasync_compile.triton('triton_b', '''x''')"


def program(*kernels: dict[str, bytes]) -> Any:
    bundle = SimpleNamespace(
        kernel_artifacts=[
            SimpleNamespace(
                artifacts=[SimpleNamespace(filename=n, payload=c) for n, c in files.items()]
            )
            for files in kernels
        ],
    )
    return SimpleNamespace(source_code=SOURCE, _triton_bundle=bundle)


def test_each_machine_code_is_listed_once_with_its_assembly() -> None:
    first = {"triton_a.cubin": b"1", "triton_a.ptx": b".target sm_90a", "triton_a.json": b"{}"}
    second = {"triton_a.cubin": b"2"}
    amd = {"triton_b.hsaco": b"3", "triton_b.amdgcn": b".vgpr_count: 8"}
    found = list(pack_binaries([program(first, second), program(first, amd), SimpleNamespace()]))
    assert [(kernel.name, kernel.binary) for kernel in found] == [
        ("triton_a", b"1"),
        ("triton_a", b"2"),
        ("triton_b", b"3"),
    ]
    assert [kernel.assembly for kernel in found] == [".target sm_90a", "", ".vgpr_count: 8"]
    assert find_kernels_asked_for([program()]) == {"triton_a", "triton_b"}


def test_a_kernel_is_found_that_another_build_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    packed, other_build = tp.PACKED_KERNELS.get(), b"\x01" * 32
    theirs = tp.CODE_HASH.get()("code", extra=other_build)
    monkeypatch.setattr(packed, "_cache", {theirs: "the kernel"})
    asked: list[tuple[Any, ...]] = []
    torch = SimpleNamespace(triton=lambda name, source, **options: asked.append((name, options)))
    provide = PackedKernels(BuiltFor("h100", "H100", "sm_90a", torch_key=other_build.hex()))
    provide(lambda: torch, "triton_a", "code", device_str="cuda")
    provide(lambda: torch, "triton_b", "not packed")
    assert packed._cache == {packed.key("code"): "the kernel"}
    assert asked == [("triton_a", {"device_str": "cuda"}), ("triton_b", {})]


def test_nothing_is_added_to_what_was_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    emitted: list[Any] = []
    monkeypatch.setattr(tp.TRITON_BUNDLER.get(), "read_and_emit", emitted.append)
    kernel = SimpleNamespace(inductor_meta={"dynamic_scale_rblock": True}, _could_rblock_scale=True)
    bundle = SimpleNamespace(static_autotuners=[SimpleNamespace(kernel=kernel)])
    PackedKernels(BuiltFor("h100", "H100", "sm_90a")).emit(bundle)
    assert emitted == [bundle]
    assert kernel.inductor_meta == {"dynamic_scale_rblock": False}
    assert not hasattr(kernel, "_could_rblock_scale")
