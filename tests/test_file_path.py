"""A path is text or a pathlib.Path; anything else is named, wherever a file is asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from log_readers import LOG_READERS
from sample_report import make

import workbench as wb
from workbench.file_path import check_file_path


def test_text_and_paths_are_paths() -> None:
    assert (
        check_file_path("a.aot")
        == check_file_path(Path("a.aot"))
        == check_file_path(b"a.aot")
        == "a.aot"
    )


@pytest.mark.parametrize(
    "call",
    [
        wb.load,
        wb.inspect,
        wb.check,
        wb.trust,
        *LOG_READERS,
        wb.recompile,
        wb.Report.load,
        wb.Sweep.load,
        make().save,
        make().to_html,
    ],
)
def test_every_way_to_a_file_names_what_is_none(call: Callable[[Any], Any]) -> None:
    with pytest.raises(wb.UsageError, match="of type float: expected a str"):
        call(3.5)
