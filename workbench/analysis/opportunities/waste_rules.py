"""Memory and work that a change would save."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from workbench.analysis.fusion.traffic import count_moved_bytes
from workbench.analysis.memory.memory import count_quick_memory
from workbench.analysis.memory.waste import MemoryRemark, Waste, remarks
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rule_facts import Facts, base
from workbench.number_text import number_text, plural
from workbench.report import Kernel

_CASTS = frozenset(("convert_element_type", "_to_copy"))
_THRESHOLD = "realize_opcount_threshold"
_FEW = 4  # operators: results of longer expressions that are read again are stored
_COUNTED = "counted in the generated program"


def _found(facts: Facts, waste: Waste) -> list[MemoryRemark]:
    """Those of one kind; none where the program is so long that counting takes its time."""
    if count_quick_memory(facts.report) is None:
        return []
    return [remark for remark in remarks(facts.report) if remark.waste == waste]


def find_evaluated_again(facts: Facts) -> Iterator[Opportunity]:
    """Kernels that compute an expensive function once in each of their loops."""
    remarks = _found(facts, "evaluated again")
    if not remarks:
        return
    stored = sum(remark.bytes for remark in remarks)
    yield Opportunity(
        id="",
        rule="evaluated-again",
        kind="option",
        text=f"Lower {_THRESHOLD}: Inductor then stores the result instead of recomputing it "
        f"({number_text(stored, 'bytes')} in total). {remarks[0].text}",
        sure="possible",
        source=f"{_COUNTED}: how often the kernel and the graph evaluate it. No time is "
        "estimated; the change helps if the kernel is compute-bound",
        kernels=_kernels(remarks),
        **_place(facts, remarks[0]),
        settings=((_THRESHOLD, _FEW),),
    )


def find_parts_that_hold_the_whole(facts: Facts) -> Iterator[Opportunity]:
    """Results that are a small part of a storage, and keep all of it live."""
    for remark in _found(facts, "part holds the whole"):
        place = _place(facts, remark)
        yield Opportunity(
            id="",
            rule="part-holds-the-whole",
            kind="rewrite",
            text=f"Clone the slice after the call, or compute only that slice. {remark.text} (A "
            "clone at the end of the compiled function does not help, because Inductor removes "
            "it.)",
            sure="likely",
            source=f"{_COUNTED}: the storage minus the slice",
            kernels=_kernels([remark]),
            **place,
            after=("part = compiled(x).clone()  # the storage of the whole goes with the call",),
            saved_memory=remark.bytes,
        )


def find_converted_weights(facts: Facts) -> Iterator[Opportunity]:
    """Weights that each call copies into another dtype; a training step has its reasons."""
    remarks = _found(facts, "converted weight")
    if any(wrapper.is_backward for wrapper in facts.report.wrappers):
        return
    by_id = {kernel.id: kernel for kernel in facts.kernels}
    types = {remark.dtype for remark in remarks if remark.dtype is not None}
    if not remarks or len(types) != 1:
        return
    kernels = [by_id[id] for id in _kernels(remarks) if _only_converts(by_id.get(id))]
    moved = sum(count_moved_bytes(kernel) or 0 for kernel in kernels)
    held = sum(remark.bytes for remark in remarks)
    dtype = types.pop()
    yield Opportunity(
        id="",
        rule="converted-weight",
        kind="dtype",
        text=f"Keep the model in {dtype}: each call converts {plural(len(remarks), 'weight')} "
        f"({number_text(held, 'bytes')}). {remarks[0].text}",
        sure="possible",
        source=f"{_COUNTED}: the copies, and the traffic of kernels that only copy"
        f"{facts.time_source(kernels)}",
        kernels=_kernels(remarks),
        **_place(facts, remarks[0]),
        saved_bytes_low=moved,
        saved_bytes_high=moved,
        saved_us_low=facts.least_microseconds(moved, kernels),
        saved_us_high=facts.microseconds(moved, kernels),
        fewer_kernels=len(kernels) or None,
        settings=(("dtype", dtype),),
        changes_numbers=True,
        saved_memory=held,
    )


def _only_converts(kernel: Kernel | None) -> bool:
    return kernel is not None and {base(op) for op in kernel.ops} <= _CASTS


def _kernels(remarks: Sequence[MemoryRemark]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(remark.kernel for remark in remarks if remark.kernel is not None))


def _place(facts: Facts, remark: MemoryRemark) -> dict[str, Any]:
    line = facts.line_at(remark.file or "", remark.line or 0)
    if line is None:
        return {}
    return {"line_id": line[0], "file": remark.file, "line": remark.line}
