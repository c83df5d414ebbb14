"""Calls of kernels: what is refused, in one sentence, and what another process gets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from torch._subclasses.fake_tensor import FakeTensorMode
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.worlds.own_kernels.programs.kernels import add
from workbench.compiler.kernels.kernel_call import KernelCall, unship
from workbench.compiler.kernels.kernel_variants import StandIn, make_variant
from workbench.errors import UsageError
from workbench.temporary import hold

X = torch.arange(8.0)
ARGS = (X, X, torch.empty(8), 8)


def call(fn: Any = add, args: Any = ARGS, grid: Any = (4,), **named: Any) -> KernelCall:
    return KernelCall.of(fn, args, grid, named)


def plain(x: torch.Tensor) -> torch.Tensor:
    return x


REFUSED = {
    "grid of add is 4: expected a tuple": lambda: call(grid=4, BLOCK=8),
    "add: grid has 4 parts, but needs 1 to 3": lambda: call(grid=(1, 1, 1, 1), BLOCK=8),
    "add: part 1 of the grid is 0, so no program instance would run": lambda: call(
        grid=(1, 0), BLOCK=8
    ),
    "add: part 0 of the grid is 2.5, but must be a whole": lambda: call(grid=(2.5,), BLOCK=8),
    "add: the tl.constexpr argument BLOCK is missing": lambda: call(),
    "add: the argument n is missing": lambda: call(args=ARGS[:3], BLOCK=8),
    "add has no parameter BLOK, .* Did you mean 'BLOCK'": lambda: call(BLOK=8),
    "add takes 5 arguments .*, but 6 were given": lambda: call(args=(*ARGS, 8, 8)),
    "add: x is given twice": lambda: call(x=X, BLOCK=8),
    "plain is not a kernel: it is a Python function": lambda: call(plain, (X,)),
    "relu is not a kernel: it is torch code": lambda: call(torch.relu, (X,)),
    "add: x is a list, but a kernel takes tensors": lambda: call(args=([1.0], *ARGS[1:]), BLOCK=8),
    "add: x is a tensor of layout torch.sparse_coo": lambda: call(
        args=(X.to_sparse(), *ARGS[1:]), BLOCK=8
    ),
    "add: n is a numpy.int32, but a kernel takes .* Python numbers": lambda: call(
        args=(*ARGS[:3], np.int32(8)), BLOCK=8
    ),
    "add: x is complex64, a dtype that Triton lacks": lambda: call(
        args=(X + 0j, *ARGS[1:]), BLOCK=8
    ),
    "add: y is float8_e8m0fnu, .* such as .view.torch.uint8": lambda: call(
        args=(X, X.to(torch.float8_e8m0fnu), *ARGS[2:]), BLOCK=8
    ),
    "add: BLOCK is a tensor, but tl.constexpr needs a number": lambda: call(BLOCK=torch.tensor(8)),
    "is a launch: pass wb.kernel the kernel itself, and the grid as": lambda: call(
        add[(4,)], BLOCK=8
    ),
    "add: BLOCK is given, but the autotuner's configurations also set it": lambda: call(
        triton.autotune([triton.Config({"BLOCK": 8})], key=[])(add), BLOCK=16
    ),
    "add: num_warps is given, but the autotuner's configurations": lambda: call(
        triton.autotune([triton.Config({"BLOCK": 8})], key=[])(add), num_warps=8
    ),
}


@triton.jit
def both(pair, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(pair[0] + i) + tl.load(pair[1] + i))


def test_tensors_without_numbers_are_known_in_tuples_and_where_they_are_fake() -> None:
    assert not call(both, ((X, X), X), BLOCK=8).is_data_free
    made = call(both, ((X, X.to("meta")), X), BLOCK=8)
    assert made.is_data_free
    assert [*made.tensors()] == ["out"]
    assert [*made.tensors(with_parts=True)] == ["pair[0]", "pair[1]", "out"]
    with FakeTensorMode():
        fake = torch.empty(8)
    assert call(args=(fake, fake, fake, 8), BLOCK=8).is_data_free


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_no_call_is_refused_in_one_sentence(said: str) -> None:
    with pytest.raises(UsageError, match=said):
        REFUSED[said]()


def test_arguments_are_known_by_the_names_of_the_parameters() -> None:
    made = call(args=(*ARGS, 8), num_warps=2)
    assert list(made.arguments) == ["x", "y", "out", "n"]
    assert made.meta == {"BLOCK": 8, "num_warps": 2}
    assert (made.name, made.configs) == ("add", ())
    assert made.jit is add


def test_a_grid_may_be_a_function_of_the_values() -> None:
    made = call(grid=lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),), BLOCK=4)
    assert made.resolve_grid() == (2, 1, 1)
    assert made.resolve_grid({"BLOCK": 2}) == (4, 1, 1)
    with pytest.raises(UsageError, match="the grid function raised KeyError: 'BLOK'"):
        call(grid=lambda meta: (meta["BLOK"],), BLOCK=4).resolve_grid()


def test_what_an_autotuner_and_heuristics_set_need_not_be_given() -> None:
    tuned = triton.autotune([triton.Config({"BLOCK": 64}, num_warps=1)], key=["n"])(add)
    assert call(tuned).configs[0].kwargs == {"BLOCK": 64}
    guided = triton.heuristics({"BLOCK": lambda args: args["n"] * 2})(add)
    assert call(guided).all_meta() == {"BLOCK": 16}
    failing = triton.heuristics({"BLOCK": lambda args: args["m"]})(add)
    with pytest.raises(UsageError, match="the heuristic for BLOCK raised KeyError: 'm'"):
        call(failing).all_meta()


def test_meta_tensors_are_known_to_hold_nothing() -> None:
    assert call(args=(X.to("meta"), *ARGS[1:]), BLOCK=8).is_data_free
    assert not call(BLOCK=8).is_data_free


SCRIPT = """
import sys
from pathlib import Path
from workbench.compiler.kernels.kernel_call import unship
call = unship(Path(sys.argv[1]))
config = call.configs[0].kwargs
print(call.name, call.arguments["x"].tolist(), call.resolve_grid(config), config["BLOCK"])
print(call.jit.src.splitlines()[1].strip(), call.jit.fn.__globals__["helper"].src.splitlines()[1])
print(call.jit.fn.__globals__["SCALE"].value)
"""


def test_a_kernel_of_no_file_reaches_another_process_with_what_it_uses() -> None:
    import linecache

    text = (
        "import triton, triton.language as tl\n"
        "SCALE = tl.constexpr(3)\n"
        "@triton.jit\n"
        "def helper(v):\n"
        "    return v * SCALE\n"
        "@triton.autotune([triton.Config({'BLOCK': 16})], key=['n'])\n"
        "@triton.jit\n"
        "def scaled(x, n, BLOCK: tl.constexpr):\n"
        "    i = tl.arange(0, BLOCK)\n"
        "    tl.store(x + i, helper(tl.load(x + i)) * SCALE)\n"
    )
    file = "<a cell>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, file, "exec"), scope)
    made = KernelCall.of(scope["scaled"], (X, 8), lambda meta: (meta["BLOCK"],), {})
    folder = made.ship()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:3] == [
        "scaled [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0] (16, 1, 1) 16",
        "i = tl.arange(0, BLOCK)     return v * SCALE",
        "3",
    ]
    assert not folder.exists()


def test_constants_of_triton_are_no_arguments() -> None:
    assert call(BLOCK=8).constants == ("BLOCK",)
    assert unship(call(BLOCK=tl.constexpr(8)).ship()).meta["BLOCK"].value == 8


def test_a_parcel_is_locked_while_a_worker_is_asked_and_goes_then() -> None:
    with call(BLOCK=8).make_parcel() as folder:
        handle = os.open(folder, os.O_RDONLY)
        try:
            assert not hold(handle, wait=False)
        finally:
            os.close(handle)
    assert not Path(folder).exists()


def test_descriptors_in_a_tuple_stay_what_they_are() -> None:
    given = TensorDescriptor.from_tensor(X, [8])
    (pair, _) = make_variant(call(both, ((given, X), X), BLOCK=8), "cuda").arguments.values()
    assert given.base is X
    assert [type(each) for each in (pair[0].base, pair[1])] == [StandIn, StandIn]
