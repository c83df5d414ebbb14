from __future__ import annotations

import contextlib
import hashlib
import logging
import re
import shutil
import threading
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import recording
import torch

import workbench as wb
from workbench.compiler.aot_files.writing.written_artifact import read_current_versions
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.recording.recorder import Recorder, read_environment
from workbench.report import Outcome, Report

COMMENT = re.compile(r"^\s*#.*$|\s+# \[Provenance.*$", re.MULTILINE)


def raw(name: tp.Name) -> Any:
    path, _, attribute = name.attribute.rpartition(".")
    holder = tp.Name(f"{name.module}:{path}", "").find()
    return vars(holder).get(attribute) if holder is not None and attribute else None


def everything_touched() -> dict[str, Any]:
    """Each private name as it is stored, the trace's handlers and the configs.

    Without the sizes that torch remembers: those of a compilation of the user's own stay.
    """
    sizes = (tp.SIZES_SEEN, tp.SIZES_FROM_CACHE)
    rows = [v for v in vars(tp).values() if isinstance(v, tp.Name | tuple) and v not in sizes]
    names = [n for row in rows for n in (row if isinstance(row, tuple) else (row,))]
    state: dict[str, Any] = {n.target: raw(n) for n in names if isinstance(n, tp.Name)}
    state["handlers"] = list(logging.getLogger("torch.__trace").handlers)
    for config in (tp.INDUCTOR_CONFIG, tp.FUNCTORCH_CONFIG, tp.DYNAMO_CONFIG):
        state[config.target] = str(config.get().get_config_copy())
    return state


def _raise(error: type[BaseException] | None) -> None:
    if error is not None:
        raise error


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_everything_is_undone(error: type[BaseException] | None) -> None:
    recording.record_function()
    before = everything_touched()
    expected = contextlib.nullcontext() if error is None else pytest.raises(error)
    with expected, Recorder():
        assert everything_touched() != before
        _raise(error)
    assert everything_touched() == before


def test_an_interrupt_in_the_middle_of_a_compilation() -> None:
    recording.record_function()
    before = everything_touched()

    def interrupted(module: Any, inputs: Any) -> Any:
        raise KeyboardInterrupt

    torch.compiler.reset()
    with pytest.raises(KeyboardInterrupt), Recorder() as recorder:
        torch.compile(recording.weighted, backend=interrupted)(torch.ones(2, 2), torch.ones(2, 2))
    assert everything_touched() == before
    assert [g.stage for g in recorder.report().graphs] == ["dynamo"]


def programs(run: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that a run generates, kernels in them, without torch's comments."""
    from torch._inductor.graph import GraphLowering

    found: list[str] = []
    monkeypatch.setattr(GraphLowering, "save_output_code", staticmethod(found.append))
    torch.compiler.reset()
    torch.manual_seed(0)
    run()
    return [COMMENT.sub("", text) for text in found]


def train() -> None:
    block = recording.Block()
    torch.compile(block)(torch.ones(4, 16, requires_grad=True)).sum().backward()


def function() -> None:
    torch.compile(recording.weighted)(torch.ones(8, 16), torch.ones(16, 16))


def with_capture(run: Callable[[], None]) -> Callable[[], None]:
    def recorded() -> None:
        with Recorder():
            run()

    return recorded


def without_capture(run: Callable[[], None]) -> Callable[[], None]:
    def plain() -> None:
        inductor, functorch = tp.INDUCTOR_CONFIG.get(), tp.FUNCTORCH_CONFIG.get()
        off = functorch.patch({"enable_autograd_cache": False})
        with inductor.patch({"fx_graph_cache": False}), off:
            run()

    return plain


def test_the_same_programs_with_and_without_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = programs(without_capture(train), monkeypatch)
    assert len(plain) == 2
    assert programs(with_capture(train), monkeypatch) == plain
    assert programs(with_capture(train), monkeypatch) == plain


def test_the_same_libraries_with_and_without_capture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch._inductor.codecache import CppCodeCache, CppPythonBindingsCodeCache

    folder = tmp_path / "cache"  # its path is in the libraries
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(folder))

    def libraries(run: Callable[[], None]) -> set[str]:
        for cache in (CppCodeCache, CppPythonBindingsCodeCache):  # else nothing is built again
            monkeypatch.setattr(cache, "cache", {})
        shutil.rmtree(folder, ignore_errors=True)
        programs(run, monkeypatch)
        return {hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.rglob("*.so")}

    plain = libraries(without_capture(function))
    assert plain
    assert libraries(with_capture(function)) == plain


def test_a_warm_cache_hides_nothing_at_full_and_is_named_at_light() -> None:
    recording.record_training("light")
    light, full = recording.record_training("light"), recording.record_training("full")
    assert len(full.fusion) > 0
    assert all(c.available for c in full.capabilities)
    lost = {c.name: c.reason for c in light.capabilities if not c.available}
    assert {"fusion", "scheduler_nodes", "graphs"} <= lost.keys()
    assert "cache" in (lost["fusion"] or "")
    assert [row.outcome for row in light.cache]
    assert light.wrappers[0].text is not None
    assert {kernel.name for kernel in light.kernels} <= {kernel.name for kernel in full.kernels}


def test_two_compilations_at_once_do_not_mix() -> None:
    def sine(x: torch.Tensor) -> torch.Tensor:
        return x.sin() + 1

    def cosine(x: torch.Tensor) -> torch.Tensor:
        return x.cos() * 2

    reports: dict[str, Report] = {}
    start = threading.Barrier(2)

    def record(fn: Callable[..., Any]) -> None:
        with Recorder() as recorder:
            start.wait()
            torch.compile(fn, backend="aot_eager")(torch.ones(3))
        reports[fn.__name__] = recorder.report()

    torch.compiler.reset()
    threads = [threading.Thread(target=record, args=(fn,)) for fn in (sine, cosine)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, own, other in (("sine", "sin", "cos"), ("cosine", "cos", "sin")):
        targets = {node.target.split(".")[-1] for node in reports[name].nodes}
        targets |= {node.name for node in reports[name].nodes}
        assert own in targets
        assert other not in targets
        assert [s.name for s in reports[name].sources] == [name]


def test_the_report_of_a_failed_compilation() -> None:
    def fails(module: Any, inputs: Any) -> Any:
        raise RuntimeError("no backend")

    torch.compiler.reset()
    with pytest.raises(Exception, match="no backend"), Recorder() as recorder:
        torch.compile(recording.weighted, backend=fails)(torch.ones(2, 2), torch.ones(2, 2))
    report = recorder.report(Outcome(ok=False, step="backend", error="no backend"))
    assert repr(report) == "Report(?, host, failed in backend, 0 kernels, 0 breaks, 0 guards)"
    assert [graph.stage for graph in report.graphs] == ["dynamo"]
    assert report.phases[0].name == "compile"


def test_progress_is_told_at_the_start_of_each_phase() -> None:
    torch.compiler.reset()
    seen: list[tuple[str, float]] = []
    recorder = Recorder()
    recorder.tell(lambda name, elapsed: seen.append((name, elapsed)))
    with recorder:
        torch.compile(recording.weighted, backend="eager")(torch.ones(2, 2), torch.ones(2, 2))
    assert seen[0][0] == "compile"
    assert "bytecode_tracing" in [name for name, _ in seen]
    assert [elapsed for _, elapsed in seen] == sorted(elapsed for _, elapsed in seen)


def test_a_hook_that_torch_has_not_costs_its_pane(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tp, "CAN_FUSE", tp.Name("torch._inductor.scheduler:Scheduler.gone", "x"))
    torch.compiler.reset()
    with Recorder() as recorder:
        torch.compile(recording.weighted, backend="eager")(torch.ones(2, 2), torch.ones(2, 2))
    report = recorder.report()
    assert report.why_missing("fusion") == (
        "this torch has no torch._inductor.scheduler.Scheduler.gone"
    )
    assert report.why_missing("graphs") is None


def test_kinds_of_records_that_nobody_asked_for_are_counted(trained: Report) -> None:
    assert trained.extra["other_records"]["compilation_metrics"] >= 1


def test_the_report_survives_a_file(trained: Report, tmp_path: Path) -> None:
    trained.save(tmp_path / "r.wbr")
    again = Report.load(tmp_path / "r.wbr")
    for name in trained.tables:
        assert list(again.tables[name]) == list(trained.tables[name])
    assert repr(again) == repr(trained)


def test_a_thread_that_builds_is_followed_only_while_it_does() -> None:
    from torch._inductor.async_compile import AsyncCompile

    torch.compiler.reset()
    with Recorder() as recorder:
        threads = recorder._patches.threads
        seen = AsyncCompile.submit(lambda: threading.get_ident() in threads).result()
        assert seen
        assert threads == {threading.get_ident()}


def test_a_checkout_that_is_not_installed_has_its_version_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def find_none(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", find_none)
    assert read_environment().workbench == wb.__version__
    assert read_current_versions().workbench == wb.__version__
