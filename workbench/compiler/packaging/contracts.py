"""What goes into an exported program and comes out of it, in terms of the declared dimensions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from workbench.artifacts.manifest.package_manifest import PackagedOutput
from workbench.compiler.calls.paths import Path
from workbench.compiler.contract.contract import (
    Contract,
    Leaf,
    describe,
    differences,
    list_problems,
)
from workbench.compiler.contract.shared_memory import SharedMemory
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.packaging.exporting import Exportable
from workbench.compiler.packaging.inputs import CallInputs, Declared, explain_no_number
from workbench.compiler.sizes.dims import Dynamic, Relation, Size, read_relations
from workbench.compiler.sources.size_symbols import in_words
from workbench.errors import ArtifactError, CaptureError, UsageError

Ranges = Mapping[str, tuple[int, int | None]]
_SYMBOLIC = {torch.SymInt: "int", torch.SymFloat: "float", torch.SymBool: "bool"}
_CONSTANT = (int, bool, type(None))


@dataclass(frozen=True)
class Names:
    """The name of each symbol: that of its Dim, or else of its first place."""

    by_symbol: Mapping[Any, str]

    @classmethod
    def of(cls, inputs: CallInputs, values: Sequence[Any], declared: Declared) -> Names:
        """Names for the symbols in the sizes of exported inputs."""
        by_symbol: dict[Any, str] = {}
        places: list[tuple[Path, int, Any]] = [
            (path, index, size.node.expr)
            for (path, _), value in zip(inputs.leaves, values, strict=True)
            for index, size in enumerate(getattr(value, "shape", ()))
            if isinstance(size, torch.SymInt) and size.node.expr.free_symbols
        ]
        for path, index, expression in places:
            dim = declared.get((path, index))
            symbol = find_only_symbol(expression)
            if dim is None or dim.name is None or symbol is None:
                continue
            if parse_affine(expression, symbol) == (dim.scale, dim.offset):
                by_symbol.setdefault(symbol, dim.name)
        for path, index, expression in places:
            for symbol in sorted(expression.free_symbols, key=str):
                if symbol not in by_symbol:
                    by_symbol[symbol] = _unused(f"{path}_{index}", {*by_symbol.values()})
        return cls(by_symbol)

    def shown(self, text: str) -> str:
        """A text with symbols under their names."""
        names = {str(symbol): name for symbol, name in self.by_symbol.items()}
        return re.sub(r"\b[su]\d+\b", lambda match: names.get(match[0], match[0]), text)


def _unused(wish: str, names: set[str]) -> str:
    name = re.sub(r"\W+", "_", wish).strip("_")
    name = name if name.isidentifier() else f"dim_{name}"
    while name in names:
        name += "_"
    return name


def find_only_symbol(expression: Any) -> Any | None:
    """The symbol of an expression that has one, or None."""
    symbols = expression.free_symbols
    return next(iter(symbols)) if len(symbols) == 1 else None


def parse_affine(expression: Any, symbol: Any) -> tuple[int, int] | None:
    """(scale, offset) of an expression `scale * symbol + offset` in whole numbers, or None."""
    try:
        scale, offset = expression.coeff(symbol, 1), expression.subs(symbol, 0)
        if (scale * symbol + offset - expression).expand() != 0:
            return None
        return int(scale), int(offset)
    except (TypeError, ValueError, AttributeError):
        return None


@dataclass(frozen=True)
class ExportedContract:
    """What every input has to be; `guards` are relations between named dimensions, as text.

    `ranges` are the least and greatest value of each named dimension, None where there is no
    greatest. `memory` is there for a library that writes into its inputs. `unsaid` are guards of
    torch that could not be put in terms of the dimensions, `names` those of torch's symbols.
    """

    contract: Contract
    guards: tuple[str, ...] = ()
    ranges: Ranges = field(default_factory=dict)
    unsaid: tuple[str, ...] = ()
    names: Names = field(default_factory=lambda: Names({}))
    memory: SharedMemory | None = None

    def to_json(self) -> dict[str, Any]:
        """JSON-ready data for the manifest: that of a contract, with the guards."""
        memory = {} if self.memory is None else {"memory": self.memory.to_json()}
        return {**self.contract.to_json(), "guards": list(self.guards), **memory}

    def starting_at(self, lows: Mapping[str, int]) -> ExportedContract:
        """The same contract with other least values of the named dimensions."""
        leaves = [
            replace(leaf, shape=tuple(_raised(size, lows) for size in leaf.shape))
            for leaf in self.contract.leaves or ()
        ]
        ranges = {name: (lows.get(name, low), high) for name, (low, high) in self.ranges.items()}
        return replace(self, contract=replace(self.contract, leaves=tuple(leaves)), ranges=ranges)

    def on_device(self, device: str) -> ExportedContract:
        """The same contract for tensors on another device, such as "cuda"."""
        leaves = [
            replace(leaf, device=device) if leaf.kind == "tensor" else leaf
            for leaf in self.contract.leaves or ()
        ]
        return replace(self, contract=replace(self.contract, leaves=tuple(leaves)))


def _raised(size: Size, lows: Mapping[str, int]) -> Size:
    low = None if isinstance(size, int) else lows.get(size.name or "")
    if isinstance(size, int) or low is None or low == size.min:
        return size
    return size.raised(low)


def build_contract(program: Any, inputs: CallInputs, declared: Declared) -> ExportedContract:
    """The contract of an exported program for calls like the example."""
    values = list_input_values(program)
    names = Names.of(inputs, values, declared)
    ranges = {name: _range(program, symbol) for symbol, name in names.by_symbol.items()}
    leaves = []
    for (path, example), value in zip(inputs.leaves, values, strict=True):
        leaf = replace(describe(path, example), requires_grad=False, inference=False)
        if isinstance(value, torch.Tensor):
            leaf = replace(leaf, shape=tuple(_size(n, names, ranges) for n in value.shape))
        leaves.append(leaf)
    guards, unsaid = _guards(program, leaves, inputs.rest)
    memory = memory_of(program, inputs)
    return ExportedContract(Contract(tuple(leaves)), guards, ranges, unsaid, names, memory)


def _range(program: Any, symbol: Any) -> tuple[int, int | None]:
    limits = program.range_constraints.get(symbol)
    if limits is None:
        return 0, None
    return _bound(limits.lower) or 0, _bound(limits.upper)


def _bound(value: Any) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError, AttributeError):
        return None
    return number if number < 2**31 else None


def _size(size: Any, names: Names, ranges: Ranges) -> Size:
    if not isinstance(size, torch.SymInt):
        return int(size)
    expression = size.node.expr
    if not expression.free_symbols:
        return int(expression)
    symbol = find_only_symbol(expression)
    terms = None if symbol is None else parse_affine(expression, symbol)
    if symbol is None or terms is None:
        return Dynamic(None)
    name = names.by_symbol[symbol]
    low, high = ranges[name]
    return Dynamic(name, low, high, *terms)


def _guards(
    program: Any, leaves: Sequence[Leaf], rest: str | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What torch.export assumes beyond ranges, in the dimensions' names; then what has no words."""
    places = {
        f"L{prefix}[{leaf.path.root!r}]{leaf.path.tail}.size()[{index}]": size
        for leaf in leaves
        for index, size in enumerate(leaf.shape)
        for prefix in ("", f"[{rest!r}]")
        if not isinstance(size, Dynamic) or size.name is not None
    }
    names = [name for size in places.values() if (name := getattr(size, "name", None))]
    guards: dict[str, None] = {}
    unsaid: dict[str, None] = {}
    for text in program._guards_code or ():
        words = text
        for place in sorted(places, key=len, reverse=True):
            words = words.replace(place, _term(places[place]))
        try:
            (guard,) = read_relations((words,), names)
        except ArtifactError:
            unsaid[in_words(text)] = None
            continue
        if not _is_same(guard, names):
            guards[guard.source] = None
    return tuple(guards), tuple(unsaid)


def _is_same(guard: Relation, names: Sequence[str]) -> bool:
    """Whether both sides of an equation are one polynomial: shared names say so already."""
    if not {*re.findall(r"\w+", guard.source)} & {*names}:
        return guard.holds({})  # of fixed sizes, each of which is compared in a call
    is_plain = re.search(r"//|%|max|min|<|>|!| and | or ", guard.source) is None
    if not is_plain or "==" not in guard.source:
        return False
    return all(guard.holds(dict.fromkeys(names, value)) for value in range(2, 12))


def _term(dim: Size) -> str:
    if isinstance(dim, int):
        return str(dim)
    assert dim.name is not None
    scaled = dim.name if dim.scale == 1 else f"{dim.scale}*{dim.name}"
    return scaled if dim.scale == 1 and not dim.offset else f"({scaled}{dim.offset:+d})"


# outputs, and inputs that no library takes


def check_example(subject: Exportable, program: Any) -> None:
    """Raise `UsageError` for example inputs that an exported program was not made for."""
    contract = build_contract(program, subject.inputs, subject.declared).contract
    values = list_input_values(program)
    problems: list[str] = []
    sizes: dict[str, tuple[int, str]] = {}
    rows = zip(contract.leaves or (), subject.inputs.leaves, values, strict=True)
    for leaf, (path, example), value in rows:
        if isinstance(value, torch.Tensor):
            dtype = str(value.dtype).removeprefix("torch.")
            expected = replace(leaf, kind="tensor", dtype=dtype, device=value.device.type)
        else:
            expected = describe(path, value)
        actual = replace(describe(path, example), requires_grad=False, inference=False)
        problems += differences(expected, actual, sizes)
    if problems:
        raise UsageError(
            f"The example inputs do not fit the exported program of {subject.title}:\n"
            f"{list_problems(problems)}\nPass inputs that fit, or leave args out to use its own."
        )


def check_inputs(subject: Exportable, program: Any) -> None:
    """Raise `CaptureError` for a Python number that was declared dynamic."""
    for (path, value), traced in zip(
        subject.inputs.leaves, list_input_values(program), strict=True
    ):
        if type(traced) in _SYMBOLIC:
            raise CaptureError(
                f"{subject.title} cannot be packaged: {explain_no_number(path, value)}"
            )


def build_outputs(program: Any, names: Names | None = None) -> tuple[PackagedOutput, ...]:
    """The handles that the library returns, one for each leaf of the outputs.

    Symbolic sizes have the names of the dimensions, where they are given.

    Raises `CaptureError` for a leaf that a library cannot return, such as a text.
    """
    paths = _paths(program)
    values = {node.name: node.meta.get("val") for node in program.graph.nodes}
    kind = tp.OUTPUT_KIND.get().USER_OUTPUT
    specs = [spec for spec in program.graph_signature.output_specs if spec.kind == kind]
    named = names or Names({})
    return tuple(
        _output(spec.arg, values, path, named) for spec, path in zip(specs, paths, strict=True)
    )


def _paths(program: Any) -> Iterator[str]:
    spec = program.call_spec.out_spec
    tree = tp.TREE_UNFLATTEN.get()(list(range(spec.num_leaves)), spec)
    leaves, _ = tp.TREE_FLATTEN_WITH_PATH.get()(tree)
    for keys, _ in leaves:
        yield "the output" + "".join(map(str, keys))


def _output(argument: Any, values: dict[str, Any], path: str, names: Names) -> PackagedOutput:
    value = argument.value if hasattr(argument, "value") else values.get(argument.name)
    if isinstance(value, torch.Tensor):
        shape = tuple(n if isinstance(n, int) else names.shown(str(n)) for n in value.shape)
        return PackagedOutput(str(value.dtype).removeprefix("torch."), shape)
    if type(value) in _SYMBOLIC:
        return PackagedOutput("", (), _SYMBOLIC[type(value)])
    if type(value) not in _CONSTANT:
        raise CaptureError(
            f"{path} is the {type(value).__name__} {value!r:.60}, but a library returns only "
            "tensors, whole numbers and None. Return this value from the code that calls the "
            "package instead."
        )
    return PackagedOutput("", (), type(value).__name__)


def memory_of(program: Any, inputs: CallInputs) -> SharedMemory | None:
    """What the inputs may share where some are written to: nothing; None where none is.

    Raises `CaptureError` for example inputs that share memory: no library is compiled for that.
    """
    if not _writes(program):
        return None
    tensors = [(path, value) for path, value in inputs.leaves if isinstance(value, torch.Tensor)]
    memory = SharedMemory.of((str(path) for path, _ in tensors), [value for _, value in tensors])
    if memory.shared:
        first, second = (memory.names[place] for place in memory.shared[0].pair)
        raise CaptureError(
            f"{first} and {second} share memory, and the code writes to its inputs, which "
            "AOTInductor does not support. Pass separate example inputs (.clone()), or compile "
            "with wb.aot_compile, which supports them."
        )
    return memory


def list_input_values(program: Any) -> list[Any]:
    """What torch.export made of each leaf of the inputs, in their order."""
    nodes = [node for node in program.graph.nodes if node.op == "placeholder"]
    specs = program.graph_signature.input_specs
    kind = tp.INPUT_KIND.get().USER_INPUT
    pairs = zip(nodes, specs, strict=True)
    return [node.meta.get("val") for node, spec in pairs if spec.kind == kind]


def _writes(program: Any) -> bool:
    """Whether an operator of the captured graph writes into the memory of an input."""
    if program.graph_signature.user_inputs_to_mutate:  # a program with functional operators alone
        return True
    inputs = {_storage(value) for value in list_input_values(program)} - {None}
    for node in program.graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is None:
            continue
        arguments = {one.name: v for one, v in zip(schema.arguments, node.args, strict=False)}
        arguments |= node.kwargs
        for argument in schema.arguments:
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            value = arguments.get(argument.name)
            parts = value if isinstance(value, list | tuple) else (value,)
            if inputs & {_storage(getattr(part, "meta", {}).get("val")) for part in parts}:
                return True
    return False


def _storage(value: Any) -> int | None:
    if not isinstance(value, torch.Tensor):
        return None
    reference = StorageWeakRef(value.untyped_storage())  # type: ignore[no-untyped-call]
    number: int = reference.cdata
    return number
