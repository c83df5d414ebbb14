"""Runs the generated programs of a report in their order and names what their storages are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from workbench.analysis.blocks.block_calls import list_programs
from workbench.analysis.memory.call_order import order_calls
from workbench.analysis.memory.shard_hooks import ShardHooks, Woven, list_gradients
from workbench.analysis.memory.storages import Storage, Walk
from workbench.artifacts.programs import (
    ITEM_BYTES,
    Call,
    Inputs,
    Program,
    Share,
    is_cpp_program,
    is_python_program,
    read_forward_outputs,
    read_program,
)
from workbench.errors import UsageError
from workbench.number_text import plural
from workbench.report import Buffer, Node, Report, Wrapper
from workbench.report.collectives.collective_rows import BLOCKS
from workbench.report.collectives.shard_groups import SHARDS, ShardedModel
from workbench.report.graph_stages import is_weight_name, name_input, place_of
from workbench.report.memory_rows import Kind


@dataclass(frozen=True)
class Timeline:
    """What the programs of a report did: storages with their kinds, steps with their kernels.

    `inputs` are those of the programs by their places, as Dynamo calls them, `kernels` the id of
    the kernel of each step, `saved` the storage of every tensor that the forward keeps, by name.
    `notes` say what is left out; `is_whole` is False where that may be memory at the peak.
    `is_sized_by_hint`: open sizes are those of the call that was compiled. `buffers` has their rows
    by program and name.
    """

    report: Report
    wrappers: tuple[Wrapper, ...]
    walk: Walk
    inputs: tuple[str, ...]
    kinds: tuple[Kind, ...]
    kernels: tuple[str | None, ...]
    saved: tuple[tuple[str, Storage], ...]
    notes: tuple[str, ...]
    is_whole: bool
    is_sized_by_hint: bool
    buffers: Mapping[tuple[int, str], Buffer]

    def node(self, id: str | None) -> Node | None:
        """The row of a node that a buffer holds the value of."""
        place = self._node_places.get(id or "")
        return None if place is None else self.report.nodes[place]

    @cached_property
    def _node_places(self) -> Mapping[str, int]:
        nodes = {row.node for row in self.buffers.values()}
        ids = self.report.nodes.columns.get("id", ())
        return {id: place for place, id in enumerate(ids) if id in nodes}


def timeline(report: Report) -> Timeline:
    """What the programs of a report hold in memory.

    Raises `UsageError` for a report without a program that can be read, with the programs of
    several compilations, or whose program runs no kernel.
    """
    wrappers = tuple(report.wrappers)
    why = explain_unknown_memory(report)
    programs = [_program(report, wrapper) for wrapper in wrappers if why is None]
    if why is not None or None in programs:
        raise UsageError(why or _UNREADABLE.format(report.request.name))
    whole = _Reader(
        report, wrappers, [program for program in programs if program is not None]
    ).read()
    if not whole.walk.steps:
        raise UsageError(
            f"{report.request.name} runs no kernel: it only returns inputs or views of them, and "
            "allocates nothing."
        )
    return whole


_UNREADABLE = (
    "The memory of {} is not known: its generated program has no Python or C++ function that can "
    "be read. Compile it with aot_compile and the backend 'inductor'."
)


def _program(report: Report, wrapper: Wrapper) -> Program | None:
    return read_program(report.texts[wrapper.text or ""], dict(wrapper.sizes))


def list_devices(report: Report) -> list[str]:
    """The devices of a program's buffers."""
    return sorted(set(report.buffers.columns.get("device", ())) - {None, ""})


def is_on_cpu(report: Report) -> bool:
    """Whether all that a program holds is on the CPU."""
    return all(device.startswith("cpu") for device in list_devices(report))


def explain_unknown_memory(report: Report) -> str | None:
    """Why a record tells nothing of memory, as far as that is seen without reading its programs."""
    name = report.request.name
    wrappers = tuple(report.wrappers)
    if not wrappers:
        return (
            f"The memory of {name} is not known: its report has no generated program. Compile with "
            "the backend 'inductor' and capture='full'."
        )
    passes = [wrapper.is_backward for wrapper in wrappers]
    if passes not in ([False], [False, True]):
        return (
            f"The report of {name} has {_programs(passes)}, and memory is counted for one "
            "compilation. Use the report of one, such as s.report('0/1') of a session, or compile "
            "it with aot_compile."
        )
    if report.extra.get(BLOCKS) and SHARDS not in report.extra:
        return (
            f"The report of {name} does not have the shard sizes of fully_shard: compile it again "
            "with this version."
        )
    if why := report.extra.get(SHARDS, {}).get("why_unknown"):
        return f"The memory of {name} is not known. {why}"
    if any(wrapper.text is None or wrapper.text not in report.texts for wrapper in wrappers):
        return (
            f"The memory of {name} is not known: its report lacks the text of the generated "
            "program. Compile it again with capture='full'."
        )
    texts = [report.texts[wrapper.text or ""] for wrapper in wrappers]
    if not all(is_python_program(text) or is_cpp_program(text) for text in texts):
        return _UNREADABLE.format(name)
    return None


def _programs(passes: Sequence[bool]) -> str:
    forward, backward = passes.count(False), passes.count(True)
    return f"{forward} forward and {backward} backward program{'' if backward == 1 else 's'}"


class _Reader:
    def __init__(self, report: Report, wrappers: tuple[Wrapper, ...], programs: Sequence[Program]):
        self._report = report
        self._wrappers = wrappers
        self._programs = programs
        self._walk = Walk()
        self._kinds: dict[int, Kind] = {}
        self._notes: list[str] = []
        self._inputs = _list_inputs(report, wrappers[0])
        self._buffers: dict[str, dict[str, Buffer]] = {row.graph: {} for row in wrappers}
        for row in report.buffers:
            self._buffers.get(row.graph, {})[row.name] = row
        self._callers: dict[str, Storage] = {}
        self._kept: dict[str, Storage] = {}
        self._saved: list[tuple[str, Storage]] = []
        self._shards = _Shards.of(report, self._inputs)

    def read(self) -> Timeline:
        if self._shards is not None:
            for path, size in self._shards.list_held():
                self._kinds[id(self._walk.given(path, size))] = "weights"
        for wrapper, program in zip(self._wrappers, self._programs, strict=True):
            self._run(wrapper, program)
        self._note()
        kinds = tuple(self._kinds.get(id(s), "temporary") for s in self._walk.storages)
        kernels: tuple[str | None, ...]
        if self._shards is None:
            kernels = tuple(_kernels(self._report, self._wrappers, self._walk))
        else:
            kernels = tuple(self._shards.kernels)
        is_whole = self._shards is None  # callers of blocks hold what no program of theirs has
        return Timeline(
            self._report,
            self._wrappers,
            self._walk,
            self._inputs,
            kinds,
            kernels,
            tuple(self._saved),
            tuple(self._notes),
            is_whole
            and not self._walk.unknown
            and not any(p.branches or p.unread or p.calls for p in self._programs),
            any(program.is_sized_by_hint for program in self._programs),
            {
                (number, name): row
                for number, wrapper in enumerate(self._wrappers)
                for name, row in self._buffers[wrapper.graph].items()
            },
        )

    def _run(self, wrapper: Wrapper, program: Program) -> None:
        rows = self._buffers[wrapper.graph]
        sizes = {name: _bytes(row, program.sizes) for name, row in rows.items()}
        known_sizes = {name: size for name, size in sizes.items() if size is not None}
        known_sizes |= program.input_bytes
        events: Iterable[Woven] = program.events
        gradients: Mapping[str, str] = {}
        if self._shards is not None:
            for name in filter(self._shards.is_shard, _taken(program)):
                known_sizes.pop(name, None)
            gradients = self._shards.list_gradients(wrapper, program)
            events = self._shards.weave(wrapper, program, gradients)
        inputs = self._given(wrapper, program, rows, known_sizes)
        first = len(self._walk.storages)
        results = {name: row.parts for name, row in rows.items() if row.parts}
        outputs = self._walk.run(events, inputs, known_sizes, _parts(program, sizes, results))
        storages = self._walk.storages[first:]
        for storage in storages:
            is_gradient = not {*gradients.values()}.isdisjoint(storage.names)
            kind = "gradient" if is_gradient else _kind_inside(storage)
            self._kinds.setdefault(id(storage), kind)
        if not wrapper.is_backward:
            self._name_outputs(wrapper, outputs)
            return
        for gradient in outputs:
            if gradient is not None and not gradient.is_given:
                self._kinds[id(gradient)] = "gradient"

    def _note(self) -> None:
        if self._shards is not None:
            self._notes += self._shards.list_notes()
        if any(program.is_sized_by_hint for program in self._programs):
            self._notes.append("dynamic sizes other than those of the compiled call")
        if any(program.branches for program in self._programs):
            self._notes.append("memory of branches and loops that are chosen at run time")
        calls = sum(program.calls for program in self._programs)
        if calls:
            self._notes.append(
                f"temporary memory of {plural(calls, 'call')} to nested regions (compiled once)"
            )
        unread = sum(program.unread for program in self._programs)
        if unread:
            self._notes.append(f"memory of {plural(unread, 'unparsable line')} of the program")
        devices = list_devices(self._report)
        if len(devices) > 1:
            self._notes.append(
                f"separate totals of {' and '.join(devices)} (their bytes are added up)"
            )

    def _given(
        self,
        wrapper: Wrapper,
        program: Program,
        rows: Mapping[str, Buffer],
        sizes: Mapping[str, int],
    ) -> dict[str, Storage]:
        """The storages behind the inputs of a program: of the caller, or kept by the forward."""
        for name, row in rows.items():
            if row.kind == "constant" and name not in self._callers:
                is_weight = bool({f"p_{name}", f"b_{name}"} & set(self._inputs))  # torch.export's
                self._caller(name, sizes.get(name, 0), "weights" if is_weight else "constant")
        storages: dict[str, Storage] = {}
        for name in _taken(program):
            is_ours = wrapper.is_backward and place_of(name) is None
            if is_ours and name in self._kept:
                storages[name] = self._kept.pop(name)
            elif is_ours and name in sizes:
                storages[name] = self._walk.given(name, sizes[name])
                self._kinds[id(storages[name])] = "tangent"
            elif name in self._callers:
                storages[name] = self._callers[name]
                storages[name].references += 1
            elif name in sizes:
                storages[name] = self._caller(name, sizes[name], self._kind_of(name))
                storages[name].references += 1
        return storages

    def _caller(self, name: str, size: int, kind: Kind) -> Storage:
        storage = self._callers[name] = self._walk.given(name, size)
        self._kinds[id(storage)] = kind
        return storage

    def _kind_of(self, name: str) -> Kind:
        place = place_of(name)
        target = self._inputs[place] if place is not None and place < len(self._inputs) else ""
        return "weights" if is_weight_name(target) else "input"

    def _name_outputs(self, wrapper: Wrapper, outputs: Sequence[Storage | None]) -> None:
        """Outputs live on; what is kept for the backward lives until that lets go of it."""
        is_last = self._wrappers[-1] is wrapper
        names = () if is_last else read_forward_outputs(self._report, _taken(self._programs[-1]))
        for place, storage in enumerate(outputs):
            if storage is None:
                continue
            name, is_saved = names[place] if place < len(names) else ("", False)
            if not is_saved:
                if not storage.is_given:
                    self._kinds[id(storage)] = "output"
                continue
            self._kept[name] = storage
            self._saved.append((name, storage))
            if not storage.is_given and self._kinds[id(storage)] != "output":
                self._kinds[id(storage)] = "saved for backward"


_NO_SHARD = (
    "The memory of {}, a parameter of {}, cannot be counted: its fully_shard group is unknown. "
    "Compile it again with this version."
)
_BETWEEN = (
    "memory held by the callers of a block: block inputs in inference, gradients of block outputs"
)
_STREAMS = "memory that the allocator keeps for each stream of the hooks"
_MIXED = "the block order of {} of its {} kernels: they were compiled after kernels of later blocks"


class _Shards:
    """The groups of `fully_shard` of a report, by what its programs take, and what hooks do."""

    def __init__(self, report: Report, model: ShardedModel, inputs: Sequence[str]):
        self._report = report
        self._model = model
        self._hooks = ShardHooks(model)
        self._calls = {program.graph: program for program in list_programs(report)}
        named = {
            _mangle(n): parameter.names[0]
            for group in model.groups
            for parameter in group.parameters
            for n in parameter.names
        }
        others = {_mangle(name) for name in model.others}
        self._paths: list[str | None] = []
        self._late = self._count = 0
        self.kernels: list[str] = []  # the ids of those of all steps
        for target in inputs:
            name = _reduce_name(_RECEIVER.sub("L_self_", target))
            self._paths.append(named.get(name))
            if "_parameters_" in target and name not in named and name not in others:
                raise UsageError(_NO_SHARD.format(name_input(target), report.request.name))

    @classmethod
    def of(cls, report: Report, inputs: Sequence[str]) -> _Shards | None:
        """None for what `fully_shard` did not take apart."""
        data = report.extra.get(SHARDS)
        return None if data is None else cls(report, ShardedModel.from_extra(data), inputs)

    def is_shard(self, name: str) -> bool:
        """Whether an input of a program is a whole parameter, which hooks gather."""
        place = place_of(name)
        return place is not None and place < len(self._paths) and self._paths[place] is not None

    def list_held(self) -> Iterator[tuple[str, int]]:
        """The shards that a rank holds all the time."""
        for group in self._model.groups:
            for parameter in group.parameters:
                yield parameter.names[0] if parameter.names else group.block, parameter.shard_bytes

    def list_gradients(self, wrapper: Wrapper, program: Program) -> dict[str, str]:
        """The buffers of gradients by their parameters."""
        return list_gradients(program.events, self._paths) if wrapper.is_backward else {}

    def weave(
        self, wrapper: Wrapper, program: Program, gradients: Mapping[str, str]
    ) -> Iterable[Woven]:
        """The events of a program with those of hooks; raises `UsageError` for other calls."""
        own = self._calls.get(wrapper.graph)
        names = [event.kernel for event in program.events if isinstance(event, Call)]
        kernels = [*_name_kernels(self._report, [(wrapper.graph, name) for name in names])]
        expected = [call.kernel.id for call in own.calls] if own is not None else []
        if own is None or Counter(expected) != Counter(kernels):
            raise UsageError(
                f"The memory of {self._report.request.name} cannot be counted: it depends on hooks "
                f"between blocks, and the blocks are known for only {len(expected)} of "
                f"{plural(len(kernels), 'call')}."
            )
        order = order_calls(program.events, [id or "" for id in kernels], own.calls)
        self._late += order.late
        self._count += len(kernels)
        self.kernels += order.kernels
        return self._hooks.weave(own, order, gradients)

    def list_notes(self) -> Iterator[str]:
        """What the figures leave out of such a model."""
        yield _BETWEEN
        yield _STREAMS
        if self._late:
            yield _MIXED.format(self._late, self._count)


_RECEIVER = re.compile(r"^L_\w+?_(?=(?:modules|parameters|buffers)_)")
"""The first argument of `forward`, whatever the user calls it."""


def _mangle(path: str) -> str:
    """The name that Dynamo gives a parameter as an input, as `_reduce_name` has it."""
    *modules, name = path.split(".")
    words = [word for module in modules for word in ("modules", module)]
    return _reduce_name("_".join(["L_self", *words, "parameters", name]))


def _reduce_name(target: str) -> str:
    """An input's name without the signs that Dynamo replaces, one way or another."""
    return re.sub(r"[^A-Za-z0-9]+|_+", "_", target).strip("_").lower()


def _taken(program: Program) -> tuple[str, ...]:
    groups = (event.names for event in program.events if isinstance(event, Inputs))
    return tuple(name for names in groups for name in names)


def _kind_inside(storage: Storage) -> Kind:
    if storage.kind is not None:
        return storage.kind
    first = storage.names[0]
    if first.startswith("workspace"):
        return "workspace"
    if first.startswith("pool"):
        return "pool"
    return "library result" if storage.is_of_library else "temporary"


def _bytes(row: Buffer, sizes: Mapping[str, int]) -> int | None:
    """Bytes of a buffer, its open sizes as in the call that was compiled."""
    if row.bytes is not None or row.shape is None:
        return row.bytes
    size = ITEM_BYTES.get(row.dtype or "")
    for dim in row.shape:
        value = dim if isinstance(dim, int) else sizes.get(dim)
        size = None if size is None or value is None else size * value
    return size


def _parts(
    program: Program,
    sizes: Mapping[str, int | None],
    results: Mapping[str, tuple[int | None, ...]],
) -> _Parts:
    """What a library call gives: rows of buffers exist for the names of its parts."""
    parts: dict[str, dict[int, str]] = {}
    same: dict[str, str] = {}
    absent: dict[str, tuple[int, ...]] = {}
    for event in program.events:
        if isinstance(event, Call) and event.result is not None:
            absent[event.result] = event.absent
        elif isinstance(event, Share) and event.part is not None:
            parts.setdefault(event.base, {})[event.part] = event.name
        elif isinstance(event, Share):
            same.setdefault(event.base, event.name)
    return _Parts(parts, same, absent, sizes, results)


@dataclass(frozen=True)
class _Parts:
    by_call: Mapping[str, Mapping[int, str]]
    same: Mapping[str, str]
    absent: Mapping[str, tuple[int, ...]]
    sizes: Mapping[str, int | None]
    results: Mapping[str, tuple[int | None, ...]]

    def __call__(self, name: str) -> list[tuple[str, int | None]]:
        part_names = self.by_call.get(name)
        if part_names is None:
            size = self.sizes.get(name)
            return [(name, self.sizes.get(self.same.get(name, "")) if size is None else size)]
        laid_out = self.results.get(name, ())
        count = max(max(part_names) + 1, len(laid_out))
        absent = self.absent.get(name, ())  # of one that never makes them, or was told not to
        parts = []
        for place in range(count):
            part = part_names.get(place, f"{name}[{place}]")
            size = self.sizes.get(part)
            if size is None and place < len(laid_out):
                size = laid_out[place]
            parts.append((part, 0 if place in absent else size))
        return parts


def _list_inputs(report: Report, wrapper: Wrapper) -> tuple[str, ...]:
    """The inputs of a program by place, as Dynamo calls them; empty what is no input of its own.

    AOTAutograd takes a DTensor apart into what this rank has of it and its mesh.
    """
    captured = next((graph for graph in report.graphs if graph.stage == "dynamo"), None)
    if captured is None:
        return ()
    columns = report.nodes.columns
    rows = [row for row in report.node_rows[captured.id] if columns["op"][row] == "placeholder"]
    targets = tuple(columns["target"][row] for row in rows)
    own = [row for row in report.buffers if row.graph == wrapper.graph and row.kind == "input"]
    numbers = (place_of(row.name) for row in own if row.shape is not None)
    places = [number for number in numbers if number is not None]
    tensors = [columns["target"][row] for row in rows if columns["shape"][row] is not None]
    if len(own) == len(targets) or len(places) != len(tensors):
        return targets
    by_place = dict(zip(places, tensors, strict=True))
    return tuple(by_place.get(place, "") for place in range(max(by_place, default=-1) + 1))


def _kernels(report: Report, wrappers: Sequence[Wrapper], walk: Walk) -> Iterator[str | None]:
    """The kernel of each step."""
    return _name_kernels(report, [(wrappers[s.program].graph, s.kernel) for s in walk.steps])


def _name_kernels(report: Report, steps: Sequence[tuple[str, str]]) -> Iterator[str | None]:
    """The ids of kernels: of one name they are called in the order of the record."""
    left: dict[tuple[str, str], list[str]] = {}
    for kernel in report.kernels:
        left.setdefault((kernel.graph, kernel.name), []).extend([kernel.id] * max(kernel.calls, 1))
    for step in steps:
        queue = left.get(step, [])
        yield queue.pop(0) if queue else None


def input_label(timeline: Timeline, name: str) -> str | None:
    """What a person calls an input of a program; None for one without a place."""
    place = place_of(name)
    is_known = place is not None and place < len(timeline.inputs)
    return name_input(timeline.inputs[place or 0]) if is_known else None
