"""Reads the source of a Triton kernel as Inductor writes it: nothing of it is run.

Above the function stands one call, such as `@triton_heuristics.pointwise(size_hints={'x': 4096},
triton_meta={'signature': …, 'constants': …, 'configs': …}, inductor_meta={'grid_type': …})`. All
that a compiler has to know besides the function are literals in it, and static sizes are literals
in the function's first lines (`xnumel = 4096`, `R0_BLOCK: tl.constexpr = 64`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import UsageError

_HEURISTICS = "triton_heuristics."
_OPTIONS = ("enable_fp_fusion", "launch_pdl", "disable_ftz")
_AXES = ("x", "y", "z", "r0_", "r1_")


@dataclass(frozen=True)
class TritonSource:
    """What the text of a kernel says of it.

    `name` is that of the function, `kind` that of the heuristics: "pointwise", "reduction",
    "persistent_reduction", "template", "user_autotune" and others. `signature` has the type of
    each argument ("*fp32", "i32", "constexpr"), `attributes` what the compiler may assume of them.
    `numels` are elements by axis ("x", "r0_"), those known only at run time rounded up to a power
    of two. `contiguous` is the axis along which memory is read. `fixed` are integers that the text
    itself fixes, such as the tile of a template. `multiplies` says whether it has a `tl.dot`.
    """

    name: str
    kind: str
    signature: Mapping[str, str]
    constants: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[Any, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    grid: str = ""
    numels: Mapping[str, int] = field(default_factory=dict)
    fixed: Mapping[str, int] = field(default_factory=dict)
    asserts: bool = True
    contiguous: str = "x"
    multiplies: bool = False

    @property
    def parameters(self) -> tuple[str, ...]:
        """The arguments that a configuration gives: block sizes."""
        open_ = (name for name, kind in self.signature.items() if kind == "constexpr")
        return tuple(name for name in open_ if name not in self.constants)

    @property
    def is_user_product(self) -> bool:
        """Whether the user wrote it and it multiplies matrices."""
        return self.kind == "user_autotune" and self.multiplies

    @property
    def pointers(self) -> tuple[str, ...]:
        """The types of the arguments that point to memory: "fp32"."""
        kinds = self.signature.values()
        return tuple(kind.removeprefix("*") for kind in kinds if kind.startswith("*"))


def read_source(text: str) -> TritonSource:
    """What is known of a kernel from its text.

    Raises `UsageError` that says what is missing for a text that is no kernel of Inductor.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"The source of the kernel cannot be read: {error}.") from error
    function, call = _kernel(tree)
    keywords = {word.arg: word.value for word in call.keywords if word.arg}
    triton, inductor = (
        _literals(keywords.get("triton_meta")),
        _literals(keywords.get("inductor_meta")),
    )
    signature = triton.get("signature")
    if not isinstance(signature, dict):
        raise UsageError(f"The source of {function.name} lacks its argument types.")
    attributes = triton.get("configs") or [{}]
    integers = _integers(function)
    hints = {k: v for k, v in _literals(keywords.get("size_hints")).items() if isinstance(v, int)}
    numels = {axis: integers.get(f"{axis}numel", hints.get(axis)) for axis in _AXES}
    return TritonSource(
        name=function.name,
        kind=call.func.attr if isinstance(call.func, ast.Attribute) else "",
        signature={str(name): str(kind) for name, kind in signature.items()},
        constants=triton.get("constants") or {},
        attributes=attributes[0] if isinstance(attributes[0], dict) else {},
        options={name: triton[name] for name in _OPTIONS if name in triton},
        grid=str(inductor.get("grid_type", "")),
        numels={axis: size for axis, size in numels.items() if size is not None},
        fixed={name: size for name, size in integers.items() if not name.endswith("numel")},
        contiguous=_contiguous(keywords, numels),
        multiplies="tl.dot" in text,
        asserts=bool(inductor.get("assert_indirect_indexing", True)),
    )


def read_launch_meta(text: str) -> dict[str, Any]:
    """What Inductor computes the grid from, `inductor_meta`, as far as it is literal."""
    _, call = _kernel(ast.parse(text))
    return _literals({word.arg: word.value for word in call.keywords}.get("inductor_meta"))


def remove_heuristics(text: str) -> tuple[ast.Module, str]:
    """The module without Inductor's own decorator and calls, and the name of its kernel.

    What is left defines functions at the lines at which they stand in the text.
    """
    tree = ast.parse(text)
    function, call = _kernel(tree)
    function.decorator_list.remove(call)
    tree.body = [statement for statement in tree.body if not isinstance(statement, ast.Expr)]
    return tree, function.name


def make_decorator(text: str, file: str) -> Callable[..., Any]:
    """What Inductor's own decorator of a kernel is, as in a module of this name."""
    tree = ast.parse(text)
    _, call = _kernel(tree)
    tree.body = [stmt for stmt in tree.body if isinstance(stmt, ast.Import | ast.ImportFrom)]
    scope: dict[str, Any] = {"__file__": file}
    exec(compile(tree, file, "exec"), scope)
    decorator: Callable[..., Any] = eval(compile(ast.Expression(call), file, "eval"), scope)
    return decorator


def replace_fixed(text: str, values: Mapping[str, int]) -> str:
    """The text with other values for integers that it fixes, such as `BLOCK_M`."""
    lines = text.split("\n")
    function, _ = _kernel(ast.parse(text))
    for statement in function.body:
        name, value = _assigned(statement)
        if name is not None and name in values and isinstance(value, ast.Constant):
            line = lines[value.lineno - 1]
            start, end = value.col_offset, value.end_col_offset
            lines[value.lineno - 1] = f"{line[:start]}{values[name]}{line[end:]}"
    return "\n".join(lines)


def _kernel(tree: ast.Module) -> tuple[ast.FunctionDef, ast.Call]:
    """The function with Inductor's decorator, and that decorator."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if not isinstance(decorator, ast.Call):
                    continue
                if ast.unparse(decorator.func).startswith(_HEURISTICS):
                    return node, decorator
    raise UsageError("The source is not an Inductor Triton kernel: its decorator is missing.")


def _contiguous(keywords: Mapping[str, ast.expr], numels: Mapping[str, int | None]) -> str:
    """The axis of neighbouring addresses, by Inductor's hint `ReductionHint.OUTER`."""
    hint = keywords.get("reduction_hint")
    is_outer = isinstance(hint, ast.Attribute) and hint.attr.startswith("OUTER")
    return "r0_" if numels.get("r0_") is not None and not is_outer else "x"


def _literals(node: ast.expr | None) -> dict[Any, Any]:
    """The entries of a dictionary that are literals; calls such as `DeviceProperties(…)` go."""
    if not isinstance(node, ast.Dict):
        return {}
    entries: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        try:
            entries[ast.literal_eval(key) if key is not None else None] = ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError):
            continue
    return entries


def _integers(function: ast.FunctionDef) -> dict[str, int]:
    """The integers that the function's own lines give a name, each name once."""
    by_name: dict[str, int] = {}
    for statement in function.body:
        name, value = _assigned(statement)
        if name is not None and isinstance(value, ast.Constant) and type(value.value) is int:
            by_name.setdefault(name, value.value)
    return by_name


def _assigned(statement: ast.stmt) -> tuple[str | None, ast.expr | None]:
    match statement:
        case ast.AnnAssign(ast.Name(name), _, value) | ast.Assign([ast.Name(name)], value):
            return name, value
    return None, None
