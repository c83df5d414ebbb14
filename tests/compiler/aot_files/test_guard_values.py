"""Whatever a program holds beside its tensors, its file can be loaded."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import fresh_process
import pytest
import torch

import workbench as wb
from tests import saved_kinds

FEW = (
    "held: an event",
    "read: an entry beside a lock",
    "read: a local function",
    "an unread dtype",
)
REST = tuple(name for name in saved_kinds.samples() if name not in FEW)


@pytest.mark.parametrize(
    "names", [FEW, pytest.param(REST, marks=pytest.mark.slow)], ids=["few", "rest"]
)
def test_a_fresh_process_loads_what_holds_or_reads_any_kind_of_value(
    names: tuple[str, ...], tmp_path: Path
) -> None:
    for name in names:
        function, args = saved_kinds.samples()[name]
        compiled = wb.aot_compile(function, args, backend="eager", grad=False)
        with warnings.catch_warnings():  # what the module cannot be stored with is handed over
            warnings.simplefilter("ignore")
            compiled.save(saved_kinds.file_of(tmp_path, name))
    found = json.loads(fresh_process.run_fresh(tmp_path, "tests.saved_kinds", str(tmp_path)))
    assert found == dict.fromkeys(names, "ok")


def test_what_is_read_is_still_checked_after_loading(tmp_path: Path) -> None:
    read = saved_kinds.Reader({"k": 2.0, "lock": None}, saved_kinds.times_entry)
    held = saved_kinds.Reader(saved_kinds.Restoring(), saved_kinds.times_k)
    for module, change in (
        (read, lambda m: m.value.update(k=3.0)),
        (held, lambda m: setattr(m.value, "k", 3.0)),
    ):
        path = tmp_path / "a.aot"
        wb.aot_compile(module, (saved_kinds.X,), backend="eager", grad=False).save(path)
        loaded = wb.load(path, module=module)
        assert torch.equal(loaded(saved_kinds.X), module(saved_kinds.X))
        change(module)
        with pytest.raises(wb.ContractError, match=r"2\.0"):
            loaded(saved_kinds.X)
