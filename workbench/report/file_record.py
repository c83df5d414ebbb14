"""The part of a report that tells of a file: what it is, how long it takes to a first result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import workbench.report.artifact_rows as artifact_rows
import workbench.report.roundtrip_rows as roundtrip_rows
from workbench.report.table import Table

TABLES: Mapping[str, type] = {
    **artifact_rows.TABLES,
    "roundtrip": roundtrip_rows.RoundTripWay,
    "roundtrip_phases": roundtrip_rows.RoundTripPhase,
    "roundtrip_leaves": roundtrip_rows.RoundTripLeaf,
}
"""The tables by name; none of them travels in the file itself."""


class FileRecord:
    """Base of a report: its tables about a file, empty before there is one."""

    def _table(self, name: str) -> Table[Any]:
        raise NotImplementedError

    @property
    def artifact(self) -> Table[artifact_rows.ArtifactFact]:
        """What the file is that it was saved to or loaded from."""
        return self._table("artifact")

    @property
    def members(self) -> Table[artifact_rows.ArtifactMember]:
        """The members of the file."""
        return self._table("members")

    @property
    def contract(self) -> Table[artifact_rows.ContractLeaf]:
        """What the file takes and gives."""
        return self._table("contract")

    @property
    def requirements(self) -> Table[artifact_rows.RequirementRow]:
        """What the file needs, compared with the machine that it was saved or loaded on."""
        return self._table("requirements")

    @property
    def roundtrip(self) -> Table[roundtrip_rows.RoundTripWay]:
        """Ways from the file, or from the original, to a result in a fresh process."""
        return self._table("roundtrip")

    @property
    def roundtrip_phases(self) -> Table[roundtrip_rows.RoundTripPhase]:
        """What each of the ways spent its time on."""
        return self._table("roundtrip_phases")

    @property
    def roundtrip_leaves(self) -> Table[roundtrip_rows.RoundTripLeaf]:
        """The outputs of each of the ways beside those of eager."""
        return self._table("roundtrip_leaves")
