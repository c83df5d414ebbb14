"""Generated programs run with stand-ins for torch's modules."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest
import torch

from workbench.compiler.aot_files.generated import _PLAIN_EXTERN, KernelRequest, run_generated
from workbench.compiler.internals import torch_private as tp

PROGRAM = """
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.select_algorithm import extern_kernels
from torch._inductor.codegen.memory_planning import _align as align
import torch
async_compile = AsyncCompile()
kernel = async_compile.cpp_pybinding(['const float*'], '''source''')
async_compile.wait(globals())
del async_compile

def call(args):
    return extern_kernels.mm(*args), kernel(1), CONSTANT, align(1)

def fail():
    raise ValueError("here")
"""


def provide(asked: list[KernelRequest]) -> Callable[[KernelRequest], Callable[..., Any]]:
    def answer(request: KernelRequest) -> Callable[..., Any]:
        asked.append(request)
        return lambda value: value + 1

    return answer


def test_kernels_come_from_the_provider_and_constants_are_globals() -> None:
    asked: list[KernelRequest] = []
    module = run_generated(PROGRAM, "sample", provide(asked), {"CONSTANT": 7})
    ones = torch.ones(2, 2)
    product, called, constant, aligned = module.call((ones, ones))
    assert torch.equal(product, ones * 2)
    assert (called, constant, aligned) == (2, 7, tp.ALIGN.get()(1))
    assert [request.arguments["main_code"] for request in asked] == ["source"]


def test_nothing_in_torch_is_changed() -> None:
    before = set(sys.modules)
    module = run_generated(PROGRAM, "unchanged", provide([]), {"CONSTANT": 7})
    assert module.__name__ not in sys.modules
    assert not {name for name in set(sys.modules) - before if "workbench_generated" in name}
    assert tp.ASYNC_COMPILE.get().__module__ == "torch._inductor.async_compile"


def test_a_traceback_shows_the_line() -> None:
    module = run_generated(PROGRAM, "failing", provide([]), {})
    with pytest.raises(ValueError, match="here") as caught:
        module.fail()
    assert 'raise ValueError("here")' in "".join(traceback.format_exception(caught.value))


def test_the_key_names_the_content() -> None:
    one = KernelRequest("kernel", {"argtypes": ["float*"], "main_code": "a"})
    assert one.key == KernelRequest("kernel", {"main_code": "a", "argtypes": ["float*"]}).key
    assert one.key != KernelRequest("kernel", {"argtypes": ["int*"], "main_code": "a"}).key


@pytest.mark.parametrize("name", _PLAIN_EXTERN)
def test_library_calls_are_those_of_torch(name: str) -> None:
    tp.INDUCTOR_LOWERING.get()
    assert getattr(tp.EXTERN_KERNELS.get(), name) is getattr(torch, name)
