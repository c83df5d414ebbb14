"""Several cubins are given to nvdisasm as one file; each gets the code that it gets alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from workbench.compiler.machine_code import cubin_tools, listings
from workbench.compiler.machine_code.cubin_tools import alike, joined, take_apart
from workbench.compiler.machine_code.listings import Listing

NO_PTX = Listing([], [])


@triton.jit  # type: ignore[untyped-decorator]
def summed(x, y, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    found = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        found += tl.load(x + at, mask=at < n, other=0.0)
    tl.device_assert(n > 0, "nothing to sum")
    tl.store(y + tl.program_id(0), tl.sum(found))


@triton.jit  # type: ignore[untyped-decorator]
def divided(x, y, n, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.arange(0, BLOCK)
    tl.store(y + at, tl.div_rn(1.0, tl.load(x + at)), mask=at < n)


def cubin(kernel: Any, arch: int, block: int, **options: Any) -> bytes:
    signature = {"x": "*fp32", "y": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = ASTSource(kernel, signature, {"BLOCK": block})
    made = triton.compile(source, target=GPUTarget("cuda", arch, 32), options=options)
    return bytes(made.asm["cubin"])


@pytest.fixture(scope="module")
def cubins() -> Mapping[str, bytes]:
    return {
        "summed": cubin(summed, 90, 256),
        "summed, checked": cubin(summed, 90, 512, debug=True, num_warps=8),
        "divided": cubin(divided, 90, 128),
        "for another GPU": cubin(summed, 100, 256),
    }


def test_each_kernel_has_its_own_code_and_lines(cubins: Mapping[str, bytes]) -> None:
    for names in (("summed", "summed, checked", "divided"), ("divided", "summed")):
        together = [cubins[name] for name in names]
        printed, missing = cubin_tools._printed(joined(together))
        assert printed is not None, missing
        found = take_apart(printed)
        assert list(found) == list(range(len(names)))
        for number, content in enumerate(together):
            alone, _ = cubin_tools._printed(content)
            assert alone is not None
            code = listings.sass(alone, NO_PTX)
            assert listings.sass(found[number], NO_PTX) == code
            assert len(code.lines) > 20
            assert any(code.ptx)
    assert ".L_x_1" in found[1], "a loop has a label, which is counted anew"


def test_code_for_another_gpu_and_what_is_no_cubin_stay_alone(cubins: Mapping[str, bytes]) -> None:
    assert alike(cubins["summed"]) == alike(cubin(summed, 90, 128)) is not None
    assert alike(cubins["summed"]) != alike(cubins["for another GPU"])
    for content in (b"", b"no cubin", cubins["summed"][:100], cubins["summed"][:-2000]):
        assert alike(content) is None


def test_nvdisasm_starts_once_for_an_architecture(
    cubins: Mapping[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []
    run = cubin_tools._run

    def counted(tool: str, *arguments: str) -> tuple[str | None, str | None]:
        started.append(tool)
        return run(tool, *arguments)

    monkeypatch.setattr(cubin_tools, "_run", counted)
    cubin_tools._known.cache_clear()
    asked = [*cubins.values(), b"no cubin"]
    *found, wrong = cubin_tools.inspect_cubins(asked)
    kinds = {alike(content) for content in cubins.values()}  # newer ptxas marks more of them
    assert started.count("nvdisasm") == len(kinds) + 1  # and for what is no cubin
    assert len(kinds) < len(cubins)
    assert all(row.sass and row.usage and not row.note for row in found)
    assert wrong.sass is None
    assert "nvdisasm failed" in str(wrong.note)
    assert cubin_tools.inspect_cubins(asked) == [*found, wrong]
    assert started.count("nvdisasm") == len(kinds) + 1
