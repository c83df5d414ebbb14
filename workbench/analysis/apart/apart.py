"""Why two lines, nodes or kernels are not fused, in a sentence that says what is known."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from workbench.analysis.fusion.fusion import kernel_kinds
from workbench.analysis.fusion.traffic import NodeFacts, select_nodes, strip_operator_name
from workbench.analysis.fusion.why_not import Apart, Rejected, rejected
from workbench.errors import UsageError
from workbench.number_text import number_text, plural
from workbench.report import Kernel, Report
from workbench.report.record import read_parts_at
from workbench.report.rows import WhyApart

SILENT = "The report does not have the backend's reason."
_NO_KERNEL = "has no kernel: it is a view, was computed at compile time, or is not in a graph."
_WHOLE = "reads and writes whole tensors, so nothing can be fused into it"
_TUNED = (
    "`mode='max-autotune'` also tries generated matmuls; if one beats the library call, it can "
    "fuse elementwise work."
)
_KEPT = 4096  # bytes of a reduction's input: fewer stay in registers
_NAMED = 4
_MOST_WORDS = 6
_NEAREST = 24  # kernels of each side whose pairs are looked at
_BOTH, _DIRECT, _BETWEEN, _UNRELATED = range(4)


def explain_apart(report: Report, a: str, b: str) -> WhyApart:
    """Why two lines (`L:s0:12`), nodes (`g7:add`) or kernels (`k3`) are apart.

    Raises `UsageError` for an id that the report does not have.
    """
    return report.once(_Answers)(a, b)


def list_neighbours(report: Report, most: int) -> list[WhyApart]:
    """The answers for kernels that hand data on, most bytes first, at most so many."""
    answers = report.once(_Answers)
    sizes = answers.facts.bytes_between
    return [answers(a, b) for a, b in sorted(sizes, key=lambda pair: -sizes[pair])[:most]]


class _Answers:
    """Looks everything up once for all pairs of a report."""

    def __init__(self, report: Report):
        self._report = report
        self._kernels = {kernel.id: kernel for kernel in report.kernels}
        self._apart = Apart(report)
        self.facts = KernelFacts(report)

    @cached_property
    def _tries(self) -> dict[frozenset[str | None], list[Rejected]]:
        tries: dict[frozenset[str | None], list[Rejected]] = {}
        for pair in rejected(self._report):
            ends = [
                self._apart.kernel_of(self._apart.parts(pair.graph, n)) for n in (pair.a, pair.b)
            ]
            tries.setdefault(frozenset(e.id if e else None for e in ends), []).append(pair)
        return tries

    def __call__(self, a: str, b: str) -> WhyApart:
        ours, theirs = self.facts.kernels_of(a), self.facts.kernels_of(b)
        for id, kernels in ((a, ours), (b, theirs)):
            if not kernels:
                name = id.rpartition(":")[2]
                thing = f"Line {name}" if id.startswith("L:") else name
                return WhyApart(a, b, False, f"{thing} {_NO_KERNEL}")
        both = [kernel for kernel in ours if kernel in theirs]
        verb = "computes" if len(both) == 1 else "compute"
        only = [kernel for kernel in ours if kernel not in both][:_NEAREST]
        others = [kernel for kernel in theirs if kernel not in both][:_NEAREST]
        if both and not (only and others):
            text = f"They are fused: {_join(both)} {verb} both."
            return WhyApart(a, b, False, text, kernels=tuple(both[:1]), concerned=tuple(both))
        x, y = min(product(only, others), key=lambda pair: self._distance(*pair))
        why = self._of_kernels(x, y)
        text = why.sentence
        if both:
            text = f"{_join(both)} {verb} parts of both. For {x} and {y}: {text}"
        elif (x, y) != (a, b):
            text = f"Their nearest kernels are {x} and {y}. {text}"
        return WhyApart(
            a,
            b,
            True,
            text,
            why.help,
            why.kernels,
            why.concerned,
            why.words,
            why.pair,
            why.brief,
        )

    def _distance(self, x: str, y: str) -> tuple[int, float]:
        sizes = self.facts.bytes_between
        size = sizes.get((x, y), sizes.get((y, x)))
        if size is not None:
            return _DIRECT, -size
        is_tried = frozenset((x, y)) in self._tries
        return (_BETWEEN if is_tried else _UNRELATED), abs(
            self.facts.places[x] - self.facts.places[y]
        )

    def _of_kernels(self, a: str, b: str) -> WhyApart:
        """The answer for two kernels, the one that comes first in front."""
        x, y = (self._kernels[id] for id in sorted((a, b), key=self.facts.places.__getitem__))
        if self._reads(x, y) and not self._reads(y, x):
            x, y = y, x
        tries = self._tries.get(frozenset((x.id, y.id)), [])
        between = None if x.graph != y.graph else self._between(x, y)
        sentence, remedy, brief = self._why(x, y, between, tries)
        return WhyApart(
            a,
            b,
            True,
            sentence,
            remedy,
            kernels=(x.id, y.id),
            concerned=(x.id, y.id, *((between.id,) if between else ())),
            words=tuple(f"{pair.a} and {pair.b}: {pair.reason}" for pair in tries[:_MOST_WORDS]),
            pair=tries[0].row if tries else None,
            brief=brief,
        )

    def _reads(self, y: Kernel, x: Kernel) -> bool:
        return (x.id, y.id) in self.facts.bytes_between

    def _between(self, x: Kernel, y: Kernel) -> Kernel | None:
        """The first kernel on the shortest way from one to the other, where there is one."""
        for start, end in ((x, y), (y, x)):
            step = self._apart.first_step(start.scheduler_nodes, end.scheduler_nodes)
            middle = None if step is None else self._apart.kernel_of((step[0],))
            if middle is not None and middle.id not in (x.id, y.id):
                return middle
        return None

    def _why(
        self, x: Kernel, y: Kernel, between: Kernel | None, tries: Sequence[Rejected]
    ) -> tuple[str, str | None, str]:
        """The sentence, what would join them, and the sentence in a few words."""
        if x.graph != y.graph:
            return self._two_programs(x, y), None, "two programs"
        is_called = not (x.is_generated and y.is_generated)
        if is_called and (between is None or self._reads(y, x)):
            called = y if x.is_generated else x
            return *self._called(x, y), f"{called.id} is {_what(called)}"
        reduced = self.facts.reduction_between(x, y)
        if reduced and (reduced.bytes or 0) >= _KEPT:
            count = number_text(reduced.count, "whole")
            text = (
                f"{y.id} needs the {reduced.word} of {count} values, and {x.id} has it only "
                "after reading all of them. A fused kernel would have to keep all "
                f"{number_text(reduced.bytes, 'bytes')}, or read the values twice."
            )
            return text, None, f"{y.id} needs the {reduced.word} first"
        if between is not None and between.is_generated:
            text = (
                f"{between.id} runs between them: {y.id} needs the result of {between.id}, and a "
                "running kernel cannot wait for another kernel."
            )
            return text, None, f"{between.id} runs between"
        if between is not None:
            text = f"{between.id}, {_what(between)}, runs between them. It {_WHOLE}."
            brief = f"{between.id} runs between: {_what(between)}"
            return text, _cure_fallback(between), brief
        return self._known(x, y, tries), None, ""

    def _two_programs(self, x: Kernel, y: Kernel) -> str:
        if x.is_backward != y.is_backward:
            forward, backward = (y, x) if x.is_backward else (x, y)
            return (
                f"{forward.id} belongs to the forward pass, {backward.id} to the backward pass. "
                "They are separate programs, and the activations are saved between them."
            )
        breaks = len(self._report.breaks)
        why = f" The call has {plural(breaks, 'graph break')}." if breaks else ""
        return f"{x.id} and {y.id} belong to two graphs; no kernel spans both.{why}"

    def _called(self, x: Kernel, y: Kernel) -> tuple[str, str | None]:
        """The answer where at least one is code that the compiler does not write."""
        called = [kernel for kernel in (x, y) if not kernel.is_generated]
        cures = [_cure_fallback(kernel) for kernel in called]
        if len(called) == 2:
            text = f"{x.id} is {_what(x)} and {y.id} {_what(y)}: each {_WHOLE}."
        else:
            text = f"{called[0].id} is {_what(called[0])}: it {_WHOLE}."
        reduced = self.facts.reduction_of(y, reads=x) if y.is_generated else None
        is_tuned = (self._report.request.mode or "").startswith("max-autotune")
        if reduced:
            count = number_text(reduced.count, "whole")
            needs = f"needs the {reduced.word} of {count} values before it can use the first."
            text += f" {y.id} also {needs}"
        elif y.is_generated and self._reads(y, x) and not is_tuned and self.facts.has_template(x):
            cures.append(_TUNED)
        return text, next((cure for cure in cures if cure), None)

    def _known(self, x: Kernel, y: Kernel, tries: Sequence[Rejected]) -> str:
        """What sizes, order and common data explain, and that the rest is not known."""
        if tries and "does not say why" not in tries[0].reason:
            answer = self._apart(tries[0])
            return f"{answer.reason[:1].upper()}{answer.reason[1:]}. {answer.because}"
        common = self.facts.common_inputs(x, y)
        if self._reads(y, x):
            size = number_text(self.facts.bytes_between[x.id, y.id], "bytes")
            sentence = f"{y.id} reads {size} that {x.id} writes."
        elif common:
            sentence = f"Neither reads the other's results; both read {_join(common)}."
        else:
            return (
                "Neither reads the other's results, and they share no inputs: fusing them would "
                "save no traffic."
            )
        return " ".join((sentence, *self.facts.differences(x, y), SILENT))


def _cure_fallback(called: Kernel) -> str | None:
    if not called.is_fallback:
        return None
    op = called.name.removeprefix("torch.ops.")
    return f"Replace `{op}` with an operator that Inductor generates code for."


def _what(kernel: Kernel) -> str:
    name = kernel.name.removeprefix("torch.ops.")
    if kernel.is_fallback:
        return f"a fallback (`{name}`)"
    what = "collective" if kernel.is_collective else "library call"
    return f"a {what} ({strip_operator_name(name)})"


def _join(names: Sequence[str]) -> str:
    shown = names[:_NAMED]
    if len(names) > len(shown):
        return f"{', '.join(shown)} and {len(names) - len(shown)} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


REDUCTIONS: Mapping[str, str] = {
    "all": "logical AND",
    "amax": "maximum",
    "amin": "minimum",
    "aminmax": "minimum and maximum",
    "any": "logical OR",
    "argmax": "index of the maximum",
    "argmin": "index of the minimum",
    "logsumexp": "logarithm of the sum",
    "max": "maximum",
    "mean": "mean",
    "median": "median",
    "min": "minimum",
    "norm": "norm",
    "linalg_vector_norm": "norm",
    "prod": "product",
    "std": "standard deviation",
    "sum": "sum",
    "var": "variance",
    "var_mean": "mean and variance",
}
"""Operators that reduce many values to one, and the name of the result."""
_PRODUCTS = frozenset(("mm", "addmm", "bmm", "baddbmm"))
_CONVOLUTIONS = frozenset(("convolution", "conv2d"))


@dataclass(frozen=True)
class Reduction:
    """One reduction: its result, the number of values, and their bytes."""

    node: str
    word: str
    whole: int  # values that it reads
    count: int  # for each result
    bytes: int | None


class KernelFacts:
    """Looks the kernels of one report up once; `places` are theirs in the program."""

    def __init__(self, report: Report):
        self._report = report
        self.places = {kernel.id: n for n, kernel in enumerate(report.kernels)}
        self._by_node: dict[str, list[str]] = {}
        self._by_line: dict[str, list[str]] = {}
        self._owner: dict[str, str] = {}
        for kernel in report.kernels:
            for node in kernel.nodes:
                self._by_node.setdefault(node, []).append(kernel.id)
            for line in dict.fromkeys((*kernel.lines, *kernel.called_from)):
                self._by_line.setdefault(line, []).append(kernel.id)
            self._owner.update(dict.fromkeys(kernel.scheduler_nodes, kernel.id))

    def kernels_of(self, id: str) -> list[str]:
        """The kernels that compute a line, a node, or that are it, in the order of the program."""
        if id in self.places:
            return [id]
        if id in self._by_line or self._has_line(id):
            return self._by_line.get(id, [])
        if id in self._report.node_row:
            kernels = self._by_node.get(id) or self._later(id)
            return sorted(dict.fromkeys(kernels), key=self.places.__getitem__)
        raise UsageError(
            f"The report has no line, node or kernel {id!r}; use an id such as 'L:s0:12', "
            "'g7:add' or 'k3'."
        )

    def _has_line(self, id: str) -> bool:
        """Whether a source has the line; without a text, its length is not known."""
        kind, _, rest = id.partition(":")
        name, _, number = rest.partition(":")
        source = next((row for row in self._report.sources if row.id == name), None)
        if kind != "L" or source is None or not number.isdecimal():
            return False
        text = self._report.texts.get(source.text or "")
        past = int(number) - source.first_line
        return past >= 0 and (text is None or past <= text.count("\n"))

    def _later(self, node: str) -> list[str]:
        """The kernels of all nodes that were made from a node of an earlier stage."""
        order = {graph.id: n for n, graph in enumerate(self._report.graphs)}
        waiting, visited = [node], {node}
        kernels: list[str] = []
        while waiting:
            here = waiting.pop()
            graph = order.get(here.partition(":")[0], 0)
            for other in self._report.linked(here):
                if other in visited or order.get(other.partition(":")[0], -1) <= graph:
                    continue
                visited.add(other)
                kernels += self._by_node.get(other, ())
                waiting.append(other)
        return kernels

    @cached_property
    def bytes_between(self) -> dict[tuple[str, str], int]:
        """Bytes that the second kernel reads of the first's results, by the pair."""
        bytes_by_pair: dict[tuple[str, str], int] = {}
        for buffer in self._report.buffers:
            writers = dict.fromkeys(self._owner.get(node) for node in buffer.written_by)
            readers = dict.fromkeys(self._owner.get(node) for node in buffer.read_by)
            for writer in writers:
                for reader in readers:
                    if writer and reader and writer != reader:
                        pair = writer, reader
                        bytes_by_pair[pair] = bytes_by_pair.get(pair, 0) + (buffer.bytes or 0)
        return bytes_by_pair

    @cached_property
    def _read(self) -> dict[str, dict[str, bool]]:
        """By kernel the buffers that it reads, and whether each is an input of the program."""
        by_kernel: dict[str, dict[str, bool]] = {}
        for buffer in self._report.buffers:
            for node in buffer.read_by:
                if node in self._owner:
                    own = by_kernel.setdefault(self._owner[node], {})
                    own[buffer.name] = buffer.kind in ("input", "constant")
        return by_kernel

    def common_inputs(self, x: Kernel, y: Kernel) -> list[str]:
        """Names of the buffers that both read."""
        theirs = self._read.get(y.id, {})
        return [name for name in self._read.get(x.id, {}) if name in theirs]

    def reduction_between(self, x: Kernel, y: Kernel) -> Reduction | None:
        """The largest reduction of the first that the second needs; None where there is none."""
        own = set(x.nodes)
        if (x.id, y.id) not in self.bytes_between:
            return None
        used = [reduction for reduction in self._reductions(x) if self._is_used(reduction, own, y)]
        return max(used, key=lambda reduction: reduction.count, default=None)

    def reduction_of(self, y: Kernel, *, reads: Kernel) -> Reduction | None:
        """The largest reduction in a kernel over another one's results."""
        if (reads.id, y.id) not in self.bytes_between:
            return None
        read_nodes = set(reads.nodes)
        reductions = [
            reduction
            for reduction in self._reductions(y)
            if self._comes_from(reduction.node, read_nodes)
        ]
        return max(reductions, key=lambda reduction: reduction.count, default=None)

    def _reductions(self, kernel: Kernel) -> Iterator[Reduction]:
        for node in select_nodes(self._report, "id", kernel.nodes).values():
            word = REDUCTIONS.get(strip_operator_name(node.target))
            first = next(iter(select_nodes(self._report, "id", node.inputs[:1]).values()), None)
            whole = None if first is None else _elements(first.shape)
            users = select_nodes(self._report, "id", self._users.get(node.id, ())).values()
            results = (node, *users)  # one with several results has no shape of its own
            left = next((size for result in results if (size := _elements(result.shape))), None)
            if word is None or first is None or not whole or not left or whole <= left:
                continue
            size = None if first.bytes is None else first.bytes * (whole // left) // whole
            yield Reduction(node.id, word, whole, whole // left, size)

    @cached_property
    def _users(self) -> dict[str, list[str]]:
        columns = self._report.nodes.columns
        users: dict[str, list[str]] = {}
        for id, inputs in zip(columns.get("id", ()), columns.get("inputs", ()), strict=True):
            for node in inputs:
                users.setdefault(node, []).append(id)
        return users

    def _is_used(self, reduced: Reduction, own: set[str], y: Kernel) -> bool:
        """Whether the other kernel reads the few values that a reduction leads to, not many."""
        theirs, waiting, visited = set(y.nodes), [reduced.node], {reduced.node}
        while waiting:
            users = self._users.get(waiting.pop(), ())
            if any(user in theirs for user in users):
                return True
            for user in select_nodes(self._report, "id", set(users) - visited).values():
                is_small = (_elements(user.shape) or 0) < reduced.whole
                visited.add(user.id)
                if is_small and (user.id in own or "getitem" in user.target):
                    waiting.append(user.id)
        return False

    def _comes_from(self, node: str, sources: set[str], steps: int = 6) -> bool:
        """Whether a node reads, through a few others, what a kernel made."""
        row = self._report.node_row.get(node)
        if row is None or not steps:
            return False
        inputs = next(iter(read_parts_at(self._report.nodes, [row], ("inputs",))))[0]
        return any(
            source in sources or self._comes_from(source, sources, steps - 1) for source in inputs
        )

    @cached_property
    def _kinds(self) -> Mapping[str, str]:
        return kernel_kinds(self._report)

    def _order_of(self, node: NodeFacts) -> tuple[int, ...] | None:
        """The dimensions of a value in memory order, the outermost first.

        Those of size 1 are left out; None if sizes or strides are dynamic.
        """
        row = self._report.node_row[node.id]
        strides, shape = self._report.nodes.columns["stride"][row], node.shape or ()
        sizes = [*(strides or ()), *shape]
        if not strides or not all(isinstance(size, int) for size in sizes):
            return None
        real = [at for at, size in enumerate(shape) if size != 1]
        return tuple(sorted(real, key=lambda at: (-strides[at], at)))

    def differences(self, x: Kernel, y: Kernel) -> Iterator[str]:
        """Differences of sizes, orders and templates: a kernel has one loop nest."""
        yield from self._templates(x, y)
        ours, theirs = self._largest(x), self._largest(y)
        if ours is None or theirs is None:
            return
        sizes = _elements(ours.shape), _elements(theirs.shape)
        if sizes[0] != sizes[1]:
            many = [number_text(size, "whole") for size in sizes]
            yield (
                f"{x.id} iterates over {many[0]} elements and {y.id} over {many[1]}; a kernel has "
                "one loop nest."
            )
            return
        orders = self._order_of(ours), self._order_of(theirs)
        if ours.shape == theirs.shape and None not in orders and orders[0] != orders[1]:
            texts = [", ".join(map(str, order or ())) for order in orders]
            yield (
                f"{x.id} iterates over dimensions in the order {texts[0]}, {y.id} in the order "
                f"{texts[1]}; a loop nest has one order."
            )

    def _templates(self, x: Kernel, y: Kernel) -> Iterator[str]:
        """What a generated matmul can fuse: elementwise work on its result."""
        templates = [kernel for kernel in (x, y) if self._kinds.get(kernel.id) == "template"]
        if len(templates) == 2:
            yield f"{x.id} and {y.id} are templates, which cannot be fused with each other."
        elif templates:
            other = y if templates[0] is x else x
            what = (
                f"{templates[0].id} is a template: only elementwise work on its result can be fused"
            )
            if templates[0] is y:
                yield f"{what}, and {other.id} comes before it."
            elif self._kinds.get(other.id) == "reduction":
                yield f"{what}, and {other.id} is a reduction."
            else:
                yield f"{what}."

    def _largest(self, kernel: Kernel) -> NodeFacts | None:
        sized = [
            node
            for node in select_nodes(self._report, "id", kernel.nodes).values()
            if _elements(node.shape)
        ]
        return max(sized, key=lambda node: _elements(node.shape) or 0, default=None)

    def has_template(self, kernel: Kernel) -> bool:
        """Whether Inductor has a template of its own for what a library call computes."""
        ops = {strip_operator_name(op) for op in kernel.ops}
        if not kernel.is_library or ops & _PRODUCTS:
            return kernel.is_library
        is_gpu = self._report.request.target not in ("host", "cpu")
        return is_gpu and bool(ops & _CONVOLUTIONS)


def _elements(shape: tuple[int | str, ...] | None) -> int | None:
    """How many elements a shape has; None if a size is dynamic."""
    if shape is None or not all(isinstance(size, int) for size in shape):
        return None
    return math.prod(size for size in shape if isinstance(size, int))
