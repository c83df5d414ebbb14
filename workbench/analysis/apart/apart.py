"""Why two lines, nodes or kernels are apart, in a sentence that says what is known."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import product

from workbench.analysis.apart.kernel_facts import KernelFacts
from workbench.analysis.fusion.traffic import strip_operator_name
from workbench.analysis.fusion.why_not import Apart, Rejected, rejected
from workbench.number_text import number_text, plural
from workbench.report import Kernel, Report
from workbench.report.rows import WhyApart

SILENT = "Why the backend did not join them is not recorded."
_NO_KERNEL = (
    "has no kernel of its own: it is a view, was calculated while compiling, or is in no graph."
)
_WHOLE = "takes and gives whole tensors, so nothing is computed inside it"
_TUNED = (
    "`mode='max-autotune'` also tries generated products in the place of the library call: one "
    "that wins takes elementwise work in."
)
_KEPT = 4096  # bytes of what is reduced at once: fewer stay in registers
_NAMED = 4
_MOST_WORDS = 6
_NEAREST = 24  # kernels of each side whose pairs are looked at
_BOTH, _DIRECT, _BETWEEN, _UNRELATED = range(4)


def explain_apart(report: Report, a: str, b: str) -> WhyApart:
    """Why two lines (`L:s0:12`), nodes (`g7:add`) or kernels (`k3`) are apart.

    Raises `UsageError` for an id that the record does not have.
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
        found: dict[frozenset[str | None], list[Rejected]] = {}
        for pair in rejected(self._report):
            ends = [
                self._apart.kernel_of(self._apart.parts(pair.graph, n)) for n in (pair.a, pair.b)
            ]
            found.setdefault(frozenset(e.id if e else None for e in ends), []).append(pair)
        return found

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
            text = f"They are not apart: {_join(both)} {verb} both."
            return WhyApart(a, b, False, text, kernels=tuple(both[:1]), concerned=tuple(both))
        x, y = min(product(only, others), key=lambda pair: self._distance(*pair))
        found = self._of_kernels(x, y)
        text = found.sentence
        if both:
            text = f"{_join(both)} {verb} parts of both. As to {x} and {y}: {text}"
        elif (x, y) != (a, b):
            text = f"Of their kernels, {x} and {y} are nearest. {text}"
        return WhyApart(
            a,
            b,
            True,
            text,
            found.help,
            found.kernels,
            found.concerned,
            found.words,
            found.pair,
            found.brief,
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
            it = "them" if " and " in reduced.word else "it"
            text = (
                f"{y.id} needs the {reduced.word} of {count} values; {x.id} knows {it} only after "
                f"the last of them. One kernel would have to keep all "
                f"{number_text(reduced.bytes, 'bytes')}, or read them again."
            )
            return text, None, f"{y.id} needs the {reduced.word} first"
        if between is not None and between.is_generated:
            text = (
                f"Between them stands {between.id}: {y.id} needs what it makes of the first, and "
                "one kernel cannot wait for another in its middle."
            )
            return text, None, f"{between.id} stands between"
        if between is not None:
            text = f"Between them stands {between.id}, {_what(between)}: it {_WHOLE}."
            brief = f"{between.id} stands between: {_what(between)}"
            return text, _cure_fallback(between), brief
        return self._known(x, y, tries), None, ""

    def _two_programs(self, x: Kernel, y: Kernel) -> str:
        if x.is_backward != y.is_backward:
            forward, backward = (y, x) if x.is_backward else (x, y)
            return (
                f"{forward.id} belongs to the forward, {backward.id} to the backward: two "
                "programs, and what the first leaves for the second is stored in between."
            )
        breaks = len(self._report.breaks)
        why = f" The call has {plural(breaks, 'graph break')}." if breaks else ""
        return f"{x.id} and {y.id} belong to two graphs; no kernel reaches over both.{why}"

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
            text += f" Besides, {y.id} {needs}"
        elif y.is_generated and self._reads(y, x) and not is_tuned and self.facts.has_template(x):
            cures.append(_TUNED)
        return text, next((cure for cure in cures if cure), None)

    def _known(self, x: Kernel, y: Kernel, tries: Sequence[Rejected]) -> str:
        """What sizes, order and data in common say, and that the rest is not known."""
        if tries and "does not say why" not in tries[0].reason:
            answer = self._apart(tries[0])
            return f"{answer.reason[:1].upper()}{answer.reason[1:]}. {answer.because}"
        common = self.facts.common_inputs(x, y)
        if self._reads(y, x):
            size = number_text(self.facts.bytes_between[x.id, y.id], "bytes")
            known = f"{y.id} reads {size} that {x.id} writes."
        elif common:
            known = f"Neither reads what the other makes; both read {_join(common)}."
        else:
            return (
                "Neither reads what the other makes, and they read nothing in common: one kernel "
                "of both would move no byte less."
            )
        return " ".join((known, *self.facts.differences(x, y), SILENT))


def _cure_fallback(called: Kernel) -> str | None:
    if not called.is_fallback:
        return None
    op = called.name.removeprefix("torch.ops.")
    return f"Use an operator that Inductor has code for instead of `{op}`."


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
