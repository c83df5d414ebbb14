"""The part `apart:`: why two things are apart, or the answers for kernels that hand data on."""

from __future__ import annotations

from workbench.analysis.apart.apart import explain_apart, list_neighbours
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rules import opportunities
from workbench.errors import UsageError
from workbench.report import Report
from workbench.report.rows import WhyApart
from workbench.views.wire import report_messages as wire
from workbench.views.wire.codec import convert_row

_MOST = 200  # pairs that a saved page answers for
_JOINING = frozenset(
    ("product-epilogue", "topk-of-one", "complex-numbers", "attention-by-hand", "copied-matrix")
)
"""Rules whose change puts operations into one kernel, or takes away what stands between."""


def build_apart_part(report: Report, pair: str) -> wire.ApartPart:
    """Build the part of a pair `k0|k1`, of all neighbours without one.

    Raises `UsageError` for an id that the record does not have.
    """
    a, mark, b = pair.partition("|")
    if pair and not (a and mark and b):
        raise UsageError(f"Why apart takes two ids, as in 'apart:k0|k1': {pair!r} is not that.")
    answers = [explain_apart(report, a, b)] if pair else list_neighbours(report, _MOST)
    changes = [each for each in opportunities(report) if each.rule in _JOINING]
    return {"kind": "apart", "answers": [_answer(each, changes) for each in answers]}


def _answer(answer: WhyApart, changes: list[Opportunity]) -> wire.WhyApart:
    concerned = set(answer.concerned)
    joining = (each.id for each in changes if concerned & set(each.kernels))
    return convert_row(
        wire.WhyApart,
        answer,
        rejected=None if answer.pair is None else f"f0:{answer.pair}",
        opportunity=next(joining, None) if answer.is_apart else None,
    )
