"""What fusion did: kinds of kernels, final groups with their traffic, their calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from workbench.analysis.fusion.eager import Operator, list_eager_operators
from workbench.analysis.fusion.traffic import (
    NodeFacts,
    bytes_of,
    count_bytes_by_node,
    count_operation_bytes,
    is_view,
    list_called_nodes,
    measure_fusion_traffic,
    select_nodes,
    strip_operator_name,
    sum_known,
)
from workbench.analysis.fusion.why_not import describe_group, find_final_groups
from workbench.number_text import join_words, number_text, plural
from workbench.report import Kernel, Report, SchedulerNode
from workbench.report.graph_stages import is_input_name
from workbench.report.report_header import KERNEL_LOG, OWN_KERNEL

_NOTHING = 1.005  # times the bytes of the operators: less is the padding of a partial result

_NAMES = 4  # nodes or kernels that a sentence lists

Moved = Mapping[str, tuple[int, int]]
"""By kernel: the bytes before fusion, and after it."""


@dataclass(frozen=True)
class Saving:
    """One final group: bytes of eager's operators, of its operations alone, and together.

    `alone` is the sum of its `operations` (else of its scheduler nodes); one that several groups
    come from counts for the one that writes its value, else for the first. `eager` is shared out by
    what the parts of an operator would move alone, `operators` count where most of each ended; both
    are None where the record does not tell. `before` is `eager` where it is known.
    """

    id: str
    name: str
    kernel: str | None
    parts: int
    before: int
    after: int
    operations: int = 1
    alone: int = 0
    eager: int | None = None
    operators: int | None = None


@dataclass(frozen=True)
class KernelTraffic:
    """What fusion saved in one kernel, all the groups that it runs added up.

    `bytes_eager` is what eager mode's `operators` read and write, an operator of several kernels
    shared out between them; None where the record does not tell. `bytes_alone` is what the
    `operations` that they were taken apart into would move one by one (without the lowered graphs
    the scheduler's nodes), `bytes_fused` what the kernel moves, by Inductor's own model. A group
    whose kernel was not found has the scheduler's name and no `kernel`, as have the operators that
    no kernel computes. `why_more` explains a kernel that moves more than before fusion.
    """

    kernel: str | None
    name: str  # its name
    groups: int  # the groups of operations that it runs
    operators: int | None
    operations: int
    bytes_eager: int | None
    bytes_alone: int
    bytes_fused: int
    why_more: str | None = None

    @property
    def bytes_before(self) -> int:
        """What it moved before fusion: eager's operators, else the operations alone."""
        return self.bytes_alone if self.bytes_eager is None else self.bytes_eager


@dataclass(frozen=True)
class Before:
    """What fusion is compared with, in bytes: `words` name it."""

    bytes: int
    words: str


def list_before_fusion(report: Report) -> list[Before]:
    """What the final groups are compared with: eager's operators first, where they are known.

    Without the lowered graphs the scheduler's own nodes stand for the operations. Empty where no
    scheduler node has bytes.
    """
    groups = measure_fusion_traffic(report)
    if groups is None:
        return []
    eager, alone = count_eager_bytes(report), count_operation_bytes(report)
    before = [] if eager is None else [Before(eager, "eager")]
    if alone:
        return [*before, Before(alone, "unfused")]
    return before or [Before(groups.before, "unfused scheduler nodes")]


def count_eager_bytes(report: Report) -> int | None:
    """What eager's operators read and write; None where that is not known."""
    operators = list_eager_operators(report)
    return sum(operator.bytes for operator in operators) or None if operators else None


def list_savings(report: Report) -> list[Saving]:
    """Final groups with their bytes before and after, biggest saving first."""
    return list(report.once(_savings))


def _savings(report: Report) -> tuple[Saving, ...]:
    operators = list_eager_operators(report)
    before = {(n.graph, n.name): n for n in report.scheduler_nodes if n.phase == "before"}
    kernels = {node: kernel.id for kernel in report.kernels for node in kernel.scheduler_nodes}
    moved_by = count_bytes_by_node(report)
    parts_of = {
        node.id: [before.get((node.graph, m.rpartition(":")[2])) for m in node.members or ()]
        for node in report.scheduler_nodes
        if node.phase == "after" and bytes_of(node) is not None
    }
    owner = _find_owners(report, parts_of, moved_by)
    is_counted = bool(owner and count_operation_bytes(report))
    savings: dict[str, Saving] = {}
    for node in report.scheduler_nodes:
        parts = parts_of.get(node.id) if node.phase == "after" else None
        if parts is None:
            continue
        origins = dict.fromkeys(o for part in parts if part for o in part.origins if o in moved_by)
        sizes = [moved for part in parts if part and (moved := bytes_of(part)) is not None]
        if is_counted:
            sizes = [moved_by[o] for o in origins if owner[o] == node.id] or [0]
        after = bytes_of(node) or 0
        alone, count = (sum(sizes), sum(size > 0 for size in sizes)) if sizes else (after, 1)
        kernel = describe_group(node, kernels)
        savings[node.id] = Saving(
            node.id, node.name, kernel, max(len(parts), 1), alone, after, count, alone
        )
    if operators is not None:
        generated = {kernel.id for kernel in report.kernels if kernel.is_generated}
        called = {id for id, row in savings.items() if row.kernel and row.kernel not in generated}
        savings = _with_eager(savings, operators, owner, moved_by, called)
    return tuple(sorted(savings.values(), key=lambda s: s.after - s.before))


def _find_owners(
    report: Report,
    parts_of: Mapping[str, Sequence[SchedulerNode | None]],
    moved_by: Mapping[str, int],
) -> dict[str, str]:
    """By operation the group that computes it: the call of it, the one that writes it, the first.

    Copies that a library call needs of its inputs come from the operation too, and so does the bias
    that a convolution has added by a kernel of its own: they are not it.
    """
    writers = {buffer.node: buffer.written_by for buffer in report.buffers if buffer.written_by}
    called = {
        node: set(list_called_nodes(report, kernel))
        for kernel in report.kernels
        if not kernel.is_generated
        for node in kernel.scheduler_nodes
    }
    ranks: dict[str, int] = {}
    owner: dict[str, str] = {}
    for group, parts in parts_of.items():
        for part in filter(None, parts):
            for node in part.origins:
                rank = (
                    1 + (part.id in writers.get(node, ())) + 2 * (node in called.get(part.id, ()))
                )
                rank = 0 if part.kind == "nop" else rank
                if node in moved_by and rank > ranks.get(node, -1):
                    ranks[node], owner[node] = rank, group
    return owner


def _with_eager(
    groups: Mapping[str, Saving],
    operators: Sequence[Operator],
    owner: Mapping[str, str],
    moved_by: Mapping[str, int],
    called: Set[str],
) -> dict[str, Saving]:
    """The groups with what eager's operators move, each shared out to those that compute it.

    The groups that are `called` from a library move in eager what they move here.
    """
    count = dict.fromkeys(groups, 0)
    shared: list[dict[str, int]] = []
    for operator in operators:
        most: dict[str, int] = {}
        for each in operator.passes:
            weights: dict[str, int] = {}
            for node in each.became:
                if node in owner:
                    weights[owner[node]] = weights.get(owner[node], 0) + moved_by[node]
            shared.append(_shared_out(each.bytes, weights, called))
            for group, weight in weights.items():
                most[group] = most.get(group, 0) + weight
        if most:
            count[max(most, key=most.__getitem__)] += 1
    _even_out(shared, groups)
    moved = dict.fromkeys(groups, 0)
    for shares in shared:
        for group, share in shares.items():
            moved[group] += share
    return {
        id: replace(row, before=moved[id], eager=moved[id], operators=count[id])
        for id, row in groups.items()
    }


def _even_out(shared: Sequence[dict[str, int]], groups: Mapping[str, Saving]) -> None:
    """Where a kernel would seem to move more only by its share, others give it of theirs.

    Who has which part of an operator that several kernels compute is a convention; what they move
    together is not.
    """
    kernel = {id: row.kernel or id for id, row in groups.items()}
    spare: dict[str, int] = {}
    for id, row in groups.items():
        spare[kernel[id]] = spare.get(kernel[id], 0) - row.after
    for shares in shared:
        for id, share in shares.items():
            spare[kernel[id]] += share
    for shares in shared:
        for taker in shares:
            for giver in shares:
                a, b = kernel[taker], kernel[giver]
                amount = min(-spare[a], spare[b], shares[giver])
                if amount > 0:
                    shares[taker] += amount
                    shares[giver] -= amount
                    spare[a] += amount
                    spare[b] -= amount


def _shared_out(amount: int, weights: Mapping[str, int], first: Set[str]) -> dict[str, int]:
    """An amount in whole parts by weight; equal ones where no part has any.

    The `first` get their weight before the others share the rest; alone they get all of it.
    """
    shares: dict[str, int] = {}
    if not weights.keys() <= first:
        for key in first & weights.keys():
            shares[key] = min(weights[key], amount - sum(shares.values()))
    left = amount - sum(shares.values())
    rest = {key: weight for key, weight in weights.items() if key not in shares}
    parts = rest if any(rest.values()) else dict.fromkeys(rest, 1)
    running = spent = 0
    for key, weight in parts.items():
        running += weight
        shares[key] = left * running // sum(parts.values()) - spent
        spent += shares[key]
    return shares


def list_saved_traffic(report: Report) -> list[KernelTraffic]:
    """What fusion saved in each kernel, biggest saving first; then what no kernel computes."""
    names = {kernel.id: kernel.name for kernel in report.kernels}
    operators = list_eager_operators(report)
    traffic: dict[str, KernelTraffic] = {}
    parts = report.once(_savings)
    for part in parts:
        if part.kernel is None and not (part.before or part.alone or part.after):
            continue  # only a name for one of several results
        key = part.kernel or part.id
        name = names.get(key, part.name)
        none = None if part.eager is None else 0
        so_far = traffic.get(key) or KernelTraffic(part.kernel, name, 0, none, 0, none, 0, 0)
        traffic[key] = replace(
            so_far,
            groups=so_far.groups + 1,
            operators=sum_known((so_far.operators, part.operators)),
            operations=so_far.operations + part.operations,
            bytes_eager=sum_known((so_far.bytes_eager, part.eager)),
            bytes_alone=so_far.bytes_alone + part.alone,
            bytes_fused=so_far.bytes_fused + part.after,
        )
    moved = {key: (row.bytes_before, row.bytes_fused) for key, row in traffic.items()}
    why = explain_worse_fusion(report, moved, "unfused" if operators is None else "in eager")
    rows = (replace(row, why_more=why.get(key)) for key, row in traffic.items())
    ranked = sorted(rows, key=lambda kernel: kernel.bytes_fused - kernel.bytes_before)
    alone = count_operation_bytes(report) or 0
    return [*ranked, *_in_no_kernel(operators or (), parts, alone)]


def _in_no_kernel(
    operators: Sequence[Operator], parts: Sequence[Saving], alone: int
) -> Iterator[KernelTraffic]:
    """What the compiler removed or calculated ahead, as one row; `alone` is of all operations."""
    eager = sum(operator.bytes for operator in operators) - sum(part.eager or 0 for part in parts)
    count = len(operators) - sum(part.operators or 0 for part in parts)
    left = max(0, alone - sum(part.alone for part in parts))
    if parts and (eager or left):
        none = None if not operators else eager
        yield KernelTraffic(None, "in no kernel", 0, count, 0, none, left, 0)


@dataclass(frozen=True)
class KernelCall:
    """One call of a kernel; `inputs` are indexes of earlier calls that write what it reads."""

    kernel: Kernel
    inputs: tuple[int, ...]


def calls(report: Report) -> list[KernelCall]:
    """Every call of a kernel, from the final scheduler groups; a kernel may be called often.

    Without groups every kernel counts as one call.
    """
    by_node = {node: kernel for kernel in report.kernels for node in kernel.scheduler_nodes}
    after = (node for node in report.scheduler_nodes if node.phase == "after")
    groups = {f"{n.graph}:{n.name}": own for n in after if (own := describe_group(n, by_node))}
    if not groups:
        return [KernelCall(kernel, ()) for kernel in report.kernels]
    index = {name: number for number, name in enumerate(groups)}
    owner = {
        f"{graph}:{node}": f"{graph}:{name}"
        for (graph, node), name in find_final_groups(report).items()
    }
    sources = _sources(report, owner)
    called = []
    for number, (name, kernel) in enumerate(groups.items()):
        needed: set[int] = set()
        waiting, passed = list(sources.get(name, ())), set()
        while waiting:
            source = waiting.pop()
            if source in index:
                needed.add(index[source])
            elif source not in passed:  # no kernel of its own, such as taking an item: look behind
                passed.add(source)
                waiting += sources.get(source, ())
        called.append(KernelCall(kernel, tuple(sorted(i for i in needed if i < number))))
    return called


def _sources(report: Report, owner: dict[str, str]) -> dict[str, set[str]]:
    """By group: the groups that write what it reads."""
    sources: dict[str, set[str]] = {}
    for buffer in report.buffers:
        writers = {owner.get(node, node) for node in buffer.written_by}
        for reader in {owner.get(node, node) for node in buffer.read_by}:
            sources.setdefault(reader, set()).update(writers - {reader})
    return sources


def explain_worse_fusion(report: Report, moved: Moved, before: str = "unfused") -> dict[str, str]:
    """By id of a kernel that moves more than before fusion: by how much and why, in sentences.

    Bytes are Inductor's model of the traffic to DRAM, not measured; `before` says what they are
    compared with.
    """
    kernels = {kernel.id: kernel for kernel in report.kernels}
    reasons = {}
    for id, (alone, together) in moved.items():
        kernel = kernels.get(id)
        if kernel is None or together <= alone * _NOTHING:
            continue
        parts: list[str] = []
        if kernel.is_generated:
            parts += [*_rearranges(report, kernel), *_again(report, kernel, moved)]
            parts += [*_partial(report, kernel), *_in_loops(report, kernel)]
            parts += _for_backward(report, kernel)
        parts = parts or list(_taken_apart(report, kernel))
        reason = " ".join(parts) or "The report does not explain the additional traffic."
        more = f"It moves {_bytes(together)}, against {_bytes(alone)} {before} (estimates)."
        reasons[id] = f"{more} {reason}"
    return reasons


def _in_loops(report: Report, kernel: Kernel) -> Iterator[str]:
    """Loops of one kernel that run one after the other, and read the same buffers."""
    by_node = {node: kernel.id for node in kernel.scheduler_nodes}
    loops = [
        {node.id, *(f"{node.graph}:{member.rpartition(':')[2]}" for member in node.members)}
        for node in report.scheduler_nodes
        if node.phase == "after"
        and node.graph == kernel.graph
        and describe_group(node, by_node) is not None
    ]
    again = [
        row.name
        for row in report.buffers
        if row.graph == kernel.graph and sum(not own.isdisjoint(row.read_by) for own in loops) > 1
    ]
    if again:
        yield (
            f"It has {plural(len(loops), 'loop')} that run one after another, and several of them "
            f"read {_list_names(again)}."
        )


def _for_backward(report: Report, kernel: Kernel) -> Iterator[str]:
    """What it writes only for the backward pass, which eager calculates or keeps otherwise."""
    if kernel.is_backward:
        return
    backward = {graph.id for graph in report.graphs if graph.is_backward}
    columns = (report.nodes.columns.get(name, ()) for name in ("graph", "op", "name"))
    needed = {
        name
        for graph, op, name in zip(*columns, strict=True)
        if op == "placeholder" and graph in backward
    }
    operators = list_eager_operators(report) or ()
    results = {operator.became[-1] for operator in operators if operator.became}
    own = set(kernel.scheduler_nodes)
    written = [
        row.node
        for row in report.buffers
        if row.kind == "output" and row.node is not None and own & set(row.written_by)
    ]
    saved = [
        name
        for node in written
        if node not in results and (name := node.rpartition(":")[2]) in needed
    ]
    if saved:
        yield f"It also writes {_list_names(saved)} for the backward pass."


def _taken_apart(report: Report, kernel: Kernel) -> Iterator[str]:
    """Operators of eager that it computes only a part of."""
    alone_bytes = count_bytes_by_node(report)
    for operator in list_eager_operators(report) or ():
        work = {node for node in operator.became if _is_work(node, alone_bytes)}
        users = [other.id for other in report.kernels if not work.isdisjoint(other.nodes)]
        if kernel.id in users and len(users) > 1:
            yield (
                f"Eager runs {operator.name} as one operator; here {_list_names(users)} compute "
                "it, and each of them reads its own inputs."
            )
            return


def _list_names(names: Sequence[str]) -> str:
    shown, more = list(names[:_NAMES]), len(names) - _NAMES
    return join_words([*shown, f"{more} more"] if more > 0 else shown)


def _rearranges(report: Report, kernel: Kernel) -> Iterator[str]:
    """Copies of what library calls read, in the layout that those take, and what ends their work.

    Both come from the operation of the call: the second reads what that has written.
    """
    own = set(kernel.nodes)
    libraries = [other for other in report.kernels if other.is_library]
    calls = [call for call in libraries if not own.isdisjoint(list_called_nodes(report, call))]
    parts = set(kernel.scheduler_nodes)
    read = {node for row in report.buffers if parts & set(row.read_by) for node in row.written_by}
    ended = [call for call in calls if read & set(call.scheduler_nodes)]
    copied = [call for call in calls if call not in ended]
    who, done = (
        ", ".join(f"{call.id} ({call.name})" for call in group) for group in (copied, ended)
    )
    if copied:
        yield f"It copies the inputs of {who} into the layout that the library requires."
    if ended:
        yield f"It reads back the result of {done} to finish it, for example to add the bias."


def _again(report: Report, kernel: Kernel, moved: Moved) -> Iterator[str]:
    """What another kernel computes too, and whether that pays in all."""
    alone_bytes = count_bytes_by_node(report)
    own = {node for node in kernel.nodes if _is_work(node, alone_bytes)}
    others = [
        other
        for other in report.kernels
        if other.id != kernel.id and other.is_generated and own & set(other.nodes)
    ]
    if not others:
        return
    shared = dict.fromkeys(node for other in others for node in other.nodes if node in own)
    names = _list_names([node.rpartition(":")[2] for node in shared])
    who = _list_names([other.id for other in others])
    verb = "compute" if len(others) > 1 else "computes"
    yield (
        f"It recomputes {names}, which {who} also {verb}. So it reads the inputs of {names} "
        "instead of a stored result."
    )
    all_of = [moved[member.id] for member in (kernel, *others) if member.id in moved]
    alone, together = (sum(part) for part in zip(*all_of, strict=True))
    is_less = together < alone
    word = "still move less" if is_less else "move more"
    yield f"Together, these kernels {word}: {_bytes(together)} instead of {_bytes(alone)}."


def _is_work(node: str, alone_bytes: Mapping[str, int]) -> bool:
    """Views cost nothing, and inputs of the graph are no operations."""
    return alone_bytes.get(node) != 0 and not is_input_name(node.rpartition(":")[2])


def _partial(report: Report, kernel: Kernel) -> Iterator[str]:
    """Parts of a value that it leaves for another kernel."""
    own = set(kernel.scheduler_nodes)
    rows = [row for row in report.buffers if row.graph == kernel.graph]
    if all(row.node is None for row in rows):
        return  # a record that does not say what its buffers hold
    parts = [
        row.name
        for row in rows
        if row.node is None
        and row.stored_in is None
        and own & set(row.written_by)
        and set(row.read_by) - own
    ]
    if parts:
        yield (
            f"It leaves partial results in {', '.join(parts)}: Inductor split a reduction into two "
            "kernels to use more of the device."
        )


def _bytes(value: float) -> str:
    return number_text(value, "bytes")


def mark_kernels(report: Report) -> dict[str, str]:
    """How each kernel's square looks: `g0` to `g7` generated, `ext` library call, `fb` fallback."""
    marks = {}
    generated = 0
    for kernel in report.kernels:
        if kernel.is_fallback:
            marks[kernel.id] = "fb"
        elif kernel.is_library:
            marks[kernel.id] = "ext"
        else:
            marks[kernel.id] = f"g{generated % 8}"
            generated += 1
    return marks


def kernel_kinds(report: Report) -> Mapping[str, str]:
    """By kernel id its kind: pointwise, reduction, template, library call, collective or fallback.

    A generated kernel is a reduction when any of the scheduler nodes in it is one. What a log of
    kernels holds is "recorded": it does not say who wrote them.
    """
    if report.request.kind == KERNEL_LOG:
        return {kernel.id: "recorded" for kernel in report.kernels}
    if report.request.kind == OWN_KERNEL:
        return {kernel.id: "hand-written" for kernel in report.kernels}
    kinds: dict[str, str] = {}
    for node in report.scheduler_nodes:
        if node.phase == "before" or node.kind != "fused":
            kinds[node.id] = kinds[node.name] = node.kind
    by_kernel = {}
    for kernel in report.kernels:
        inside = {kinds[name] for name in kernel.scheduler_nodes if name in kinds}
        if kernel.is_fallback:
            by_kernel[kernel.id] = "fallback"
        elif kernel.is_library:
            by_kernel[kernel.id] = "collective" if kernel.is_collective else "library call"
        elif "template" in inside or "reduction" in inside:
            by_kernel[kernel.id] = "template" if "template" in inside else "reduction"
        else:
            by_kernel[kernel.id] = next(iter(sorted(inside)), "generated")
    return by_kernel


_NO_WORK = frozenset(("getitem", "full", "scalar_tensor", "iota", "as_strided", "empty"))


@dataclass(frozen=True)
class PlainName:
    """What one kernel computes: `words` in the order of the program, modules before all else.

    `parts` are those of the words that other generated kernels compute a part of as well, `laid`
    those of library calls whose inputs or results it only handles.
    """

    words: tuple[str, ...]
    parts: frozenset[str] = frozenset()
    laid: tuple[str, ...] = ()


def name_kernels(report: Report) -> Mapping[str, PlainName]:
    """By kernel id what it computes, in the words of the program."""
    return report.once(_name_kernels)


def _name_kernels(report: Report) -> Mapping[str, PlainName]:
    every = select_nodes(report, "id", {node for k in report.kernels for node in k.nodes})
    words = _Words(report, every)
    called = {
        node: name
        for kernel in report.kernels
        if not kernel.is_generated
        for node in kernel.nodes
        if node in every and is_call_of(kernel, every[node])
        for name in [words.of(every[node])]
    }
    own = {kernel.id: dict(words.list_of(kernel, called)) for kernel in report.kernels}
    homes: dict[tuple[str, str], set[str]] = {}
    for kernel in report.kernels:
        for key in own[kernel.id].items():
            homes.setdefault(key, set()).update([kernel.id] * kernel.is_generated)
    named = {}
    for kernel in report.kernels:
        split = {word for word, whole in own[kernel.id].items() if len(homes[word, whole]) > 1}
        laid = [called[node] for node in kernel.nodes if kernel.is_generated and node in called]
        named[kernel.id] = PlainName(
            tuple(own[kernel.id]), frozenset(split), tuple(dict.fromkeys(laid))
        )
    return named


def is_call_of(kernel: Kernel, node: NodeFacts) -> bool:
    """Whether a library call computes what a node asks for, by their names."""
    name = strip_operator_name(kernel.name.removeprefix("torch.ops."))
    return name == strip_operator_name(node.target)


class _Words:
    """The word of each node: its module where that has no modules inside, else its operator."""

    def __init__(self, report: Report, nodes: Mapping[str, NodeFacts]):
        self._nodes = nodes
        paths = set(report.nodes.columns.get("module_path", ())) - {None, ""}
        self._outer = {p.rpartition(".")[0] for p in paths} | {""}
        for path in list(self._outer):  # whatever holds a module that holds one
            while path:
                path = path.rpartition(".")[0]
                self._outer.add(path)
        self._order: dict[str, int] = {}
        self._operators: dict[str, str] = {}
        for at, operator in enumerate(list_eager_operators(report) or ()):
            for node in operator.became:
                self._order.setdefault(node, at)
                self._operators.setdefault(node, operator.name)

    def of(self, node: NodeFacts) -> str:
        """The word of one node."""
        path = node.module_path or ""
        if path not in self._outer:
            outer, _, last = path.rpartition(".")
            return last if not last.isdigit() else f"{outer.rpartition('.')[2]}.{last}".strip(".")
        return self._operators.get(node.id) or strip_operator_name(node.target)

    def list_of(self, kernel: Kernel, called: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """The words of a kernel, each with what tells it from another of that name.

        What a library call computes is not the generated kernel's; views are nobody's.
        """
        nodes = [self._nodes[node] for node in kernel.nodes if node in self._nodes]
        if kernel.is_generated:
            work = [node for node in nodes if node.id not in called]
        else:
            work = [
                node for node in nodes if node.id in called and is_call_of(kernel, node)
            ] or nodes
        real = [node for node in work if not is_view(node) and not self._is_idle(node)]
        many = len(self._order)
        for node in sorted(real, key=lambda node: self._order.get(node.id, many)):
            yield self.of(node), f"{node.module_path} {self._order.get(node.id, node.id)}"

    def _is_idle(self, node: NodeFacts) -> bool:
        is_call = node.op in ("call_function", "call_module", "call_method")
        return not is_call or strip_operator_name(node.target) in _NO_WORK
