"""What each kernel of one call leaves, kept for a comparison with another program, or in a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.errors import UsageError
from workbench.number_text import plural
from workbench.report import Kernel
from workbench.worlds.numerics.computing.cones import (
    CannotCompute,
    Cone,
    name_operator,
    select_known,
)
from workbench.worlds.numerics.computing.distances import (
    describe_kind,
    is_comparable,
    is_equal,
    measure_apart,
    measure_off,
)
from workbench.worlds.numerics.computing.host_microscope import HostProgram
from workbench.worlds.numerics.computing.kernel_walk import KernelWalk
from workbench.worlds.numerics.computing.precisions import Precision
from workbench.worlds.numerics.findings.causes import describe_elided, guess_rounding
from workbench.worlds.numerics.rows import CommonValue

_FORMAT = 1


@dataclass(frozen=True)
class KeptValue:
    """A value that a kernel left; `reads` are those kept before that it is computed from.

    `low` are nodes inside whose values eager rounds to 16 bits and this kernel did not, `code`
    stands for the text of the kernel, `rounds` for why its rounding may be another one.
    """

    node: str
    value: torch.Tensor
    kernel: str
    part: str
    file: str | None
    line: int | None
    reads: tuple[str, ...] = ()
    low: tuple[str, ...] = ()
    code: str = ""
    rounds: str = ""
    is_library: bool = False


@dataclass(frozen=True)
class KeptCall:
    """The values of one call in the order of its program, its inputs and outputs.

    `place` says what it ran on: the release of torch and the number of threads.
    """

    name: str
    values: Mapping[str, KeptValue]
    outputs: tuple[Any, ...]
    inputs: Mapping[str, torch.Tensor]
    place: str

    def save(self, path: Path) -> None:
        """Write it as plain data, which `load` reads in another release of torch."""
        torch.save(
            {
                "format": _FORMAT,
                "name": self.name,
                "place": self.place,
                "values": [asdict(value) for value in self.values.values()],
                "inputs": {name: value.clone() for name, value in self.inputs.items()},
                "outputs": [
                    one.detach().clone() if isinstance(one, torch.Tensor) else repr(one)
                    for one in self.outputs
                ],
            },
            path,
        )


def load_call(path: Path) -> KeptCall:
    """Read what `save` wrote; raises `UsageError` for another file."""
    try:
        data = torch.load(path, weights_only=True)
        if data["format"] != _FORMAT:
            raise KeyError("format")
        values = [_read_value(row) for row in data["values"]]
        inputs, outputs = dict(data["inputs"]), tuple(data["outputs"])
        texts = str(data["name"]), str(data["place"])
    except FileNotFoundError as error:
        raise UsageError(f"The file {path.name} does not exist.") from error
    except Exception as error:
        raise UsageError(
            f"{path.name} has no values of a call: write them with "
            "numerics(x, args).save_values(path)."
        ) from error
    by_node = {value.node: value for value in values}
    return KeptCall(texts[0], by_node, outputs, inputs, texts[1])


def _read_value(row: Mapping[str, Any]) -> KeptValue:
    """A value as `save` wrote it; raises `TypeError` for another row."""
    stored = KeptValue(**row)
    names = (*stored.reads, *stored.low)
    texts = (stored.node, stored.kernel, stored.part, stored.code, stored.rounds, *names)
    if not isinstance(stored.value, torch.Tensor) or not all(isinstance(t, str) for t in texts):
        raise TypeError("value")
    return stored


@dataclass
class _Keeping(KernelWalk):
    """Keeps what each kernel leaves, by the node of the captured graph that it is of."""

    program: HostProgram
    kept: dict[str, KeptValue] = field(default_factory=dict)

    def __post_init__(self) -> None:
        stages = self.program.stages
        super().__init__(stages, self.program.aten_inputs())
        captured = {aten: name for name, aten in stages.aten_pairs.items()}
        self._kept_nodes: set[str] = set()
        self._names = {
            node: f"backward {node}" if stages.is_backward else captured.get(node, node)
            for node in stages.lowered.nodes
        }

    def _compare(
        self, kernel: Kernel, node: str, got: torch.Tensor, known: Mapping[str, Any]
    ) -> None:
        graph = self._stages.lowered
        inside, name = graph.find_inside(node, known), self._names[node]
        # what the same kernel wrote before counts: the value is made of it there
        before = {*known, *self._kept_nodes} - {node}
        self._kept_nodes.add(node)
        file, line = graph.find_line(inside)
        operators = [name_operator(graph.nodes[part]) for part in reversed(inside)]
        text = self.program.compiled.report.texts[kernel.text] if kernel.text else ""
        self.kept[name] = KeptValue(
            node=name,
            value=got.detach().clone(),
            kernel=kernel.id,
            part=kernel.name,
            file=file,
            line=line,
            reads=tuple(self._names[leaf] for leaf in graph.find_leaves(node, before)),
            low=self._list_never_rounded(node, got, known),
            code=sha256(text.encode()).hexdigest()[:12],
            rounds=guess_rounding(operators, is_library=not kernel.is_generated).name,
            is_library=not kernel.is_generated,
        )

    def _list_never_rounded(
        self, node: str, got: torch.Tensor, known: Mapping[str, Any]
    ) -> tuple[str, ...]:
        """The nodes inside that eager rounds to 16 bits, where the value shows that nobody did."""
        graph = self._stages.lowered
        low = graph.name_low(tuple(n for n in graph.find_inside(node, known) if n != node))
        if not low or not got.is_floating_point():
            return low
        own = select_known(graph, node, {n: known[n] for n in graph.find_leaves(node, known)})
        try:
            rounded, late = (
                Cone(graph, own, precision).value(node)
                for precision in (Precision.SAME, Precision.UPCAST)
            )
        except CannotCompute:
            return low
        far, near = (measure_off(got, one, got.dtype) for one in (rounded, late.to(got.dtype)))
        return low if near < far else ()


def keep_call(program: HostProgram, name: str) -> KeptCall:
    """Run the kernels of a call that was watched once more, and keep what each leaves."""
    values: dict[str, KeptValue] = {}
    for part in filter(None, (program, program.backward)):
        walk = _Keeping(part)
        part.walk_kernels(walk)
        values |= walk.kept
    threads = torch.get_num_threads()
    return KeptCall(
        name,
        values,
        tuple(tp.TREE_LEAVES.get()(program.seen.outputs)),
        {n: v.detach() for n, v in program.inputs().items() if isinstance(v, torch.Tensor)},
        f"torch {torch.__version__}, {threads} {'thread' if threads == 1 else 'threads'}",
    )


def compare_calls(one: KeptCall, other: KeptCall) -> Iterator[CommonValue]:
    """A row for each value that both keep, in the order of the first.

    Raises `UsageError` where the two were not given the same.
    """
    pairs = [(n, value, other.inputs[n]) for n, value in one.inputs.items() if n in other.inputs]
    wrong = [name for name, a, b in pairs if not (is_comparable(a, b) and is_equal(a, b))]
    if wrong or (one.inputs and not pairs):
        if not wrong:
            own, others = (", ".join([*call.inputs][:3]) for call in (one, other))
            raise UsageError(
                f"{one.name} ({own}) and {other.name} ({others}) have no common input name: give "
                "arguments and modules the same names, because values are matched by name."
            )
        raise UsageError(
            f"{one.name} and {other.name} have different inputs or weights ({wrong[0]}): call "
            "both with the same ones."
        )
    apart: set[str] = set()
    for name, value in one.values.items():
        same = other.values.get(name)
        if same is None or not is_comparable(value.value, same.value):
            if apart.intersection(value.reads):  # what is not compared hands on what it inherits
                apart.add(name)
            continue
        inherited = not apart.isdisjoint((*value.reads, *same.reads))
        is_other = not is_equal(value.value, same.value)
        reason = _explain(value, same) if is_other and not inherited else ""
        if is_other:
            apart.add(name)
        yield _make_row(value, same, inherited=inherited, reason=reason)


def list_unlike(one: KeptCall, other: KeptCall) -> Iterator[str]:
    """Which outputs are no two of a kind, by their number, sizes and types, in sentences."""
    counts = len(one.outputs), len(other.outputs)
    if counts[0] != counts[1]:
        yield f"{one.name} returns {plural(counts[0], 'value')}, {other.name} {counts[1]}."
    for number, pair in enumerate(zip(one.outputs, other.outputs, strict=False)):
        if any(isinstance(output, torch.Tensor) for output in pair) and not is_comparable(*pair):
            first, second = map(describe_kind, pair)
            yield f"Output {number} is {first} in {one.name} and {second} in {other.name}."


def compare_outputs(
    one: KeptCall, other: KeptCall, rows: Sequence[CommonValue]
) -> Iterator[CommonValue]:
    """A row for each output that is a tensor in both; one inherits where a value differs."""
    inherited = any(row.differ for row in rows)
    for number, (a, b) in enumerate(zip(one.outputs, other.outputs, strict=False)):
        if is_comparable(a, b):
            value, same = (
                KeptValue(f"output[{number}]", part, "", "", None, None) for part in (a, b)
            )
            yield _make_row(value, same, inherited=inherited)


def _make_row(
    value: KeptValue, other: KeptValue, *, inherited: bool, reason: str = ""
) -> CommonValue:
    apart = measure_apart(value.value.detach(), other.value.detach())
    return CommonValue(
        value.node,
        value.file,
        value.line,
        value.kernel,
        value.part,
        other.kernel,
        other.part,
        str(value.value.dtype).removeprefix("torch."),
        apart.elements,
        apart.differ,
        apart.max_ulp,
        inherited,
        reason,
    )


def _explain(value: KeptValue, other: KeptValue) -> str:
    """Why two programs compute one value otherwise from equal ones."""
    more, less = sorted((value, other), key=lambda one: len(one.low), reverse=True)
    if len(more.low) > len(less.low):
        where = "the first" if more is value else "the second"
        return f"{where} elides casts that the other one performs: {describe_elided(more.low)}"
    if value.is_library != other.is_library:
        return "a library call in one, a generated kernel in the other"
    if value.code == other.code and not value.is_library:
        return f"{value.rounds}: the same code, but executed differently"
    return value.rounds
