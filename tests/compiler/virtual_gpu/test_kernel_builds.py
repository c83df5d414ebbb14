"""What takes too long is told while it is still compiled; the others are done meanwhile."""

from __future__ import annotations

from threading import Event
from typing import Any
from unittest.mock import Mock

import pytest

from tests.compiler.virtual_gpu.gpus import H100
from workbench.compiler.virtual_gpu import kernel_builds
from workbench.compiler.virtual_gpu.kernel_builds import build_job
from workbench.compiler.virtual_gpu.kernel_choice import Build, BuildJob, Built
from workbench.processes.shipping.caller_context import CallerContext


def test_one_that_takes_too_long_is_told_and_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = Event()  # what the end of the process is to the one that hangs

    def compile_one(build: Build, _sources: Any) -> Built:
        if build.id == "slow":
            ended.wait()
        return Built(build.id, None, note="wrong" if build.id == "wrong" else None)

    told: dict[str, Built] = {}

    def hear(built: Any) -> None:
        told[built.id] = built
        if built.is_late:
            ended.set()

    monkeypatch.setattr(kernel_builds, "_built", compile_one)
    builds = tuple(Build(id, "k", H100, is_ttir=False) for id in ("slow", "wrong", "good"))
    build_job(BuildJob(builds, CallerContext.current(), limit_s=0.05), hear)
    assert told["slow"].note == "compiling takes longer than 50.0 ms."
    assert [id for id, built in told.items() if built.is_late] == ["slow"]
    assert told["wrong"].note == "wrong"
    assert "good" in told


def test_code_is_disassembled_for_many_kernels_in_one_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    starts: list[int] = []
    monkeypatch.setattr(
        kernel_builds, "inspect_cubins", lambda cubins: starts.append(len([*cubins]))
    )
    monkeypatch.setattr(
        kernel_builds, "_read", lambda build, *_: Built(build.id, None, note="read")
    )

    def compile_one(build: Build, _sources: Any) -> Any:
        if build.id == "wrong":
            return Built(build.id, None, note="wrong")
        return kernel_builds._Unread(build, Mock(binary=b""), None)

    monkeypatch.setattr(kernel_builds, "_built", compile_one)
    names = [*map(str, range(39)), "wrong"]
    builds = tuple(Build(id, "k", H100, is_ttir=False) for id in names)
    told: list[Built] = []
    build_job(BuildJob(builds, CallerContext.current(), at_once=1), told.append)
    assert sorted(built.id for built in told) == sorted(names)
    assert {built.note for built in told} == {"read", "wrong"}
    assert sum(starts) == 39
    assert len(starts) <= 3


def test_what_waits_to_be_disassembled_is_told_before_one_that_is_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever hears of a late one ends the process: the others would be compiled again."""
    ended = Event()
    monkeypatch.setattr(kernel_builds, "inspect_cubins", lambda cubins: None)
    monkeypatch.setattr(kernel_builds, "_read", lambda build, *_: Built(build.id, Mock()))

    def compile_one(build: Build, _sources: Any) -> Any:
        if build.id.startswith("slow"):
            ended.wait()
        return kernel_builds._Unread(build, Mock(binary=b""), None)

    told: list[str] = []

    def hear(built: Any) -> None:
        told.append(built.id)
        if built.is_late:
            ended.set()

    monkeypatch.setattr(kernel_builds, "_built", compile_one)
    builds = tuple(Build(id, "k", H100, is_ttir=False) for id in ("slow", "good", "fine"))
    build_job(BuildJob(builds, CallerContext.current(), at_once=2, limit_s=0.5), hear)
    assert told.index("slow") == 2
