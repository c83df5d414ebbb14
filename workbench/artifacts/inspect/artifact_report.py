"""The result of looking into a file: typed rows, tables, text and HTML."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.arguments import checked
from workbench.artifacts.inspect import artifact_rows
from workbench.artifacts.machine.elf import read_library_file
from workbench.artifacts.machine.machine_description import find_torch_folder
from workbench.errors import ArtifactError, UsageError, suggest
from workbench.number_text import number_text, plural
from workbench.report.measures import count_guards
from workbench.report.presenter import Presented, presenter

if TYPE_CHECKING:
    import pandas

    from workbench.artifacts.inspect.file_facts import Text
    from workbench.artifacts.inspect.opcodes import PickleFacts
    from workbench.artifacts.manifest.manifest import Manifest
    from workbench.artifacts.manifest.package_manifest import PackageManifest
    from workbench.report import Report

_SHOWN = 8
TITLES = {
    "artifact": "artifact of this workbench",
    "package": "package of this workbench",
    "torch": "file of torch's save_compiled_function",
    "torch package": "AOTInductor package of torch",
    "exported program": "exported program of torch",
    "library": "shared library",
}
WRONG = (artifact_rows.DAMAGED, artifact_rows.LEVELS[0])
"""What a cell says of a member, or of a name, that is a danger."""
TABLES: Mapping[str, type] = {
    "models": artifact_rows.ModelFacts,
    "variants": artifact_rows.VariantFacts,
    "inputs": artifact_rows.ValueFacts,
    "outputs": artifact_rows.ValueFacts,
    "constants": artifact_rows.ConstantFacts,
    "guards": artifact_rows.GuardFacts,
    "needs": artifact_rows.NeedFacts,
    "outside": artifact_rows.OutsideFacts,
    "sources": artifact_rows.SourceFacts,
    "kernels": artifact_rows.KernelFacts,
    "members": artifact_rows.MemberFacts,
    "libraries": artifact_rows.LibraryFacts,
    "sections": artifact_rows.SectionFacts,
    "symbols": artifact_rows.SymbolFacts,
    "names": artifact_rows.ImportFacts,
    "pickled": artifact_rows.PickleSummary,
}


@dataclass(frozen=True)
class ArtifactReport(Presented):
    """What a file is, learnt without executing it.

    `kind` is "artifact" (.aot), "package" (.pt2 of this workbench), "torch" (a file of torch's
    save_compiled_function), "torch package" or "exported program". `digest` is what `trust=`
    takes; it is empty for a big file of torch that was not read to its end. `signature` says who
    vouches for it on this account. `notes` say what could not be learnt, and why. `loads` says
    whether it can be loaded on this machine; it is empty if that was not looked at. Every table of
    rows is also a DataFrame: `report.frame("members")`.
    """

    path: str
    kind: str
    digest: str
    signature: str
    size: int
    manifest: Manifest | PackageManifest | None = None
    members: Sequence[artifact_rows.MemberFacts] = ()
    pickles: Sequence[tuple[str, PickleFacts]] = ()
    models: Sequence[artifact_rows.ModelFacts] = ()
    variants: Sequence[artifact_rows.VariantFacts] = ()
    inputs: Sequence[artifact_rows.ValueFacts] = ()
    outputs: Sequence[artifact_rows.ValueFacts] = ()
    constants: Sequence[artifact_rows.ConstantFacts] = ()
    guards: Sequence[artifact_rows.GuardFacts] = ()
    needs: Sequence[artifact_rows.NeedFacts] = ()
    outside: Sequence[artifact_rows.OutsideFacts] = ()
    kernels: Sequence[artifact_rows.KernelFacts] = ()
    libraries: Sequence[artifact_rows.LibraryFacts] = ()
    sections: Sequence[artifact_rows.SectionFacts] = ()
    symbols: Sequence[artifact_rows.SymbolFacts] = ()
    names: Sequence[artifact_rows.ImportFacts] = ()
    pickled: Sequence[artifact_rows.PickleSummary] = ()
    notes: Sequence[str] = ()
    texts: Sequence[Text] = field(default=(), repr=False)
    reports: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    loads: str = ""

    @property
    def is_own(self) -> bool:
        """Whether this user signed it, or vouched for it: what it imports is no news then."""
        return self.signature in ("signed by you", "trusted by you") and not self.damaged

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
    def sources(self) -> tuple[artifact_rows.SourceFacts, ...]:
        """Every text of code: kernels, the programs that call them, graphs."""
        return tuple(
            artifact_rows.SourceFacts(
                text.name, text.language, text.size, (text.text or "").count("\n") + 1
            )
            for text in self.texts
        )

    @checked
    def source(self, name: str) -> str:
        """One text of `sources`, by its name or the only one that contains `name`.

        Raises `UsageError` when there is none or several, `ArtifactError` for one that is too big
        to be kept.
        """
        texts = [text for text in self.texts if text.name == name]
        texts = texts or [text for text in self.texts if name in text.name]
        if len(texts) != 1:
            names = ", ".join(text.name for text in texts or self.texts) or "none"
            raise UsageError(f"{len(texts)} sources are named {name!r}. Take one of: {names}.")
        if texts[0].text is None:
            raise ArtifactError(
                f"{texts[0].name} has {texts[0].size} bytes, too many to store here. Extract it "
                f"from the zip file: unzip -p {self.path} '*{texts[0].name}'."
            )
        return texts[0].text

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
            names = ", ".join(self.reports) or "none, the file was written without reports"
            raise UsageError(f"{model!r} has no report here: expected one of {names}.")
        return Report.from_bytes(self.reports[model])

    @checked
    def deployment(self, *, python: bool = True) -> Deployment:
        """The file's size and that of what has to be installed to run it, in bytes on this machine.

        It asks every installed file of torch, which takes about a second. With `python=False` it
        is what a program in C++ needs to run a package: torch's shared libraries alone. Raises
        `UsageError` for a file that only Python loads.
        """
        counted = find_deployment if python else find_cpp_deployment
        return counted(Path(self.path).name, self.size, self.kind)

    @checked
    def frame(self, name: str) -> pandas.DataFrame:
        """One table as a DataFrame; raises `UsageError` that lists the names for any other."""
        if name not in TABLES:
            raise UsageError(
                f"{name!r} is not a table: expected one of "
                f"{', '.join(TABLES)}.{suggest(name, TABLES)}"
            )
        return presenter().rows_frame(getattr(self, name), TABLES[name])

    def __repr__(self) -> str:
        """A short stable summary."""
        return _summary(self)


def _summary(report: ArtifactReport) -> str:
    """What it is, what it takes and needs, whether it loads here; the digest comes last."""
    size = number_text(report.size, "bytes")
    head = f"{os.path.basename(report.path)}: {TITLES[report.kind]}, {size}"
    digest = report.digest or (
        "not computed for a file of this size; use wb.inspect(path, verify=True)"
    )
    lines = [f"ArtifactReport({head}, {report.signature})", *_models(report)]
    lines += _listed("inputs", [_value(row) for row in report.inputs])
    lines += _listed("outputs", [_value(row) for row in report.outputs])
    lines += [_line("" if n else "needs", line) for n, line in enumerate(_needs(report))]
    lines += [_line("loads", report.loads)] if report.loads else []
    lines += _constants(report.constants)
    baked = sum(row.kind == "BAKED_VALUE" for row in report.guards)
    if len(report.guards) > baked:
        own = (row.kept for row in report.guards if row.kind != "BAKED_VALUE")
        lines.append(_line("guards", count_guards(own).words))
    if baked:
        lines.append(_line("values", f"{baked} captured from outside, compared at each call"))
    frozen = {f"{row.name}: {row.frozen}": None for row in report.guards if row.frozen}
    lines += _listed("frozen", [*frozen], "guards")
    # of what is imported its place: its name in the file is torch's own and long
    places = {"module", "import"}
    outside = (
        (row.kind, row.found_at if row.kind in places else row.name) for row in report.outside
    )
    lines += _listed("outside", [" ".join(words) for words in outside])
    lines += _code(report)
    lines += _imports(report)
    lines += _members(report)
    lines.append(_line("digest", digest))
    lines += [_line("note", note) for note in report.notes]
    lines += [f"  DAMAGED  {name}" for name in report.damaged]
    return "\n".join(lines)


def _line(name: str, words: str) -> str:
    return f"  {name:<9} {words}"


def _listed(name: str, words: Sequence[str], table: str = "") -> Iterator[str]:
    for number, text in enumerate(words[:_SHOWN]):
        yield _line("" if number else name, text)
    if len(words) > _SHOWN:
        yield _line("", f"… and {len(words) - _SHOWN} more: .frame({(table or name)!r})")


def _models(report: ArtifactReport) -> Iterator[str]:
    words = []
    for row in report.models:
        target = f"for {row.target}" if row.target else ""
        proxy = "needs the proxy executor" if row.needs_proxy else ""
        details = ", ".join(filter(None, (row.device, target, row.bucket, proxy)))
        words.append(f"{row.name} ({details})" if details else row.name)
    yield from _listed("models", words)


def _value(row: artifact_rows.ValueFacts) -> str:
    return " ".join(part for part in (row.name, f"{row.dtype}{row.shape}", row.device) if part)


def _constants(constants: Sequence[artifact_rows.ConstantFacts]) -> Iterator[str]:
    if constants:
        total = number_text(sum(row.size or 0 for row in constants), "bytes")
        places = {row.place.split(" at ")[0] for row in constants} - {""}
        where = f", {'; '.join(sorted(places))}" if 0 < len(places) < 3 else ""
        yield _line("constants", f"{len(constants)}, {total}{where}")


def _needs(report: ArtifactReport) -> Iterator[str]:
    words = [f"{row.name} {row.needed}" for row in report.needs if row.name != "bytecode"]
    line = ""
    for word in words:
        if line and len(line) + len(word) > 84:
            yield f"{line},"
            line = ""
        line = f"{line}, {word}" if line else word
    if line:
        yield line


def _code(report: ArtifactReport) -> Iterator[str]:
    if report.texts:
        total = number_text(sum(text.size for text in report.texts), "bytes")
        yield _line("sources", f"{len(report.texts)}, {total}: .source(name)")
    if report.kernels:
        names = {row.name for row in report.kernels}
        words = f"{len(names)} for the GPU in {plural(len(report.kernels), 'configuration')}"
        yield _line("kernels", words)
    if report.libraries:
        machines = ", ".join(sorted({row.machine for row in report.libraries if row.machine}))
        exports = sum(row.exports for row in report.libraries)
        summary = f"{len(report.libraries)} for {machines}, {plural(exports, 'symbol')} exported"
        yield _line("libraries", summary)
    for row in report.libraries:
        if row.problem:
            yield _line("", f"{row.member}: {row.problem}")


def _imports(report: ArtifactReport) -> Iterator[str]:
    if not report.pickles:
        return
    count, unusual = len(report.imports), report.unusual
    yield _line("imports", f"{plural(count, 'name')}, {len(unusual)} unusual")
    worst = {
        row.name: row.level
        for row in reversed(report.names)
        if row.level != artifact_rows.LEVELS[2]
    }
    if report.is_own:
        return
    ordered = sorted(worst, key=lambda name: (artifact_rows.LEVELS.index(worst[name]), name))
    for name in ordered[:_SHOWN]:
        yield f"    {name}" + (" — RUNS COMMANDS" if worst[name] == artifact_rows.LEVELS[0] else "")
    if len(unusual) > _SHOWN:
        yield f"    … and {len(unusual) - _SHOWN} more: see .unusual"
    yield from (f"    {row.name}: {row.problem}" for row in report.pickled if row.problem)


def _members(report: ArtifactReport) -> Iterator[str]:
    if not report.members:
        return
    left = [member for member in report.members if member.state == artifact_rows.NOT_HASHED]
    words = f"{len(report.members)}"
    if left:
        total = number_text(sum(member.size for member in left), "bytes")
        words += f", {len(left)} not hashed ({total}): wb.inspect(path, verify=True)"
    yield _line("members", words)


WORKBENCH = "workbench"
_LOADING = ("numpy", "safetensors")  # what loading imports besides torch
_NEEDS_WORKBENCH = ("artifact", "package")
_FOR_CPP = ("package", "torch package")
_NAME = re.compile(r"[\w.-]+")
_LINKED = ("libtorch.so", "libtorch_cpu.so", "libc10.so")
"""What a program in C++ links of torch; what those need of its folder comes with them."""


@dataclass(frozen=True)
class DeploymentPart:
    """One part of a deployment: bytes on disk, None for what is not installed on this machine.

    `why` is "file", "torch", "required by" a distribution or library, or "loads the file".
    """

    name: str
    version: str
    why: str
    size: int | None


@dataclass(frozen=True, repr=False)
class Deployment:
    """A file and what has to be installed to run it, counted in bytes on this machine's disk.

    Python itself, the system's libraries and the model's own code are not among it.
    """

    parts: Sequence[DeploymentPart]

    @property
    def size(self) -> int:
        """Bytes of every part that is installed here, the file among them."""
        return sum(part.size or 0 for part in self.parts)

    def frame(self) -> pandas.DataFrame:
        """A row for each part."""
        return presenter().rows_frame(self.parts, DeploymentPart)

    def __repr__(self) -> str:
        """The total, then a line for each part."""
        lines = [f"Deployment({number_text(self.size, 'bytes')}, counted on this machine)"]
        for part in self.parts:
            size = "not here" if part.size is None else number_text(part.size, "bytes")
            lines.append(
                f"  {size:>9}  {' '.join(filter(None, (part.name, part.version)))} ({part.why})"
            )
        return "\n".join(lines)


def find_deployment(name: str, size: int, kind: str) -> Deployment:
    """What a file of this kind needs; takes about a second, since every installed file is asked.

    Files of this workbench need it with numpy and safetensors, those of torch only torch.
    """
    by_name: dict[str, DeploymentPart] = {}
    _add(by_name, "torch", "torch")
    own: list[DeploymentPart] = []
    if kind in _NEEDS_WORKBENCH:
        own.append(DeploymentPart(WORKBENCH, "", "loads the file", _workbench_size()))
        for required in _LOADING:
            _add(by_name, required, "loads the file")
    return Deployment((DeploymentPart(name, "", "file", size), *own, *by_name.values()))


def find_cpp_deployment(name: str, size: int, kind: str) -> Deployment:
    """What a program in C++ needs that runs a package: the shared libraries of torch, no Python.

    Raises `UsageError` for files that no program in C++ can load, and where torch is not installed.
    """
    if kind not in _FOR_CPP:
        raise UsageError(
            f"{name} is not a package, so only Python can load it. deployment() counts the "
            "packages that Python needs for it. For C++ programs, write a file with "
            "wb.package(model, args, path=…)."
        )
    installed = find_torch_folder()
    if installed is None:
        raise UsageError("torch is not installed here, so its libraries cannot be counted.")
    folder = installed / "lib"
    why = dict.fromkeys((one for one in _LINKED if (folder / one).is_file()), "torch")
    waiting = list(why)
    while waiting:
        library = waiting.pop()
        for needed in read_library_file(folder / library).needed:
            if needed not in why and (folder / needed).is_file():
                why[needed] = f"required by {library}"
                waiting.append(needed)
    parts = (DeploymentPart(n, "", w, (folder / n).stat().st_size) for n, w in why.items())
    return Deployment((DeploymentPart(name, "", "file", size), *parts))


def _add(by_name: dict[str, DeploymentPart], name: str, why: str) -> None:
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in by_name:
        return
    try:
        installed = distribution(name)
    except PackageNotFoundError:
        by_name[key] = DeploymentPart(name, "", why, None)
        return
    by_name[key] = DeploymentPart(name, installed.version, why, _size(installed))
    for required in _requirements(installed):
        _add(by_name, required, f"required by {name}")


def _requirements(installed: Distribution) -> Iterator[str]:
    """The names that it requires; one with a condition only where it is installed."""
    for words in installed.requires or ():
        requirement, _, condition = words.partition(";")
        name = _NAME.match(requirement)
        if name is None or "extra" in condition:
            continue
        if not condition or _is_installed(name[0]):
            yield name[0]


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _size(installed: Distribution) -> int | None:
    """The bytes of its files; None where no list of them was installed."""
    if installed.files is None:
        return None
    places = (Path(str(installed.locate_file(file))) for file in installed.files)
    return sum(place.stat().st_size for place in places if place.is_file())


def _workbench_size() -> int:
    """The bytes of this package, without compiled Python; a development install lists no files."""
    places = Path(__file__).parents[2].rglob("*")
    return sum(p.stat().st_size for p in places if p.is_file() and p.suffix != ".pyc")
