"""The tables of a report that are worked out from its record when they are asked for.

A table is added here: its name is then one that `Report.frame` takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.analysis.cost.identical_kernels import IdenticalKernels, list_identical_kernels
from workbench.analysis.cost.kernel_costs import KernelCost, list_kernel_costs
from workbench.analysis.fusion.fusion import KernelTraffic, list_saved_traffic
from workbench.analysis.fusion.why_not import NotFused, list_not_fused
from workbench.analysis.memory.layers import LayerRow, list_layer_rows
from workbench.analysis.memory.waste import MemoryRemark, remarks
from workbench.analysis.opportunities.opportunity import Opportunity
from workbench.analysis.opportunities.rules import opportunities
from workbench.report import Report, Table


@dataclass(frozen=True)
class Derived:
    """A table that is not recorded: the type of a row, and what makes the rows of a report."""

    row_type: type
    rows: Callable[[Report], Sequence[Any]]

    def table(self, report: Report) -> Table[Any]:
        """The table of a report."""
        return Table.of(self.row_type, self.rows(report))


DERIVED: Mapping[str, Derived] = {
    "costs": Derived(KernelCost, list_kernel_costs),
    "identical_kernels": Derived(IdenticalKernels, list_identical_kernels),
    "memory_layers": Derived(LayerRow, list_layer_rows),
    "memory_remarks": Derived(MemoryRemark, remarks),
    "not_fused": Derived(NotFused, list_not_fused),
    "opportunities": Derived(Opportunity, opportunities),
    "traffic": Derived(KernelTraffic, list_saved_traffic),
}
"""Every derived table by name."""
