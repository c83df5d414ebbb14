"""Texts that other programs write beside traces and artifacts, known by how they begin."""

from __future__ import annotations

import re
import zlib
from typing import NamedTuple

HEAD = 4096
"""Bytes that tell what a file is, packed or not."""
_GZIP = 16 + zlib.MAX_WBITS
# torch's ExecutionTraceObserver writes "1.1.1-chakra.0.0.4"; a record's schema is a number
_EXECUTION_TRACE = re.compile(rb'"schema"\s*:\s*"[\d.]+')
# export_memory_timeline: [times, sizes] of *.json, [time, action, [key, version], bytes] of raw
_MEMORY_TIMELINE = re.compile(rb"\s*\[\s*\[\s*-?\d+\s*,\s*-?\d+")
_PAGE = re.compile(rb"[\xef\xbb\xbf\s]*<(?:!doctype\s+html|html|head|\?xml)\b", re.IGNORECASE)
_WRITE_TRACE = "write a trace that has times: prof.export_chrome_trace('trace.json.gz')."


class ForeignText(NamedTuple):
    """What a file is, and what can be done with it, each as a part of a sentence."""

    what: str
    how: str


def find_foreign_text(start: bytes) -> ForeignText | None:
    """What of other programs a file is that begins so; None where nothing is known."""
    if _PAGE.match(start):
        if b"Memory Timeline" in start:
            return ForeignText(
                "a torch.profiler memory timeline as an HTML page (an image without events)",
                f"open it in a browser. From the same profile, {_WRITE_TRACE}",
            )
        return ForeignText("an HTML page", "open it in a browser.")
    if _EXECUTION_TRACE.search(start):
        return ForeignText(
            "a torch execution trace (operators and their inputs, no times)",
            _WRITE_TRACE,
        )
    if _MEMORY_TIMELINE.match(start):
        return ForeignText(
            "a torch.profiler memory timeline (it has no events)",
            f"from the same profile, {_WRITE_TRACE}",
        )
    return None


def unpack_head(content: bytes) -> bytes:
    """The first bytes of a file, those of a compressed one unpacked; empty where it is damaged."""
    head = content[:HEAD]
    if not head.startswith(b"\x1f\x8b"):
        return head
    try:
        return zlib.decompressobj(_GZIP).decompress(head, HEAD)
    except zlib.error:
        return b""
