"""`dynamic_shapes` as torch.export takes them, turned into marks that last for one compilation."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.export import Dim

from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.internals.signatures import signature_of
from workbench.compiler.request.compile_request import check_mapping
from workbench.compiler.sizes.dims import Dynamic, Hint
from workbench.errors import UsageError
from workbench.number_text import plural


@dataclass(frozen=True)
class DynamicShapes:
    """The declared dimensions and numbers by leaf path, and what had to be said about them."""

    dims: Mapping[Path, Mapping[int, Dynamic | Hint]]
    notes: tuple[str, ...] = ()
    numbers: Mapping[Path, Hint] = field(default_factory=dict)

    @property
    def small(self) -> bool:
        """Whether a size of 0 or 1 is declared."""
        return any(_is_small(dim) for declared in self.dims.values() for dim in declared.values())

    def from_two(self) -> DynamicShapes:
        """The same without the sizes 0 and 1, and with what has to be said of it."""
        dims = {
            path: {index: _from_two(dim) for index, dim in declared.items()}
            for path, declared in self.dims.items()
        }
        raised = (
            dim.starts_at_two
            for declared in dims.values()
            for dim in declared.values()
            if isinstance(dim, Dynamic) and dim.is_raised
        )
        return replace(self, dims=dims, notes=(*self.notes, *dict.fromkeys(raised)))


def read(spec: Any, bound: Mapping[str, Any]) -> DynamicShapes:
    """Match a specification with the bound arguments.

    `bound` maps parameter names to example values, the receiver left out. Raises `UsageError`
    naming the leaf that does not fit.
    """
    if spec is None:
        return DynamicShapes({})
    names = list(bound)
    if isinstance(spec, list | tuple):
        if len(spec) > len(names):
            raise UsageError(
                f"dynamic_shapes has {plural(len(spec), 'entry', 'entries')} for "
                f"{plural(len(names), 'input')} "
                f"({', '.join(names)})."
            )
        spec = dict(zip(names, spec, strict=False))
    check_mapping("dynamic_shapes", spec, "{'x': {0: torch.export.Dim('rows')}}")
    unknown = [name for name in spec if name not in bound]
    if unknown:
        raise UsageError(
            f"dynamic_shapes names {', '.join(map(repr, unknown))}; the inputs are "
            f"{', '.join(names)}."
        )
    shapes = DynamicShapes({}, numbers={})
    for name, entry in spec.items():
        _collect(entry, bound[name], Path(name), shapes)
    _check(shapes.dims, bound)
    return shapes


def mark_every_size(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Every size of 2 or more as one that torch may keep dynamic, by parameter name."""

    def dims(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return None
        return {n: Dim.AUTO if size >= 2 else None for n, size in enumerate(value.shape)}

    return {name: tp.TREE_MAP.get()(dims, value) for name, value in inputs.items()}


def rename_entries(spec: Any, function: Callable[..., Any], bound: Mapping[str, Any]) -> Any:
    """Entries for the parameters of a decorated function, under those that the decorator takes.

    Dynamo traces the wrapper, often `(*args, **kwargs)`, whereas people know the names inside, and
    torch.export takes those. `bound` are the inputs by parameter name, the receiver among them.
    """
    outer = signature_of(function, follow_wrapped=False).parameters
    if not isinstance(spec, Mapping) or all(name in outer for name in spec):
        return spec
    inner = list(signature_of(function).parameters)
    kinds = {parameter.kind: (name, i) for i, (name, parameter) in enumerate(outer.items())}
    rest, first = kinds.get(inspect.Parameter.VAR_POSITIONAL, ("", 0))
    named, _ = kinds.get(inspect.Parameter.VAR_KEYWORD, ("", 0))
    entries: dict[str, Any] = {}
    for name, entry in spec.items():
        position = inner.index(name) - first if name in inner else -1
        if name not in outer and name in bound.get(named, ()):
            entries.setdefault(named, {})[name] = entry
        elif name not in outer and 0 <= position < len(bound.get(rest, ())):
            entries.setdefault(rest, {})[position] = entry
        else:
            entries[name] = entry
    return entries


def _collect(entry: Any, value: Any, path: Path, shapes: DynamicShapes) -> None:
    if entry is None:
        return
    if type(value) is int:
        if hint := number_hint(entry, value, path):
            shapes.numbers[path] = hint  # type: ignore[index]
        return
    if not isinstance(entry, Mapping | list | tuple):
        raise UsageError(
            f"dynamic_shapes has {entry!r} for {path}, a {type(value).__name__}: expected a dict "
            "or a tuple, with a Dim for each tensor dimension."
        )
    pairs = entry.items() if isinstance(entry, Mapping) else enumerate(entry)
    if isinstance(value, torch.Tensor):
        shapes.dims[path] = dict(_declared(pairs, value, path))  # type: ignore[index]
        return
    for key, part in pairs:
        named = hasattr(value, str(key))
        step = path.attr(str(key)) if named else path.item(key)
        try:
            child = getattr(value, str(key)) if named else value[key]
        except (KeyError, IndexError, TypeError) as error:
            raise UsageError(
                f"dynamic_shapes names {step}, which the example input does not have."
            ) from error
        _collect(part, child, step, shapes)


def _declared(
    pairs: Iterable[tuple[int, Any]], value: torch.Tensor, path: Path
) -> Iterator[tuple[int, Dynamic | Hint]]:
    for index, dim in pairs:
        if not -value.dim() <= index < value.dim():
            raise UsageError(
                f"dynamic_shapes names dimension {index} of {path}, which has {value.dim()}."
            )
        declared = _dim(dim, path, index, value.shape[index])
        if declared is not None:
            yield index % value.dim(), declared


def _dim(dim: Any, path: Path, index: int, size: int) -> Dynamic | Hint | None:
    if dim is None or isinstance(dim, int):
        if isinstance(dim, int) and dim != size:
            raise UsageError(
                f"dynamic_shapes fixes dimension {index} of {path} to {dim}; the example has "
                f"{size}."
            )
        return None
    hint = Hint.of(dim)
    if hint is not None:
        return None if hint.kind == "STATIC" else hint
    if not isinstance(dim, Dim) and not hasattr(dim, "root"):
        raise UsageError(
            f"dynamic_shapes has {dim!r} for dimension {index} of {path}: expected a Dim, "
            "Dim.AUTO, Dim.DYNAMIC, Dim.STATIC, an int or None."
        )
    return Dynamic.of(dim)


def _check(dims: Mapping[Path, Mapping[int, Dynamic | Hint]], bound: Mapping[str, Any]) -> None:
    """Refuse examples outside their range, and such as torch takes for constants."""
    values: dict[str, tuple[int, str]] = {}
    for path, declared in dims.items():
        shape = path.get(bound).shape
        for index, dim in declared.items():
            where = f"dimension {index} of {path}"
            if isinstance(dim, Hint):
                dim = dim.at(f"{path}_{index}")
            if not dim.allows(shape[index]):
                raise UsageError(f"{where} is {shape[index]} in the example, outside {dim.text}.")
            if shape[index] < 2:
                raise UsageError(
                    f"{where} is {shape[index]} in the example and declared dynamic, but torch "
                    "specializes sizes 0 and 1. Compile with an example of 2 or more."
                )
            if dim.name is None:
                continue
            value = dim.value(shape[index])
            first = values.setdefault(dim.name, (value or 0, where))
            if first[0] != value:
                raise UsageError(
                    f"{dim.name} is {first[0]} in {first[1]} and {value} in {where}: the example "
                    "inputs must agree on a shared dimension."
                )


def number_hint(entry: Any, value: int, path: Path) -> Hint | None:
    """What is declared of an int among the inputs; raises `UsageError` for what cannot be."""
    hint = Hint.of(entry)
    if type(entry) is int and entry == value:
        return None
    if hint is None:
        raise UsageError(
            f"dynamic_shapes has {entry!r} for {path}, the int {value}, but a Dim is for tensor "
            "dimensions. For an int pass Dim.DYNAMIC or Dim.AUTO, with bounds as in "
            "Dim.DYNAMIC(min=2, max=8), or None to compile for its value."
        )
    if not hint.at(str(path)).allows(value):
        raise UsageError(f"{path} is {value} in the example, outside {hint.at(str(path)).text}.")
    return None if hint.kind == "STATIC" else hint


def _is_small(dim: Dynamic | Hint) -> bool:
    return isinstance(dim, Dynamic) and dim.size(dim.min or 0) < 2


def _from_two(dim: Dynamic | Hint) -> Dynamic | Hint:
    if not isinstance(dim, Dynamic) or not _is_small(dim):
        return dim
    return dim.raised(-(-(2 - dim.offset) // dim.scale))  # the least whose size is at least 2


@contextlib.contextmanager
def sizes_assumed(assumed: bool) -> Iterator[None]:
    """Whether torch may assume of a symbolic size that it is neither 0 nor 1.

    Its caches know the code by the graph alone, and so keep the two apart by their tag.
    """
    config: Any = torch.compiler.config
    tag = config.cache_key_tag if assumed else f"{config.cache_key_tag}, any size"
    with (
        tp.SHAPE_CONFIG.get().patch(backed_size_oblivious=not assumed),
        config.patch(cache_key_tag=tag),
    ):
        yield


@contextlib.contextmanager
def mark_examples(shapes: DynamicShapes, bound: Mapping[str, Any]) -> Iterator[None]:
    """Mark the example tensors while compiling; they carry no new mark afterwards.

    Neither a convolution nor a sum puts a condition on the declared sizes then. Of the first torch
    asks which of its libraries would run the example (NNPACK below a batch of 16), only to know the
    layout of the output, which the generated program checks in each call; of the second whether
    there are so many terms that they are added in cascades, which is right for few, too.
    """
    values = [value for name in bound for _, value in leaves(bound[name], Path(name))]
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    saved = [(tensor, dict(tensor.__dict__)) for tensor in tensors]
    try:
        for path, declared in shapes.dims.items():
            tensor = path.get(bound)
            for index, dim in declared.items():
                _mark(tensor, index, dim)
        config: Any = torch.compiler.config
        numbers = [f"L[{path.root!r}]{path.tail}" for path in shapes.numbers]
        sources = ",".join(filter(None, (config.dynamic_sources, *numbers)))
        with Patches() as patches, config.patch(dynamic_sources=sources):
            if shapes.dims:
                for name in tp.CONVOLUTION_LAYOUT:
                    patches.wrap(name, _without_guards)
                patches.wrap(tp.ADDS_IN_CASCADES, _unless_few)
            yield
    finally:
        for tensor, attributes in saved:
            tensor.__dict__.clear()
            tensor.__dict__.update(attributes)


def _without_guards(layout_of: Callable[..., Any]) -> Callable[..., Any]:
    def answer(*args: Any, **kwargs: Any) -> Any:
        arguments = (*args, *kwargs.values())  # torch 2.11 names the tensor
        tensor = next(
            (argument for argument in arguments if isinstance(argument, torch.Tensor)), None
        )
        sizes = getattr(getattr(tensor, "fake_mode", None), "shape_env", None)
        with contextlib.nullcontext() if sizes is None else tp.SUPPRESS_GUARDS.get()(sizes):
            return layout_of(*args, **kwargs)

    return answer


def _unless_few(adds_in_cascades: Callable[..., bool]) -> Callable[..., bool]:
    def answer(kernel: Any, *args: Any, **kwargs: Any) -> bool:
        sizes = tp.VIRTUALIZED.get().graph.sizevars
        sizes.guard_or_false = lambda are_many: not sizes.statically_known_true(~are_many)
        try:
            return adds_in_cascades(kernel, *args, **kwargs)
        finally:
            del sizes.guard_or_false  # the class has torch's own

    return answer


def _mark(tensor: torch.Tensor, index: int, dim: Dynamic | Hint) -> None:
    if isinstance(dim, Hint) and dim.kind == "AUTO":
        tp.MAYBE_MARK_DYNAMIC.get()(tensor, index)
        return
    # torch takes both bounds or none; one alone is held by our own contract
    low, high = dim.min, dim.max
    if low is None or high is None:
        low = high = None
    elif isinstance(dim, Dynamic):
        low, high = dim.size(low), dim.size(high)
    tp.MARK_DYNAMIC.get()(tensor, index, min=low, max=high)
