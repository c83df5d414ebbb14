"""A generated program is shown without the folders of the machine that compiled it."""

from __future__ import annotations

from workbench.report import Report, Table, TextWriter, Wrapper
from workbench.views.parts.report_parts import build_wrapper_part

PROGRAM = "import torch\n\n# kernel path: /tmp/cache_of_somebody/ab/cabc.py\n# Topologically Sorted"


def test_a_kernel_keeps_the_name_of_its_file_only() -> None:
    texts = TextWriter()
    wrapper = Wrapper("w0", "i0", False, texts.add(PROGRAM))
    report = Report(tables={"wrappers": Table.of(Wrapper, [wrapper])}, texts=texts.finish())
    part = build_wrapper_part(report, "w0")
    assert part["text"].split("\n")[2] == "# kernel path: cabc.py"
    assert len(part["kernels"]) == 4
