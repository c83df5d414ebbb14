"""The result of looking into a file: typed rows, tables, text and HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.arguments import checked
from workbench.artifacts.inspect import rows
from workbench.errors import ArtifactError, UsageError
from workbench.report.presenting import Presented, presenter

if TYPE_CHECKING:
    import pandas

    from workbench.artifacts.inspect.deployment import Deployment
    from workbench.artifacts.inspect.facts import Text
    from workbench.artifacts.inspect.opcodes import PickleFacts
    from workbench.artifacts.manifest.manifest import Manifest
    from workbench.artifacts.manifest.package_manifest import PackageManifest
    from workbench.report import Report

TABLES: Mapping[str, type] = {
    "models": rows.ModelFacts,
    "variants": rows.VariantFacts,
    "inputs": rows.ValueFacts,
    "outputs": rows.ValueFacts,
    "constants": rows.ConstantFacts,
    "guards": rows.GuardFacts,
    "needs": rows.NeedFacts,
    "outside": rows.OutsideFacts,
    "sources": rows.SourceFacts,
    "kernels": rows.KernelFacts,
    "members": rows.MemberFacts,
    "libraries": rows.LibraryFacts,
    "sections": rows.SectionFacts,
    "symbols": rows.SymbolFacts,
    "names": rows.ImportFacts,
    "pickled": rows.PickleSummary,
}


@dataclass(frozen=True)
class ArtifactReport(Presented):
    """What a file is, learnt without executing it.

    `kind` is "artifact" (.aot), "package" (.pt2 of this workbench), "torch" (a file of torch's
    save_compiled_function), "torch package" or "exported program". `digest` is what `trust=`
    takes; it is empty for a big file of torch that was not read to its end. `signature` says who
    vouches for it on this account. `notes` say what could not be learnt, and why. Every table of
    rows is also a DataFrame: `report.frame("members")`.
    """

    path: str
    kind: str
    digest: str
    signature: str
    size: int
    manifest: Manifest | PackageManifest | None = None
    members: Sequence[rows.MemberFacts] = ()
    pickles: Sequence[tuple[str, PickleFacts]] = ()
    models: Sequence[rows.ModelFacts] = ()
    variants: Sequence[rows.VariantFacts] = ()
    inputs: Sequence[rows.ValueFacts] = ()
    outputs: Sequence[rows.ValueFacts] = ()
    constants: Sequence[rows.ConstantFacts] = ()
    guards: Sequence[rows.GuardFacts] = ()
    needs: Sequence[rows.NeedFacts] = ()
    outside: Sequence[rows.OutsideFacts] = ()
    kernels: Sequence[rows.KernelFacts] = ()
    libraries: Sequence[rows.LibraryFacts] = ()
    sections: Sequence[rows.SectionFacts] = ()
    symbols: Sequence[rows.SymbolFacts] = ()
    names: Sequence[rows.ImportFacts] = ()
    pickled: Sequence[rows.PickleSummary] = ()
    notes: Sequence[str] = ()
    texts: Sequence[Text] = field(default=(), repr=False)
    reports: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    @property
    def imports(self) -> tuple[str, ...]:
        """Every name that loading imports, from all pickles, as `module:name`."""
        return tuple(sorted({row.name for row in self.names}))

    @property
    def unusual(self) -> tuple[str, ...]:
        """The imports from outside torch and its usual companions: look at these first."""
        return tuple(sorted({row.name for row in self.names if row.level != "usual"}))

    @property
    def damaged(self) -> tuple[str, ...]:
        """The members whose bytes are not those that the file was made with."""
        return tuple(member.name for member in self.members if member.damaged)

    @property
    def sources(self) -> tuple[rows.SourceFacts, ...]:
        """Every text of code: kernels, the programs that call them, graphs."""
        return tuple(
            rows.SourceFacts(text.name, text.language, text.size, (text.text or "").count("\n") + 1)
            for text in self.texts
        )

    @checked
    def source(self, name: str) -> str:
        """One text of `sources`, by its name or the only one that contains `name`.

        Raises `UsageError` when there is none or several, `ArtifactError` for one that is too big
        to be kept.
        """
        found = [text for text in self.texts if text.name == name]
        found = found or [text for text in self.texts if name in text.name]
        if len(found) != 1:
            names = ", ".join(text.name for text in found or self.texts) or "none"
            raise UsageError(f"{len(found)} sources are named {name!r}. Take one of: {names}.")
        if found[0].text is None:
            raise ArtifactError(
                f"{found[0].name} takes {found[0].size} bytes, too many to be kept. It is a plain "
                f"member of the zip file: unzip -p {self.path} '*{found[0].name}'."
            )
        return found[0].text

    @checked
    def report(self, model: str | None = None) -> Report:
        """The record of the compilation that travels in the file, of one model if it has several.

        Raises `UsageError` when there is none, or several and no name; `ArtifactError` for a
        damaged one.
        """
        from workbench.report.record import Report

        if model is None and len(self.reports) == 1:
            return Report.from_bytes(next(iter(self.reports.values())))
        if model is None or model not in self.reports:
            names = ", ".join(self.reports) or "none: the file was written without one"
            raise UsageError(f"There is no report of {model!r}. Take one of: {names}.")
        return Report.from_bytes(self.reports[model])

    @checked
    def deployment(self, *, python: bool = True) -> Deployment:
        """The file's size and that of what has to be installed to run it, in bytes on this machine.

        It asks every installed file of torch, which takes about a second. With `python=False` it
        is what a program in C++ needs to run a package: torch's shared libraries alone. Raises
        `UsageError` for a file that only Python loads.
        """
        from workbench.artifacts.inspect.deployment import cpp_deployment_of, deployment_of

        counted = deployment_of if python else cpp_deployment_of
        return counted(Path(self.path).name, self.size, self.kind)

    @checked
    def frame(self, name: str) -> pandas.DataFrame:
        """One table as a DataFrame; raises `UsageError` that lists the names for any other."""
        if name not in TABLES:
            raise UsageError(f"There is no table {name!r}. Take one of: {', '.join(TABLES)}.")
        return presenter().rows_frame(getattr(self, name), TABLES[name])

    def __repr__(self) -> str:
        """A short stable summary."""
        from workbench.artifacts.inspect.text import summary

        return summary(self)
