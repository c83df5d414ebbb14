from __future__ import annotations

import pytest

from workbench.tasks.background_task import Steps
from workbench.views.wire.report_messages import Progress
from workbench.views.words.progress_words import describe_phase, describe_progress

BEFORE = "compile aot_trace_joint_graph- compile_fx.<locals>.fw_compiler_base inductor_compile"
WRITTEN = f"{BEFORE} Scheduler.codegen K K Scheduler.codegen- PyCodeCache.load_by_key_path"
FORWARD = f"{WRITTEN} async_compile.precompile- async_compile.precompile"
ONE = "async_compile.precompile"
AFTER = (
    f"{FORWARD} {ONE}- PyCodeCache.load_by_key_path- inductor_compile- "
    "compile_fx.<locals>.fw_compiler_base- compile_fx.<locals>.bw_compiler inductor_compile"
)


def told(script: str) -> Progress:
    """What is known after steps begin, end (`name-`), and kernels are written (K)."""
    steps = Steps(lambda: None)
    for word in script.split():
        name = word.rstrip("-")
        if word == "K":
            steps.kernel("cpp_fused_add_0")
            continue
        known = steps.state()["steps"]
        if not any(step["name"] == name and step["duration_s"] is None for step in known):
            steps(name, 0.0)
        if word.endswith("-"):
            steps.end(name, 0.0)
    state = steps.state()
    return Progress(
        status="running",
        title="",
        elapsed_s=0.0,
        steps=state["steps"],
        kernels=state["kernels"],
        can_cancel=False,
        error=None,
    )


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("", "Starting the compiler…"),
        ("k0:h100", "k0:h100"),
        ("compile bytecode_tracing", "Reading your code"),
        (
            "compile create_aot_dispatcher_function aot_trace_joint_graph",
            "Tracing the backward pass",
        ),
        (BEFORE, "Forward: preparing the graph"),
        (f"{BEFORE} pass.post_grad_passes.stable_sort", "Forward: preparing the graph"),
        (f"{BEFORE} Scheduler.codegen K", "Forward: 1 kernel written"),
        (WRITTEN, "Forward: compiling 2 kernels"),
        (FORWARD, "Forward: 1 of 2 kernels compiled"),
        (f"{AFTER} Scheduler.codegen K K K", "Backward: 3 kernels written"),
        (
            f"{AFTER} Scheduler.codegen K K K Scheduler.codegen- async_compile.wait {ONE}",
            "Backward: 0 of 3 kernels compiled",
        ),
        ("compile inductor_compile GraphLowering.run", "Lowering the operators"),
        ("compile inductor_compile-", "Finishing"),
    ],
)
def test_what_runs_is_said_in_plain_words(script: str, words: str) -> None:
    assert describe_progress(told(script)) == words


def test_a_virtual_gpu_has_a_compiler_of_its_own() -> None:
    assert describe_progress(told(""), "h100") == "Starting the GPU compiler…"
    assert describe_progress(told(""), "cpu") == "Starting the compiler…"


def test_a_phase_is_named_in_words_where_there_are_some() -> None:
    assert describe_phase("CacheBase.get_system.triton_key") == "checking the cache"
    assert describe_phase("bytecode_tracing") == "reading your code"
    assert describe_phase("C++ build") == "C++ build"
    assert describe_phase("async_compile.precompile: triton_per_fused_0") == "compiling one kernel"


def test_a_count_stands_before_what_runs_inside_of_it() -> None:
    progress = told("starting")
    step = progress["steps"][0]
    step["name"], step["counted"] = "compiling 2 layers", "0 of 2 depths"
    assert describe_progress(progress) == "0 of 2 depths, compiling 2 layers"
    inner = told(FORWARD)["steps"]
    whole: Progress = {**told(FORWARD), "steps": [step, *inner]}
    words = "0 of 2 depths, forward: 1 of 2 kernels compiled"
    assert describe_progress(whole) == words


def test_a_phase_of_ours_begins_as_a_sentence() -> None:
    progress = told("k0")
    progress["steps"][0]["name"] = "comparing outputs"
    assert describe_progress(progress) == "Comparing outputs"
