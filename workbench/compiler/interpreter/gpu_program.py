"""The program that Inductor generated for a GPU, made to run on the CPU.

Its own code stays: which kernels run in which order on which buffers. What names the device says
"cpu", buffers come from the memory that is shared with the interpreter, and after every kernel
and library call an observer is told which variables it was given.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

from workbench.artifacts.programs import find_kernels, split_parts
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.local_device import round_to_tf32
from workbench.compiler.internals.patches import Overlay
from workbench.compiler.interpreter.device_operators import STAND_INS
from workbench.compiler.interpreter.interpreter_session import Session
from workbench.device_kinds import CPU, GPU, is_gpu

_KERNELS = "AsyncCompile"
_EXTERN = "extern_kernels"
_PRODUCTS = ("mm", "addmm", "bias_addmm", "bmm", "baddbmm")
"""Products of a library in a generated program; the last two arguments are what is multiplied."""
_OBSERVER = "_observe"
_RESTRIDE = "_restride"
_STAND_IN = "_stand_in"
_LIBRARY = ("extern_kernels.", "torch.ops.", "aten.", "inductor_ops.", "_quantized.", _STAND_IN)
_LAYOUT = ("assert_size_stride", "assert_tensor_metadata")  # the latter since torch 2.14
_NOT_HERE = ("_cuda_",)  # names of torch that a build without CUDA lacks


def run_on_cpu(source: str, name: str, host: Session, attributes: Mapping[str, Any]) -> ModuleType:
    """Run the generated program for the CPU and return its module, which has `call`."""
    parsed = ast.parse(source)
    tree = _Rewriter(_taken_apart(parsed)).visit(parsed)
    ast.fix_missing_locations(tree)
    file = f"generated/{name}.py"
    module = ModuleType(f"workbench_generated.{name}")
    module.__file__ = file
    space = module.__dict__
    space["__builtins__"] = vars(builtins)
    space[_KERNELS] = lambda: _Kernels(host)
    space[_STAND_IN] = STAND_INS
    exec(compile(tree, file, "exec", dont_inherit=True), space)
    space.update(_surroundings(host))
    space.update(attributes)
    if host.products.widens_library:
        space[_EXTERN] = _Widened(partial(getattr, space[_EXTERN]))
        space[_STAND_IN] = {name: _widen(function) for name, function in STAND_INS.items()}
    elif host.products.rounds_library:
        space[_EXTERN] = _round_products(space[_EXTERN])
    return module


class _Widened:
    """Library calls of a program that compute in float64 and round once."""

    def __init__(self, find: Callable[[str], Callable[..., Any]]):
        self._find = find

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return _widen(self._find(name))


def _widen(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tensors in float64, whose results have the type of its first one."""
    map_tensors = tp.TREE_MAP_ONLY.get()

    def call(*args: Any, out: torch.Tensor | None = None, **named: Any) -> Any:
        floats = [leaf for leaf in tp.TREE_LEAVES.get()((args, named)) if _is_float(leaf)]
        wide = map_tensors(torch.Tensor, lambda t: t.double() if _is_float(t) else t, (args, named))
        dtype = floats[0].dtype if floats else torch.float32
        results = map_tensors(
            torch.Tensor,
            lambda t: t.to(dtype) if _is_float(t) else t,
            function(*wide[0], **wide[1]),
        )
        return results if out is None else out.copy_(results)

    return call


def _is_float(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _round_products(library: Any) -> Overlay:
    """Library calls of a program, whose products round float32 to TF32 before."""

    def rounding(name: str) -> Callable[..., Any]:
        def multiply(*args: Any, **named: Any) -> Any:
            *others, left, right = args
            return getattr(library, name)(
                *others, round_to_tf32(left), round_to_tf32(right), **named
            )

        return multiply

    names = [name for name in _PRODUCTS if hasattr(library, name)]
    return Overlay(library, **{name: rounding(name) for name in names})


class _Kernels:
    """Stands for the object that compiles the kernels of a program."""

    def __init__(self, host: Session):
        self._host = host

    def triton(self, name: str, source: str, *, variable: str = "", **_: Any) -> Any:
        return self._host.kernel(name, source, variable or name)

    def wait(self, scope: dict[str, Any]) -> None:
        """Have what is compiled for the CPU in `scope`: kernels of the device are interpreted."""
        tp.ASYNC_COMPILE.get()().wait(scope)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return getattr(tp.ASYNC_COMPILE.get()(), name)  # type: ignore[no-any-return]


def _surroundings(host: Session) -> dict[str, Any]:
    """Names of the program that mean the device."""
    return {
        "empty_strided_cuda": host.empty,
        "empty_strided_cpu": host.empty,
        "get_raw_stream": lambda index: 0,
        "copy_if_misaligned": lambda tensor: tensor,
        "assert_alignment": _nothing,
        "assert_size_stride": _nothing,
        "assert_size_stride_grouped": _nothing,
        "device": _device,
        "_cuda": _CUDA,
        _OBSERVER: host.observe,
        _RESTRIDE: restride,
    }


def _nothing(*_: Any) -> None:
    return None


_CUDA = SimpleNamespace(set_device=_nothing, synchronize=_nothing, _DeviceGuard=nullcontext)
"""Stands for `torch.cuda` inside the program: there is one device, nothing runs beside it."""


def _device(*args: Any, **named: Any) -> torch.device:
    device = torch.device(*args, **named)
    return torch.device(CPU) if is_gpu(device) else device


def restride(value: Any, size: Any, stride: Any, *_: Any) -> Any:
    """The same values with the strides that the device's library would give."""
    if not isinstance(value, torch.Tensor) or tuple(value.shape) != tuple(size):
        return value
    if all(
        n < 2 or have == want for n, have, want in zip(size, value.stride(), stride, strict=True)
    ):
        return value
    restrided = torch.empty_strided(size, stride, dtype=value.dtype)
    restrided.copy_(value)
    return restrided


class _Rewriter(ast.NodeTransformer):
    """Names of the device say "cpu", and after every step the observer is called.

    For a step whose result is `taken_apart`, it is called with each part.
    """

    def __init__(self, taken_apart: frozenset[str]):
        self._taken_apart = taken_apart
        self._steps: dict[str, str] = {}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        names = [
            alias
            for alias in node.names
            if alias.name != _KERNELS and not alias.name.startswith(_NOT_HERE)
        ]
        return ast.ImportFrom(node.module, names, node.level) if names else None

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if _text(node.func) == "async_compile.triton":
            return node  # sources of kernels stay as they are
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and is_gpu(node.value):
            return ast.Constant(CPU)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        text = _text(node)
        if text == f"torch.{GPU}":
            return ast.Name("_cuda", ast.Load())
        name = text.removeprefix("torch.ops.")
        if name in STAND_INS:
            return ast.parse(f"{_STAND_IN}[{name!r}]", mode="eval").body
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, ast.Call) and _text(node.value.func) in _LAYOUT:
            return self._assertion(node.value)
        return self._observed(node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        call, target = node.value, node.targets[0]
        is_kernel = isinstance(call, ast.Call) and _text(call.func) == "async_compile.triton"
        if isinstance(call, ast.Call) and is_kernel and isinstance(target, ast.Name):
            call.keywords.append(ast.keyword("variable", ast.Constant(target.id)))
        if isinstance(target, ast.Name) and target.id in self._taken_apart:
            step = _step(call)
            if step is not None:
                self._steps[target.id] = step
                return self.generic_visit(node)
        if isinstance(target, ast.Name) and (whole := _whole(node)) in self._steps:
            return [node, _observation(self._steps[whole], [target.id])]
        return self._observed(node)

    def _assertion(self, call: ast.Call) -> ast.AST:
        """What a library gave is laid out as the program expects; inputs are what they are."""
        where = call.args[-1]
        is_input = isinstance(where, ast.Constant) and where.value == "input"
        if is_input or not isinstance(call.args[0], ast.Name):
            return ast.Pass()
        name = call.args[0].id
        value = ast.Call(ast.Name(_RESTRIDE, ast.Load()), call.args, [])
        return ast.Assign([ast.Name(name, ast.Store())], value)

    def _observed(self, node: ast.Expr | ast.Assign) -> Any:
        step = _step(node.value)
        used = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
        visited = self.generic_visit(node)
        if step is None:
            return visited
        names = sorted({part.id for part in used} - _GLOBAL)
        return [visited, _observation(step, names)]


_GLOBAL = {"torch", "aten", "extern_kernels", "reinterpret_tensor", "inductor_ops", "self"}


def _observation(step: str, names: list[str]) -> ast.stmt:
    """Tell the observer; a subscript or an attribute of a module is no variable of the program."""
    values = f"{{n: v for n, v in locals().items() if n in {names!r}}}"
    return ast.parse(f"{_OBSERVER}({step!r}, {values})").body[0]


def _whole(node: ast.AST) -> str:
    """The name of the tuple of which an assignment takes a part, or ""."""
    value = node.value if isinstance(node, ast.Assign) else None
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
        return value.value.id if isinstance(value.value, ast.Name) else ""
    return ""


def _taken_apart(tree: ast.AST) -> frozenset[str]:
    """The variables of a program that hold several values."""
    return frozenset(filter(None, map(_whole, ast.walk(tree))))


def _step(call: ast.AST) -> str | None:
    """The name of the kernel or operator that a statement calls, or None."""
    if not isinstance(call, ast.Call):
        return None
    text = _text(call.func)
    if text.endswith(".run") and any(keyword.arg == "stream" for keyword in call.keywords):
        return text.removesuffix(".run")
    return text if text.startswith(_LIBRARY) else None


def extract_kernel_sources(source: str) -> dict[str, str]:
    """The sources of the Triton kernels in a generated program, by the names of their functions."""
    return {
        ast.literal_eval(split_parts(kernel.arguments)[0]): kernel.evaluate_source()
        for kernel in find_kernels(source)
        if kernel.language == "triton"
    }


def _text(node: ast.AST) -> str:
    return ast.unparse(node) if isinstance(node, ast.Attribute | ast.Name | ast.Subscript) else ""
