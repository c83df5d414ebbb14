"""A process that has not asked yet loads what was compiled by one that had."""

from __future__ import annotations

import json
from pathlib import Path

import fresh_process

import workbench as wb
from tests import late_samples as samples


def test_what_is_set_when_first_asked_is_asked_for(tmp_path: Path) -> None:
    for function in (*samples.ALL, samples.by_what_is_other_here):
        function(samples.X)
        compiled = wb.aot_compile(function, (samples.X,), backend="eager", grad=False)
        compiled.save(tmp_path / f"{function.__name__}.aot")
    found = json.loads(fresh_process.run_fresh(tmp_path, "tests.late_samples", str(tmp_path)))
    changed = found.pop("changed: by_method"), found.pop("changed: by_what_is_other_here")
    for said, name in zip(changed, ("FLAGS._ok", "OTHER.available"), strict=True):
        assert f"{name} (global of tests.late_samples): compiled with True, now False" in said
    assert found == {function.__name__: True for function in samples.ALL}
