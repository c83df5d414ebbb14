"""What hooks of `fully_shard` take and free between the steps of the programs of a model.

Rules of torch 2.13 and 2.15 (_fsdp_param_group.py, _fsdp_collectives.py), in the order in which the
CPU calls them, which is that of the allocator. A gather has a buffer for what all ranks send, which
lives until the next one is copied out in the forward, and until it is itself in the backward, and a
storage for each parameter, which is copied out of it. The next block is gathered when the
backward of one begins. A reduction has a buffer for whole gradients, which lives until that of the
next block begins, and one for the result, which is what the shards of gradients are views of.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.analysis.blocks.block_calls import Program, count_parts, find_spans
from workbench.analysis.memory.call_order import Order, find_last_calls
from workbench.analysis.memory.storages import Hold, Let
from workbench.artifacts.programs import Allocate, Call, Drop, Event, Return, Share
from workbench.report.collectives.shard_groups import ShardedModel, ShardedParameter, ShardGroup
from workbench.report.memory_rows import Kind

Woven = Event | Hold | Let
_BUFFER: Kind = "collective buffer"
_WHOLE: Kind = "gathered parameter"


@dataclass
class _Group:
    """What a group has at a time: its parameters whole, a gather that was started."""

    has: ShardGroup
    label: str
    is_whole: bool = False
    is_parted: bool = False
    is_gathering: bool = False
    is_reduced: bool = False

    @property
    def size(self) -> int:
        """How many ranks a gather asks for their parts."""
        return self.has.part_size if self.is_parted else self.has.size

    @property
    def whole_bytes(self) -> int:
        """Bytes of what all ranks send in a gather."""
        return sum(self.count_whole(parameter) for parameter in self.has.parameters)

    def count_whole(self, parameter: ShardedParameter) -> int:
        """Bytes of a parameter with its padding, as it is gathered."""
        return parameter.elements * parameter.gathered_item * self.has.size

    @property
    def cast_bytes(self) -> int:
        """Bytes of this rank's part of what is cast before it is sent."""
        cast = (
            self.count_whole(parameter) for parameter in self.has.parameters if parameter.is_cast
        )
        return sum(cast) // self.size


@dataclass
class ShardHooks:
    """The events of programs with those of hooks between them; programs come in their order."""

    model: ShardedModel
    _groups: dict[str, list[_Group]] = field(default_factory=dict)
    _order: list[str] = field(default_factory=list)  # in which the forwards of blocks end
    _kept: _Group | None = None  # whose buffer of a gather lives until the next is awaited
    _inputs: list[str] = field(default_factory=list)  # of reductions
    _is_backward: bool = False

    def __post_init__(self) -> None:
        """Name the groups, by their blocks."""
        self._groups[self.model.outermost] = []
        counts = Counter(group.block for group in self.model.groups)
        for group in self.model.groups:
            own = self._groups.setdefault(group.block, [])
            name = group.block or "outermost module"
            own.append(_Group(group, name if counts[group.block] < 2 else f"{name} {len(own)}"))

    def weave(
        self, program: Program, order: Order, gradients: Mapping[str, str]
    ) -> Iterator[Woven]:
        """The events of a program with what hooks do; `gradients`: their buffers by parameter."""
        self._is_backward = program.is_backward
        before, after = self._place(program, order, gradients)
        done = -1  # the last call that is behind
        left, due = dict(before), dict(after)
        for event in order.events:
            if isinstance(event, Allocate | Share | Call | Return):  # behind what its call frees
                yield from due.pop(done, ())
            if isinstance(event, Allocate | Share | Call):
                yield from left.pop(done + 1, ())
            yield event
            done += isinstance(event, Call)

    def _place(
        self, program: Program, order: Order, gradients: Mapping[str, str]
    ) -> tuple[dict[int, Iterator[Woven]], dict[int, Iterator[Woven]]]:
        """What runs before and after calls, by their places; it is to be run in that order."""
        spans = _find_places(order, find_spans(program.calls, self._groups))
        starts: dict[int, list[Iterator[Woven]]] = defaultdict(list)
        ends: dict[int, list[Iterator[Woven]]] = defaultdict(list)
        last = len(program.calls) - 1
        for name in sorted(spans, key=lambda name: (spans[name][0], count_parts(name))):
            starts[spans[name][0]].append(
                self._start_backward(name) if program.is_backward else self._start_forward(name)
            )
        if program.is_backward:
            touched = find_last_calls(order.events, set(gradients.values()))
            users = Counter(gradients.values())
            for name, groups in self._groups.items():
                own = [gradients[path] for g in groups for path in _list_paths(g, gradients)]
                end = max(
                    [spans.get(name, (0, -1))[1], *(touched.get(buffer, -1) for buffer in own)]
                )
                if name in spans:
                    spans[name] = spans[name][0], end
            inner = [name for name in spans if name != self.model.outermost]
            for name in sorted(inner, key=lambda name: (spans[name][1], -count_parts(name))):
                ends[spans[name][1]].append(self._end_backward(name, gradients, users))
            ends[last].append(self._finish(gradients, users))
        else:
            self._order = sorted(spans, key=lambda name: (spans[name][1], -count_parts(name)))
            for name in self._order:
                ends[spans[name][1]].append(self._end_forward(name))
        return _join(starts), _join(ends)

    def _start_forward(self, name: str) -> Iterator[Woven]:
        for group in self._groups[name]:
            yield from self._gather(group)
            yield from self._await(group)
        ahead = [n for group in self._groups[name][:1] for n in group.has.forward_prefetch]
        for other in ahead:
            for group in self._groups.get(other, ()):
                yield from self._gather(group)

    def _end_forward(self, name: str) -> Iterator[Woven]:
        for group in self._groups[name]:
            if group.has.after_forward == "parted":
                for parameter in group.has.parameters:
                    size = group.count_whole(parameter) // group.has.part_size
                    yield Hold(_name_part(parameter), size, _WHOLE, name)
                    yield Let(_name_whole(parameter))
                group.is_whole, group.is_parted = False, True
            elif group.has.after_forward == "freed":
                yield from self._free(group)
        if name == self.model.outermost and self._kept is not None:
            yield Let(_name_gather(self._kept))
            self._kept = None

    def _start_backward(self, name: str) -> Iterator[Woven]:
        groups = self._groups[name]
        for group in groups:
            yield from self._gather(group)
            yield from self._await(group)
        ahead = [n for group in groups[:1] for n in group.has.backward_prefetch]
        order = [block for block in self._order if self._groups[block]]
        if not ahead and name in order:
            ahead = order[: order.index(name)][-1:]
        for other in ahead:
            for group in reversed(self._groups.get(other, ())):
                yield from self._gather(group)

    def _gather(self, group: _Group) -> Iterator[Woven]:
        """`foreach_all_gather`: this rank's part is copied into the buffer of all, cast before."""
        is_needed = group.has.gathers_in_backward or not self._is_backward
        if group.is_whole or group.is_gathering or not is_needed:
            return
        group.is_gathering = True
        if group.size == 1:
            return
        name = f"{group.label}: all-gather input"
        if group.cast_bytes:
            yield Hold(name, group.cast_bytes, _BUFFER, group.has.block)
        yield Hold(_name_gather(group), group.whole_bytes, _BUFFER, group.has.block)
        yield Let(name)

    def _await(self, group: _Group) -> Iterator[Woven]:
        """`wait_for_unshard`: parameters are copied out of the buffer."""
        if not group.is_gathering:
            return
        # before torch 2.15 a local variable of torch's function holds it until that returns
        before = None if self._is_backward else self._kept
        if before is not None and self.model.frees_before_copies:
            yield Let(_name_gather(before))
            before = self._kept = None
        is_alone = group.size == 1
        copies = []
        for parameter in group.has.parameters:
            size = group.count_whole(parameter)
            cast = f"{parameter.names[0]} cast"
            if is_alone and parameter.is_cast:
                yield Hold(cast, size, _BUFFER, group.has.block)
            yield Hold(_name_whole(parameter), size, _WHOLE, group.has.block)
            yield Let(cast)
            if not parameter.is_along_first and not is_alone:
                copies.append(f"{parameter.names[0]} copied")
                yield Hold(copies[-1], size, _BUFFER, group.has.block)
        yield from (Let(copy) for copy in copies)
        yield from (Let(_name_part(parameter)) for parameter in group.has.parameters)
        group.is_whole, group.is_parted, group.is_gathering = True, False, False
        if before is not None:
            yield Let(_name_gather(before))
            self._kept = None
        if not is_alone and not self._is_backward and not group.has.is_async:
            self._kept = group
        else:
            yield Let(_name_gather(group))

    def _free(self, group: _Group) -> Iterator[Woven]:
        yield from (Let(_name_whole(parameter)) for parameter in group.has.parameters)
        group.is_whole = False

    def _end_backward(
        self, name: str, gradients: Mapping[str, str], users: Counter[str]
    ) -> Iterator[Woven]:
        for group in reversed(self._groups[name]):
            yield from self._reduce(group, gradients, users)

    def _reduce(
        self, group: _Group, gradients: Mapping[str, str], users: Counter[str]
    ) -> Iterator[Woven]:
        """`post_backward` of a group, and `foreach_reduce`."""
        group.is_reduced = True
        has, block = group.has, group.has.block
        pairs = [
            (parameter, gradients[path])
            for parameter in has.parameters
            for path in parameter.names
            if path in gradients
        ]
        if has.frees_after_backward:
            yield from self._free(group)
        if not has.reduces:
            yield from _keep_whole(group, pairs, users)
            return
        while group is self._groups[block][-1] and len(self._inputs) >= self.model.buffers:
            yield Let(self._inputs.pop(0))
        if not pairs:
            return
        whole = (
            sum(parameter.elements * parameter.reduced_item for parameter, _ in pairs) * has.size
        )
        copied = [
            parameter for parameter, _ in pairs if not parameter.is_along_first and has.size > 1
        ]
        for parameter in copied:
            yield Hold(_name_copy(parameter), group.count_whole(parameter), _BUFFER, block)
        source = f"{group.label}: reduce-scatter input"
        yield Hold(source, whole, _BUFFER, block)
        yield from (Let(_name_copy(parameter)) for parameter in copied)
        # with several ranks a loop of torch's holds the last one until the function returns
        last = [pairs.pop()[1]] if has.size > 1 else []
        for _, buffer in pairs:
            yield from _drop(buffer, users)
        yield from self._make_shards(group, whole // has.size, gradients)
        for buffer in last:
            yield from _drop(buffer, users)
        self._inputs.append(source)

    def _make_shards(
        self, group: _Group, size: int, gradients: Mapping[str, str]
    ) -> Iterator[Woven]:
        """The result of a reduction, and the shards of gradients, which may be a cast of it."""
        has, block = group.has, group.has.block
        own = [
            parameter
            for parameter in has.parameters
            if any(path in gradients for path in parameter.names)
        ]
        kept_bytes = sum(parameter.elements * parameter.kept_item for parameter in own)
        shards = f"{group.label}: gradients"
        result = f"{group.label}: reduce-scatter output"
        is_cast = any(parameter.kept_item != parameter.reduced_item for parameter in own)
        yield Hold(result if is_cast else shards, size, _BUFFER if is_cast else "gradient", block)
        if has.size == 1 and has.is_divided:
            yield Hold(f"{shards} divided", size, _BUFFER, block)
            yield Let(f"{shards} divided")
        if is_cast and not (has.is_replicated and not has.sums_replicas):
            yield Hold(shards, kept_bytes, "gradient", block)
            if not has.is_replicated:  # else it is held until the backward ends
                yield Let(result)

    def _finish(self, gradients: Mapping[str, str], users: Counter[str]) -> Iterator[Woven]:
        """The last callback of a backward: blocks that had no hook of their own, outer ones first.

        That is the outermost one, whose inputs need no gradient, and what had no backward.
        """
        for groups in self._groups.values():
            for group in reversed(groups):
                if not group.is_reduced:
                    yield from self._reduce(group, gradients, users)
        for groups in self._groups.values():
            for group in groups:
                yield Let(_name_gather(group))
                if not group.has.is_replicated or group.has.sums_replicas:
                    yield Let(f"{group.label}: reduce-scatter output")
        yield from (Let(name) for name in self._inputs)


def _find_places(order: Order, spans: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Where blocks begin and end in a program, by the calls that are where their block runs."""
    by_block = {}
    for name, (first, last) in spans.items():
        places = enumerate(order.places)
        own = [n for n, place in places if place is not None and first <= place <= last]
        if own:
            by_block[name] = min(own), max(own)
    return by_block


def _drop(buffer: str, users: Counter[str]) -> Iterator[Woven]:
    """A gradient goes with the last parameter that it is of."""
    users[buffer] -= 1
    if users[buffer] == 0:
        yield Drop(buffer)


def _keep_whole(
    group: _Group, pairs: Sequence[tuple[ShardedParameter, str]], users: Counter[str]
) -> Iterator[Woven]:
    """Gradients stay, in the dtype of a reduction, after `set_requires_gradient_sync(False)`."""
    for parameter, buffer in pairs:
        if parameter.reduced_item != parameter.gathered_item:
            size = parameter.elements * parameter.reduced_item * group.has.size
            yield Hold(f"{parameter.names[0]} gradient", size, "gradient", group.has.block)
            yield from _drop(buffer, users)


def _join(parts: Mapping[int, Sequence[Iterator[Woven]]]) -> dict[int, Iterator[Woven]]:
    return {place: _chain(own) for place, own in parts.items()}


def _chain(parts: Iterable[Iterator[Woven]]) -> Iterator[Woven]:
    for part in parts:
        yield from part


def _list_paths(group: _Group, gradients: Mapping[str, str]) -> list[str]:
    return [
        path for parameter in group.has.parameters for path in parameter.names if path in gradients
    ]


def list_gradients(events: Sequence[Event], inputs: Sequence[str | None]) -> dict[str, str]:
    """The buffer of each parameter's gradient, by what the inputs of the forward are called."""
    returned = next((event.names for event in events if isinstance(event, Return)), ())
    pairs = zip(inputs, returned, strict=False)
    return {path: name for path, name in pairs if path is not None and name is not None}


def _name_whole(parameter: ShardedParameter) -> str:
    return f"{parameter.names[0]} gathered"


def _name_copy(parameter: ShardedParameter) -> str:
    return f"{parameter.names[0]} gradient copied"


def _name_part(parameter: ShardedParameter) -> str:
    return f"{parameter.names[0]} resharded"


def _name_gather(group: _Group) -> str:
    return f"{group.label}: all-gather output"
