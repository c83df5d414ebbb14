from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from workbench.compiler.recording.recorder import Recorder
from workbench.report import Report

SCALE = 2.0


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * SCALE


def recorded(globals_of: dict[str, bool] | None = None) -> Report:
    torch.compiler.reset()
    with Recorder() as recorder:

        def keep(entries: Sequence[Any]) -> list[bool]:
            if globals_of is not None:
                globals_of.update({str(one.orig_guard.name): one.is_global for one in entries})
            kept = [not entry.is_global for entry in entries]
            whys = [None if k else "reached through a global" for k in kept]
            recorder.guards.note(entries, kept, whys)
            return kept

        torch.compile(scaled, backend="eager", options={"guard_filter_fn": keep})(torch.ones(3))
    return recorder.report()


def test_kept_and_dropped_guards_with_the_reason() -> None:
    report = recorded()
    dropped = [guard for guard in report.guards if not guard.kept]
    assert {guard.source for guard in dropped} >= {"G['SCALE']"}
    assert all(guard.why_dropped == "reached through a global" for guard in dropped)
    (tensor,) = [guard for guard in report.guards if guard.kind == "TENSOR_MATCH"]
    assert (tensor.kept, tensor.source, tensor.is_global) == (True, "L['x']", False)
    assert tensor.line == scaled.__code__.co_firstlineno + 1


def test_a_row_is_global_where_torch_says_so() -> None:
    globals_of: dict[str, bool] = {}
    rows = {guard.source: guard.is_global for guard in recorded(globals_of).guards}
    assert rows == globals_of
    assert set(rows.values()) == {True, False}


def test_no_identity_of_an_object_is_in_the_report(trained: Report) -> None:
    for guard in (*recorded().guards, *trained.guards):
        for code in guard.code:
            assert not any(part.isdigit() and len(part) > 8 for part in code.split())


def test_without_a_filter_dynamo_s_own_guards_are_kept(trained: Report) -> None:
    assert len(trained.guards) > 5
    assert all(guard.kept for guard in trained.guards)
    assert any(guard.is_global for guard in trained.guards)
