"""A report as the content of a `.wbr` file."""

from __future__ import annotations

from workbench.report.record import Report
from workbench.report.wbr_file import read_bytes, write_bytes


def to_bytes(report: Report) -> bytes:
    """The content of a `.wbr` file; any gzip tool shows it as lines of JSON."""
    return write_bytes(report.to_json())


def from_bytes(content: bytes) -> Report:
    """Read what `to_bytes` wrote; raises `ArtifactError` when it cannot."""
    return Report(**read_bytes(content))
