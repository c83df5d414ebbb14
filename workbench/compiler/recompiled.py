"""The records behind what the user asks to compare."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path
from typing import Any

from workbench.analysis import cache_keys
from workbench.artifacts import package_report
from workbench.artifacts.container import REPORT
from workbench.artifacts.opening import open_any
from workbench.errors import ArtifactError, UsageError
from workbench.report import Report
from workbench.report.cache_keys import WhyRecompiled
from workbench.report.storage import from_bytes


def why_recompiled(a: Any, b: Any) -> WhyRecompiled:
    """Compare the cache keys of two compilations; see `workbench.why_recompiled`."""
    records = report_of(a), report_of(b)
    names = _name(a, records[0]), _name(b, records[1])
    if names[0] == names[1]:
        names = (f"{names[0]} (first)", f"{names[1]} (second)")
    return cache_keys.why_recompiled(*records, names)


def report_of(x: Any) -> Report:
    """The record of a compilation: a report, what has one, or a file that holds one."""
    if isinstance(x, Report):
        return x
    if isinstance(x, (str, PathLike)):
        return _stored(x)
    report = getattr(x, "report", None)
    if isinstance(report, Report):
        return report
    raise UsageError(
        f"{type(x).__name__} is no compilation: give what aot_compile, package or load returned, "
        "a report, or the path of an .aot, .pt2 or .wbr file."
    )


def _stored(path: str | PathLike[str]) -> Report:
    if Path(path).suffix == ".wbr":
        return Report.load(path)
    with open_any(path) as opened:
        package = opened.package
        stored = None if package is None else package.manifest
        members = opened.artifact or package
        name = REPORT if stored is None else stored.model().report
        if members is None or name is None or name not in members.entries:
            raise UsageError(f"{os.fspath(path)} holds no record of its compilation.")
        if not members.is_whole(name):
            raise ArtifactError(f"{os.fspath(path)} is damaged: {name} was changed.")
        content = members.raw(name)
        return from_bytes(content if stored is None else package_report.decode(content))


def _name(x: Any, report: Report) -> str:
    if isinstance(x, (str, PathLike)):
        return os.path.basename(os.fspath(x))
    return report.request.name or "the compilation"
