"""The report of anything that has one: an object, or a file, from which nothing is executed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from workbench.artifacts.archive.aot_container import PROGRAM_RECORD, REPORT
from workbench.artifacts.archive.file_kinds import LOADABLE, OpenedFile, open_any, open_file
from workbench.artifacts.archive.package_container import REPORT_SUFFIX, decode_report
from workbench.artifacts.manifest.package_manifest import PackageManifest
from workbench.artifacts.zip_files.members import Members
from workbench.errors import ArtifactError, UsageError, WorkbenchError, describe_error
from workbench.report import Report
from workbench.report.program.program_record import ProgramRecord, require_program_records
from workbench.report.wbr_file import LARGEST, check_start
from workbench.worlds.world import list_worlds

_GZIP = b"\x1f\x8b"
PROGRAM_SUFFIX = ".wbs"
_WITH_PROGRAM = tuple(kind.suffix for kind in LOADABLE if kind.has_program)


def report_of(x: Any) -> Report:
    """The report itself, that in `.report`, or that in a `.wbr`, `.aot` or `.pt2` file.

    Raises `UsageError` for anything else and `ArtifactError` for a damaged file.
    """
    if isinstance(x, Report):
        return x
    if isinstance(x, str | os.PathLike):
        return report_in(x)
    report = getattr(x, "report", None)
    if callable(report):  # what inspect returned: it holds the reports of all models of a file
        report = report()
    if not isinstance(report, Report):
        raise UsageError(
            f"{type(x).__name__} is not a report and has no report in `.report`. Pass a result of "
            "aot_compile, package, load or inspect, a report, or the path of a .wbr, .aot or .pt2 "
            "file."
        )
    return report


def record_of(x: Any) -> Report | ProgramRecord:
    """The record of a program, also in `.session` and in files, else what `report_of` finds.

    The files are `.wbs` and `.aotv`; raises `UsageError` where nothing here reads such a record.
    """
    record = getattr(x, "session", x)
    if isinstance(record, ProgramRecord):
        return record
    if isinstance(x, str | os.PathLike):
        if os.fspath(x).endswith(PROGRAM_SUFFIX):
            return require_program_records(os.fspath(x)).load(x)
        if os.fspath(x).endswith(_WITH_PROGRAM):
            return read_variants_record(x)
    return report_of(x)


def read_record(path: str) -> Any:
    """What a world reads a file or folder as; None for what none of them reads.

    Raises `UsageError` where a world of another package fails to read it.
    """
    for world in reversed(list_worlds()):
        try:
            record = world.read_record(path)
        except Exception as error:
            if world.is_own or isinstance(error, WorkbenchError):
                raise
            why = f"The world {world.name} cannot read {path}: {describe_error(error)}."
            raise UsageError(why) from error
        if record is not None:
            return record
    return None


def read_variants_record(path: str | os.PathLike[str]) -> ProgramRecord:
    """How the code of an `.aotv` file was compiled; raises `ArtifactError` where it says nothing.

    Raises `UsageError` where nothing here reads such a record.
    """
    with open_any(path) as opened:
        artifact = opened.artifact
        if artifact is None or PROGRAM_RECORD not in artifact.entries:
            raise ArtifactError(f"{os.fspath(path)} was saved without a session.")
        _check_whole(opened, path)
        return require_program_records(os.fspath(path)).read(artifact.raw(PROGRAM_RECORD), path)


def report_in(path: str | os.PathLike[str]) -> Report:
    """The report in a file; nothing from the file is executed.

    Raises `ArtifactError` when the file is damaged or holds none, `UsageError` when it holds one
    for each of several models.
    """
    with open_file(path) as file:
        if file.read(2) == _GZIP:
            size = file.seek(0, os.SEEK_END)
            if size > LARGEST:
                raise ArtifactError(f"{os.fspath(path)} is too large for a report.")
            file.seek(0)
            check_start(file, size)
            file.seek(0)
            return Report.from_bytes(file.read())
    with open_any(path) as opened:
        if opened.artifact is not None:
            _check_whole(opened, path)
            return _member(opened.artifact, REPORT, path)
        manifest = None if opened.package is None else opened.package.manifest
        if opened.package is None or manifest is None:
            raise ArtifactError(
                f"{os.fspath(path)} was written by torch and has no report. Recompile with "
                "aot_compile or package, which store a report."
            )
        name = _only_report(manifest, path)
        _check_whole(opened, path)  # the last: it reads all bytes, however many there are
        return _member(opened.package, name, path)


def _check_whole(opened: OpenedFile, path: str | os.PathLike[str]) -> None:
    """Raise `ArtifactError` where a member was changed: the report may be of other code."""
    if damaged := opened.damaged():
        raise ArtifactError(
            f"{os.fspath(path)} is damaged: {damaged[0]} was changed. Get the file again."
        )


def _only_report(manifest: PackageManifest, path: str | os.PathLike[str]) -> str:
    members = {model.name: model.report for model in manifest.models if model.report}
    if len(members) > 1:
        raise UsageError(
            f"{os.fspath(path)} has several reports ({', '.join(members)}). Select one: "
            f"wb.inspect({os.fspath(path)!r}).report({next(iter(members))!r})."
        )
    return next(iter(members.values()), REPORT)


def _member(opened: Members, name: str, path: str | os.PathLike[str]) -> Report:
    if name not in opened.entries:
        raise ArtifactError(f"{os.fspath(path)} was saved without a report.")
    content = opened.raw(name)
    return Report.from_bytes(decode_report(content) if name.endswith(REPORT_SUFFIX) else content)


def name_compilations(a: Any, b: Any) -> tuple[str, str]:
    """What two compilations are called: by their files, else by what was compiled."""
    names = _name(a), _name(b)
    return names if names[0] != names[1] else ("a", "b")


def _name(x: Any) -> str:
    if isinstance(x, str | os.PathLike):
        return Path(x).name
    path = getattr(x, "path", None)
    if isinstance(path, str | os.PathLike):
        return Path(path).name
    return report_of(x).request.name or "compilation"
