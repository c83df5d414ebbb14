from __future__ import annotations

from pathlib import Path

import workbench as wb
from tests.worlds.profiles.reading.synthetic_trace import SyntheticTrace


def test_what_ran_on_a_stream_is_counted_in_words(tmp_path: Path) -> None:
    trace = SyntheticTrace()
    for at in (10.0, 30.0):
        trace.launch("gemm", at - 5, at, 10.0)
    trace.launch("softmax", 50.0, 60.0, 10.0, stream=9)
    streams = wb.read_profile(trace.write(tmp_path / "trace.json")).tables["streams"]
    assert [row.kinds for row in streams] == ["2 kernels", "1 kernel"]
