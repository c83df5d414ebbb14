"""The input contract: what every leaf of a call has to be, and what differs when it is not."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from workbench.compiler.calls.call_path import FastCheck, write_constant_test
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.surroundings import has_tangents
from workbench.compiler.internals.tensor_kind import (
    explain_inference,
    explain_kind,
    explain_no_sizes,
)
from workbench.compiler.internals.tensor_like import TensorLike
from workbench.compiler.sizes import dims
from workbench.errors import ArtifactError
from workbench.typed_data import read_row

if TYPE_CHECKING:  # a package starts without what is read when compiling, or for few contracts
    from workbench.compiler.contract.shared_memory import SharedMemory
    from workbench.compiler.sizes.shapes import DynamicShapes

CONSTANTS = (bool, int, float, complex, str, bytes, type(None), torch.dtype, torch.device)
_SHOWN = 12
_NEVER = "False"  # looked at slowly
_LAYOUT_CURE = "call .contiguous() or compile for this layout"
Sizes = dict[str, tuple[int, str]]
"""By the name of a dimension its value in a call, and where that was met first."""


@dataclass(frozen=True)
class Leaf:
    """One leaf of the inputs, or one parameter of the module.

    `kind` is "tensor", "constant" or "object". An int that may vary is a constant without a value,
    whose `shape` is its range alone.
    """

    path: Path
    kind: str
    type: str
    shape: tuple[dims.Size, ...] = ()
    sizes: tuple[int, ...] = ()
    stride: tuple[int, ...] = ()
    dtype: str = ""
    device: str = ""
    requires_grad: bool = False
    inference: bool = False
    value: str = ""

    @property
    def text(self) -> str:
        """The leaf as people write it, such as `float32 [batch, 64] on cpu`."""
        if self.kind == "tensor":
            return f"{self.dtype} {dims.text(self.shape)} on {self.device}"
        if self.shape:  # a number that may vary
            return f"{self.type}, {dims.text(self.shape)[1:-1]}"
        return f"{self.type} {self.value}".strip()

    @property
    def is_dense(self) -> bool:
        """Whether it is a plain tensor in strided memory."""
        is_plain = self.kind == "tensor" and self.type in ("Tensor", "Parameter", "Buffer")
        return is_plain and len(self.stride) == len(self.sizes)

    @property
    def like(self) -> TensorLike:
        """The tensor of the example call without its data."""
        return TensorLike.named(self.sizes, self.stride, self.dtype, self.device)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {**asdict(self), "path": self.path.to_json()}


def describe(path: Path, value: Any) -> Leaf:
    """The leaf that `value` is."""
    kind = type(value).__name__
    without = explain_no_sizes(value)
    if without is not None:
        return Leaf(path, "object", without)
    if isinstance(value, torch.Tensor):
        return Leaf(
            path,
            "tensor",
            kind,
            tuple(int(s) for s in value.shape),
            tuple(int(s) for s in value.shape),
            tuple(int(s) for s in value.stride()) if value.layout is torch.strided else (),
            str(value.dtype).removeprefix("torch."),
            str(value.device.type),
            value.requires_grad,
            value.is_inference(),
        )
    if isinstance(value, CONSTANTS):
        return Leaf(path, "constant", kind, value=repr(value))
    return Leaf(path, "object", kind)


@dataclass(frozen=True)
class Terms:
    """How far a call may be from the example: for the fast check, and for the words when it fails.

    Where `is_exact`, as torch's guards are, a tensor has the strides of the example, asks for
    a gradient as that did, and belongs to inference_mode as that did. Otherwise a library reads the
    memory: it computes no gradient, and a dimension of size 1 may have any stride. `device` is
    where it was loaded; `relations` are between named dimensions, `memory` is what tensors share.
    """

    is_exact: bool = False
    device: torch.device | None = None
    relations: tuple[dims.Relation, ...] = ()
    memory: SharedMemory | None = None

    def explain_misfits(self, leaf: Leaf, value: Any, sizes: Sizes) -> Iterator[str]:
        """A sentence for each way in which a value is no such leaf: path, expected, actual.

        `sizes` collects the named dimensions.
        """
        if (kind := self._explain_kind(leaf, value)) is not None:
            yield f"{leaf.path}: {kind}"
            return
        given = describe(leaf.path, value)
        if self.is_exact:
            yield from differences(leaf, given, sizes)
            return
        alike = {name: getattr(leaf, name) for name in ("requires_grad", "inference", "stride")}
        misfits = list(differences(leaf, replace(given, **alike), sizes))
        yield from misfits
        if leaf.kind == given.kind == "tensor":
            yield from self._explain_read(leaf, value, is_alike=not misfits)

    def _explain_kind(self, leaf: Leaf, value: Any) -> str | None:
        """Why a tensor is not in plain memory, or None."""
        if not isinstance(value, torch.Tensor):
            return None
        if not self.is_exact:
            return explain_kind(value)
        if not leaf.is_dense:  # the example was none either
            return None
        is_in_name = explain_no_sizes(value) is None and (value.is_conj() or value.is_neg())
        return None if is_in_name else explain_kind(value)

    def _explain_read(self, leaf: Leaf, value: torch.Tensor, *, is_alike: bool) -> Iterator[str]:
        """Why a library cannot read a tensor; its layout matters where all else `is_alike`."""
        if value.requires_grad and torch.is_grad_enabled():
            yield (
                f"{leaf.path}: requires grad, but a package computes no gradients. Pass .detach(), "
                "or call under torch.no_grad()"
            )
        here, there = self.device, value.device
        is_known = here is not None and here.index is not None and here.type == there.type
        if is_known and here != there:
            yield f"{leaf.path}: on {there}, but the package was loaded on {here}"
        if is_alike and not _match_layout(leaf, value):
            yield (
                f"{leaf.path}: expected {_describe_layout(leaf)}, got stride "
                f"{list(value.stride())}; {_LAYOUT_CURE}"
            )

    def explain_relations(self, sizes: Sizes) -> Iterator[str]:
        """A sentence for each relation that the named dimensions of a call do not satisfy."""
        values = {name: size for name, (size, _) in sizes.items()}
        for relation in self.relations:
            if not relation.holds(values):
                yield f"the dimensions {values} do not satisfy {relation.text}"


_EXACT = Terms(is_exact=True)


def _inputs(bound: Mapping[str, Any], receiver: str | None) -> Iterator[tuple[Path, Any]]:
    for name, value in bound.items():
        if name != receiver:
            yield from leaves(value, Path(name))
        elif isinstance(value, torch.nn.Module):
            for part, tensor in (*value.named_parameters(), *value.named_buffers()):
                path = Path(name)
                for step in part.split("."):
                    key = int(step) if step.isdigit() else step
                    path = path.attr(step) if step.isidentifier() else path.item(key)
                yield path, tensor


@dataclass(frozen=True)
class Contract:
    """Every leaf of the example call, with the declared dimensions in place of their sizes.

    `receiver` names the parameter that is the module, whose parameters and buffers are leaves too;
    `training` says whether it was in train mode. `leaves` is None for a file of torch's own, which
    does not hold them.
    """

    leaves: tuple[Leaf, ...] | None
    receiver: str | None = None
    training: bool | None = None

    @classmethod
    def of(cls, bound: Mapping[str, Any], shapes: DynamicShapes, receiver: str | None) -> Contract:
        """The contract of one example call."""
        leaves = []
        for path, value in _inputs(bound, receiver):
            leaf = describe(path, value)
            declared = shapes.dims.get(path, {})
            if declared:
                sizes = list(leaf.shape)
                for index, dim in declared.items():
                    place = f"{path}_{index}"
                    sizes[index] = dim.at(place) if isinstance(dim, dims.Hint) else dim
                leaf = replace(leaf, shape=tuple(sizes))
            if path in shapes.numbers:
                varying = (shapes.numbers[path].at(str(path)),)
                leaf = replace(leaf, value="", shape=varying, sizes=(value,))
            leaves.append(leaf)
        module = bound.get(receiver) if receiver else None
        training = module.training if isinstance(module, torch.nn.Module) else None
        return cls(tuple(leaves), receiver, training)

    def mismatches(self, bound: Mapping[str, Any]) -> list[str]:
        """A sentence for each leaf of a call that does not fit: path, expected, actual."""
        problems: list[str] = []
        if self.leaves is None:
            return problems
        module = bound.get(self.receiver) if self.receiver else None
        if isinstance(module, torch.nn.Module) and self.training not in (None, module.training):
            state = ("eval", "train")
            problems.append(
                f"the module is in {state[module.training]} mode, but was compiled in "
                f"{state[bool(self.training)]} mode: call .{state[bool(self.training)]}() or "
                "recompile"
            )
        given = dict(_inputs(bound, self.receiver))
        sizes: Sizes = {}
        for leaf in self.leaves:
            if leaf.path in given:
                problems.extend(_EXACT.explain_misfits(leaf, given.pop(leaf.path), sizes))
            else:
                problems.append(f"{leaf.path}: expected {leaf.text}, {_instead(leaf.path, bound)}")
                given = {path: value for path, value in given.items() if not leaf.path.holds(path)}
        rest = (describe(path, value) for path, value in given.items())
        problems.extend(f"{leaf.path}: unexpected {leaf.text}" for leaf in rest)
        return problems

    def can_be_read(self) -> Callable[[Mapping[str, Any]], bool]:
        """A fast check that every input has sizes, and none a tangent.

        Without sizes it would end the process in torch's guards, which let a tangent pass.
        """
        places = [
            f"L[{leaf.path.root!r}]{leaf.path.tail}"
            for leaf in self.leaves or ()
            if leaf.kind == "tensor" and leaf.path.root != self.receiver
        ]
        if not places:
            return self._all_can_be_read
        test = " or ".join(["ad._current_level >= 0", *(f"{p}.is_nested" for p in places)])
        source = [
            "def check(L):",
            f"    try: is_clear = not ({test})",
            "    except failures: is_clear = False",
            "    return is_clear or thorough(L)",
        ]
        scope: dict[str, Any] = {
            "thorough": self._all_can_be_read,
            "failures": (AttributeError, KeyError, IndexError, TypeError),
            "ad": tp.FORWARD_AD.get(),
        }
        exec("\n".join(source), scope)
        check: Callable[[Mapping[str, Any]], bool] = scope.pop("check")
        return check

    def _all_can_be_read(self, bound: Mapping[str, Any]) -> bool:
        values = [value for _, value in _inputs(bound, self.receiver)]
        return not (any(map(explain_no_sizes, values)) or has_tangents(values))

    def arguments(self) -> tuple[Leaf, ...]:
        """The plain tensors among the arguments: no parameter of the module is one."""
        return tuple(
            leaf
            for leaf in self.leaves or ()
            if leaf.type in ("Tensor", "Parameter", "Buffer") and leaf.path.root != self.receiver
        )

    def dynamic(self) -> Iterator[tuple[str, dims.Dynamic]]:
        """Every named dimension and number: its place as Python source in `L`, its declaration."""
        for leaf in self.leaves or ():
            for index, size in enumerate(leaf.shape):
                if isinstance(size, dims.Dynamic) and size.name is not None:
                    part = f".shape[{index}]" if leaf.kind == "tensor" else ""
                    yield f"L[{leaf.path.root!r}]{leaf.path.tail}{part}", size

    def relations(self) -> Callable[[Mapping[str, Any]], bool] | None:
        """A fast check of the named dimensions, or None when there is none.

        torch's guards hold the range of each dimension alone; shared and derived ones are ours.
        """
        declared = list(self.dynamic())
        if not declared:
            return None
        tests = " and ".join(dims.write_size_tests(declared, {}))
        scope: dict[str, Any] = {}
        exec(f"def check(L): return {tests}", scope)
        check: Callable[[Mapping[str, Any]], bool] = scope.pop("check")
        return check

    def to_json(self) -> dict[str, Any]:
        """JSON-ready data for the manifest."""
        return {
            "leaves": [leaf.to_json() for leaf in self.leaves or ()],
            "receiver": self.receiver,
            "training": self.training,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Contract:
        """Read what `to_json` wrote; raises `ArtifactError` for anything else."""
        try:
            return read_row(cls, data)
        except ValueError as error:
            raise ArtifactError(
                f"The inputs in the manifest are damaged ({error}). Get the file again."
            ) from error


def differences(leaf: Leaf, given: Leaf, sizes: Sizes) -> Iterator[str]:
    """A sentence for each way in which a leaf differs; `sizes` collects the named dimensions."""
    where = str(leaf.path)
    if leaf.kind != given.kind or (leaf.kind != "tensor" and leaf.type != given.type):
        yield f"{where}: expected {leaf.text}, got {given.text}"
        return
    if leaf.kind == "constant":
        yield from _number_differences(leaf, given)
    if leaf.kind != "tensor":
        return
    for what in ("dtype", "device"):
        expected, actual = getattr(leaf, what), getattr(given, what)
        if expected != actual:
            yield f"{where}: expected {what} {expected}, got {actual}"
    if leaf.requires_grad != given.requires_grad:
        cure = ".requires_grad_()" if leaf.requires_grad else ".detach()"
        yield (
            f"{where}: expected requires_grad={leaf.requires_grad}, got {given.requires_grad}; "
            f"pass {where}{cure}, or compile with an example of this kind"
        )
    static = all(isinstance(size, int) for size in leaf.shape)
    if static and leaf.shape == given.shape and leaf.stride != given.stride:
        yield (
            f"{where}: expected stride {list(leaf.stride)}, got {list(given.stride)}; "
            f"{_LAYOUT_CURE}"
        )
    if leaf.inference != given.inference:
        yield f"{where}: {explain_inference(where, was_inside=leaf.inference)}"
    yield from _shape_differences(leaf, given, sizes)


def _number_differences(leaf: Leaf, given: Leaf) -> Iterator[str]:
    for size in leaf.shape:
        if isinstance(size, dims.Dynamic) and not size.allows(int(given.value)):
            yield f"{leaf.path} is {given.value}, outside the declared {size.text}"
    if not leaf.shape and leaf.value != given.value:
        yield f"{leaf.path}: compiled for {leaf.value}, got {given.value}"


def _instead(path: Path, bound: Mapping[str, Any]) -> str:
    """What a call has in the place of a leaf."""
    try:
        value = path.get(bound)
    except (KeyError, IndexError, TypeError, AttributeError):
        return "it is missing"
    return f"got a {type(value).__name__}"


def _shape_differences(leaf: Leaf, given: Leaf, sizes: Sizes) -> Iterator[str]:
    where = str(leaf.path)
    if len(leaf.shape) != len(given.shape):
        yield f"{where}: expected shape {dims.text(leaf.shape)}, got {dims.text(given.shape)}"
        return
    for index, (size, actual) in enumerate(zip(leaf.shape, given.shape, strict=True)):
        assert isinstance(actual, int)
        if isinstance(size, int):
            if size != actual:
                yield f"{where}: expected size {size} at dimension {index}, got {actual}"
        elif size.name is not None:
            if not size.allows(actual):
                low = size.is_raised and actual < size.size(size.min or 0)
                whose = f"{size.text}: {size.starts_at_two}" if low else f"the declared {size.text}"
                yield f"{where}: dimension {index} is {actual}, outside {whose}"
                continue
            value = size.value(actual) or 0
            seen = sizes.setdefault(size.name, (value, f"{where} dimension {index}"))
            if seen[0] != value:
                yield (
                    f"{where}: dimension {index} makes {size.name} {value}, but {seen[1]} "
                    f"makes it {seen[0]}"
                )


def list_problems(problems: Sequence[str]) -> str:
    """Problems one per line, the first dozen spelled out."""
    lines = [f"  - {problem}" for problem in problems[:_SHOWN]]
    rest = len(problems) - len(lines)
    return "\n".join([*lines, *([f"  … and {rest} more"] if rest else [])])


# the fast check: one expression, which accepts only what fits; the rest is looked at slowly


def is_dynamic(leaf: Leaf) -> bool:
    """Whether a leaf has a dimension whose size is not fixed."""
    return any(isinstance(size, dims.Dynamic) for size in leaf.shape)


def order_of(leaf: Leaf) -> tuple[int, ...] | None:
    """The dimensions from the outermost in memory to the innermost, or None with gaps between."""
    order = sorted(range(len(leaf.stride)), key=lambda i: (-leaf.stride[i], -leaf.sizes[i], i))
    expected = 1
    for index in reversed(order):
        if leaf.sizes[index] != 1 and leaf.stride[index] != expected:
            return None
        expected *= leaf.sizes[index]
    return tuple(order)


def laid_out(leaf: Leaf, value: torch.Tensor) -> torch.Tensor:
    """The same values in the memory order of the example, where that has no gaps."""
    order = order_of(leaf)
    if order is None or value.dim() != len(order):
        return value
    made = torch.empty_permuted(value.shape, order, dtype=value.dtype, device=value.device)
    return value if made.stride() == value.stride() else made.copy_(value)


def is_contiguous(leaf: Leaf) -> bool:
    """Whether the example was contiguous."""
    order = order_of(leaf)
    wide = None if order is None else [i for i in order if leaf.sizes[i] != 1]
    return wide is not None and wide == sorted(wide)


def _match_layout(leaf: Leaf, value: torch.Tensor) -> bool:
    """Whether a tensor lies in memory as the example did; dimensions of size 1 lie anywhere."""
    if value.numel() == 0:
        return True
    if not is_dynamic(leaf):
        return _same_strides(leaf.stride, value)
    if is_contiguous(leaf):
        return value.is_contiguous()
    order = order_of(leaf)
    if order is not None:
        return value.permute(order).is_contiguous()
    return _same_strides(leaf.stride, value)


def _same_strides(wanted: Sequence[int], value: torch.Tensor) -> bool:
    return all(
        size == 1 or stride == given
        for size, stride, given in zip(value.shape, wanted, value.stride(), strict=True)
    )


def _describe_layout(leaf: Leaf) -> str:
    """The layout as people say it."""
    if is_contiguous(leaf):
        return "a contiguous tensor"
    order = order_of(leaf)
    if is_dynamic(leaf) and order is not None:
        return f"dimensions in the memory order {list(order)} (outermost first)"
    return f"stride {list(leaf.stride)}"


def build_fast_check(
    named: Mapping[str, Leaf],
    modes: Callable[[], int],
    terms: Terms,
) -> FastCheck:
    """The check of leaves by the names that they have in the call.

    One C++ call of torch's guards looks at classes, dtypes, devices, fixed sizes and strides; then
    come constants, dynamic sizes and what is around the call: `modes` counts the modes that
    follow it.
    """
    scope: dict[str, Any] = {}
    tensors = {name: leaf for name, leaf in named.items() if leaf.kind == "tensor"}
    tests = [_write_tensor_test(tensors, terms, scope)] if tensors else []
    for name, leaf in named.items():
        if leaf.kind != "tensor":
            tests.append(_write_constant(name, leaf, scope))
        elif is_dynamic(leaf):
            tests.append(_write_layout(name, leaf, scope))
    sizes: dict[str, str] = {}
    places = [
        (f"{name}.size({axis})", size)
        for name, leaf in tensors.items()
        for axis, size in enumerate(leaf.shape)
        if isinstance(size, dims.Dynamic)
    ]
    tests += dims.write_size_tests(places, sizes) if places else ()
    tests += [relation.write_test(sizes) for relation in terms.relations]
    if terms.memory is not None:
        scope["_wb_memory"] = terms.memory.holds
        tests.append(f"_wb_memory([{', '.join(tensors)}])")
    if tensors:
        scope["_wb_ad"], scope["_wb_modes"] = tp.FORWARD_AD.get(), modes
        tests.append("_wb_ad._current_level < 0 and _wb_modes() == 0")
    return FastCheck(" and ".join(tests) or "True", scope, [*tensors])


def _write_tensor_test(tensors: Mapping[str, Leaf], terms: Terms, scope: dict[str, Any]) -> str:
    leaves = list(tensors.values())
    likes = [_make_like(leaf, terms.device) for leaf in leaves]
    for leaf, like in zip(leaves, likes, strict=True):
        like.requires_grad_(terms.is_exact and leaf.requires_grad)
    guard = tp.TENSOR_GUARDS.get()(
        *likes,
        dynamic_dims_sizes=[[s if isinstance(s, int) else None for s in f.shape] for f in leaves],
        dynamic_dims_strides=[
            [None] * len(f.stride) if is_dynamic(f) else list(f.stride) for f in leaves
        ],
    )
    scope["_wb_tensors"] = guard.check
    return f"_wb_tensors({', '.join(tensors)})"


def _make_like(leaf: Leaf, device: torch.device | None) -> torch.Tensor:
    """A tensor of the same kind; its sizes are given apart, so that it takes no memory."""
    is_there = device is not None and leaf.device == device.type
    at = device if is_there else torch.device(leaf.device)
    return torch.empty((1,) * len(leaf.shape), dtype=getattr(torch, leaf.dtype), device=at)


def _write_constant(name: str, leaf: Leaf, scope: dict[str, Any]) -> str:
    try:
        value = ast.literal_eval(leaf.value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return _NEVER
    if not isinstance(value, CONSTANTS) or type(value).__name__ != leaf.type:
        return _NEVER
    return write_constant_test(name, value, scope)


def _write_layout(name: str, leaf: Leaf, scope: dict[str, Any]) -> str:
    if is_contiguous(leaf):
        return f"{name}.is_contiguous()"
    number = len(scope)
    scope["_wb_fits"], scope[f"_wb_f{number}"] = _match_layout, leaf
    return f"_wb_fits(_wb_f{number}, {name})"


def build_fast_guard(signature: inspect.Signature, contract: Contract) -> FastCheck | None:
    """The check for a plain signature, or None when it cannot be one expression.

    torch's guard manager takes 1.3 µs for two tensors, this 0.6 µs. What it does not accept is put
    to the guard manager, which decides. Constants have to be at their defaults.
    """
    named = {str(leaf.path): leaf for leaf in contract.leaves or ()}
    if list(named) != list(signature.parameters):
        return None
    kinds = {leaf.kind for leaf in named.values()}
    if "tensor" not in kinds or not all(_is_simple(*one, signature) for one in named.items()):
        return None
    made = build_fast_check(named, tp.FUNCTION_MODES.get(), _EXACT)
    scope = {**made.scope, "_wb_device": tp.DEVICE_MODULE.get()}
    return replace(made, expression=f"{made.expression} and {_NO_DEVICE}", scope=scope)


_NO_DEVICE = "_wb_device.CURRENT_DEVICE is None"


def _is_simple(name: str, leaf: Leaf, signature: inspect.Signature) -> bool:
    if leaf.kind != "tensor":
        value = signature.parameters[name].default
        return isinstance(value, CONSTANTS) and repr(value) == leaf.value
    static = all(isinstance(size, int) for size in leaf.shape)
    plain = leaf.type == "Tensor" and leaf.device == "cpu" and not leaf.inference
    return static and plain and len(leaf.stride) == len(leaf.sizes)
