"""What a running compilation does, in plain words with counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from workbench.device_kinds import TARGETS
from workbench.number_text import plural
from workbench.report import Report
from workbench.views.wire.report_messages import Progress, StepState

_READING: Final = "Reading your code"
_TRACING: Final = "Tracing the operators"
_PREPARING: Final = "preparing the graph"
_CACHE: Final = "checking the cache"
_FUSING: Final = "choosing what to fuse"
_WRITING: Final = "writing kernels"
_COMPILING: Final = "compiling"
_WORDS: Mapping[str, str] = {
    "starting a worker": "Starting the compiler…",
    "compile": _READING,
    "compile_attempt_0": _READING,
    "bytecode_tracing": _READING,
    "create_aot_dispatcher_function": _TRACING,
    "aot_collect_metadata": _TRACING,
    "aot_trace_joint_graph": "Tracing the backward pass",
    "_recursive_pre_grad_passes": "Simplifying the graph",
    "_recursive_joint_graph_passes": "Simplifying the graph",
    "min_cut_rematerialization_partition": "Choosing activations to save",
    "inductor_compile": _PREPARING,
    "_recursive_post_grad_passes": _PREPARING,
    "inductor_codecache_torch_key": _CACHE,
    "CacheBase.get_system.triton_key": _CACHE,
    "GraphLowering.run": "lowering the operators",
    "Scheduler.__init__": _FUSING,
    "Scheduler.codegen": _WRITING,
    "PyCodeCache.load_by_key_path": _COMPILING,
    "async_compile.wait": _COMPILING,
}
"""By torch's name of a phase; those that begin in lower case are of one pass."""
_PLAIN: Mapping[str, str] = {
    "_compile.compile_inner": _READING,
    "additional_fake_tensor_prop": "propagating shapes",
    "build_guards": "building the guards",
    "code_gen": _WRITING,
    "codegen_and_compile": _PREPARING,
    "compile_file": "compiling C++",
    "FxGraphCache.load": _CACHE,
    "TritonBundler.collect": "bundling Triton's binaries",
    "gc": "collecting garbage",
    "pgo.dynamic_whitelist": "looking up sizes that changed earlier",
    "FxGraphHasher": _CACHE,
    "GraphLowering.codegen": _WRITING,
    "insert_deferred_runtime_asserts": "inserting size checks",
    "PythonWrapperCodegen.generate": "writing the wrapper",
    "Scheduler.fused_nodes": _FUSING,
}
"""Of phases that are too short to be told as they run."""
_AROUND: Mapping[str, str] = {
    "compile": "the whole compilation",
    "dynamo": "Dynamo, one function",
    "entire_frame_compile": "tracing and compiling one function",
    "fullgraph_capture": "tracing one full graph",
    "backend_compile": "the backend",
    "create_aot_dispatcher_function": "AOTAutograd and the backend",
    "compile_fx.<locals>.fw_compiler_base": "compiling the forward pass",
    "compile_fx.<locals>.bw_compiler": "compiling the backward pass",
    "inductor_compile": "Inductor",
    "fx_codegen_and_compile": "Inductor, after a cache miss",
    "GraphLowering.compile_to_fn": "writing and compiling",
}
"""Phases that are told by what lies inside of them."""
_WAITING = ("compile_file", "PyCodeCache.load_by_key_path", "async_compile.wait")
_ATTEMPT: Final = "compile_attempt_"
_FORWARD: Final = "compile_fx.<locals>.fw_compiler_base"
_BACKWARD: Final = "compile_fx.<locals>.bw_compiler"
_JOINT: Final = "aot_trace_joint_graph"
_ONE_KERNEL: Final = "async_compile.precompile"


def describe_start(target: str | None) -> str:
    """What is said before the first phase."""
    is_virtual = target not in (None, *TARGETS)
    return f"Starting the {'GPU ' if is_virtual else ''}compiler…"


def describe_phase(name: str) -> str:
    """What a phase does, within a sentence; one that has no words of ours as torch calls it."""
    if name.startswith(_ONE_KERNEL):  # behind it stands the kernel's name, of any length
        return "compiling one kernel"
    if name.startswith("build: "):
        return "building one kernel"
    if name.startswith("pass."):
        return f"graph pass: {name.rpartition('.')[2].replace('_', ' ')}"
    if name.startswith(_ATTEMPT):  # it starts again where a break was found
        return f"{_READING[0].lower()}{_READING[1:]}"
    words = (_WORDS.get(name) or _PLAIN.get(name, "")).rstrip("…")
    return f"{words[0].lower()}{words[1:]}" if words else name


def name_phases(report: Report) -> list[str]:
    """What each phase is in a list of all, where each lies inside of another.

    Where worker threads run the compiler, the thread that compiles waits for it.
    """
    kernels = {kernel.name: kernel.id for kernel in report.kernels}
    threads = report.phases.columns.get("thread", ())
    compiler = find_compiler(report) if len(set(threads)) > 1 else None
    names = []
    for phase in report.phases:
        work, _, of = phase.name.partition(": ")
        if of in kernels:
            doing = "compiling" if work == _ONE_KERNEL else "building"
            names.append(f"{doing} {kernels[of]}")
        elif compiler is not None and phase.thread == threads[0] and phase.name in _WAITING:
            names.append(f"waiting for {compiler}")
        else:
            names.append(_AROUND.get(phase.name) or describe_phase(phase.name))
    return names


def find_compiler(report: Report) -> str | None:
    """The program that compiles the kernels; None where there are none or several."""
    languages = {kernel.language for kernel in report.kernels} - {"extern"}
    names = {"cpp": "g++", "triton": "Triton's compiler"}
    return names.get(languages.pop()) if len(languages) == 1 else None


def name_own_work(name: str, compiler: str | None) -> str:
    """What a phase does outside of the phases in it; `compiler` is the program it waits for."""
    if compiler is not None and name in _WAITING:
        return f"waiting for {compiler}"
    if name.startswith(_ONE_KERNEL):
        return "compiling the kernels"
    return "other work" if name in _AROUND else describe_phase(name)


def find_longest_work(report: Report) -> tuple[str, float]:
    """What most of the time of compiling went into, and its seconds.

    Of the thread that compiled: what others do at the same time is not added. `report` has phases.
    """
    phases, compiler = list(report.phases), find_compiler(report)
    by_words: dict[str, float] = defaultdict(float)
    for phase in phases:
        if phase.thread == phases[0].thread:
            by_words[name_own_work(phase.name, compiler)] += phase.self_s
    words, seconds = max(by_words.items(), key=lambda part: part[1])
    return ("compiling the kernels" if words == "compiling" else words), seconds


def describe_progress(progress: Progress, target: str | None = None) -> str:
    """What runs now: `Forward: 9 of 16 kernels compiled`.

    A phase that has no words of ours is called as torch calls it. A count of what a phase works
    through stands first: `0 of 2 depths, reading your code`.
    """
    steps = progress["steps"]
    counted = [at for at, step in enumerate(steps) if _is_running(step) and "counted" in step]
    if not counted:
        return _describe(progress, target)
    at = counted[-1]
    inner: Progress = {**progress, "steps": steps[at + 1 :]}
    is_parted = any(_is_running(step) for step in inner["steps"])
    now = _describe(inner, target) if is_parted else describe_phase(steps[at]["name"])
    return f"{steps[at]['counted']}, {now[:1].lower()}{now[1:]}"


def _describe(progress: Progress, target: str | None) -> str:
    """What the innermost running phase does."""
    steps = progress["steps"]
    running = [step["name"] for step in steps if step["duration_s"] is None]
    if not steps:
        return describe_start(target)
    if not running or (running == ["compile"] and _has(steps, "inductor_compile")):
        return "Finishing"
    words = next((_WORDS[name] for name in reversed(running) if name in _WORDS), None)
    if words is None:
        return _sentence(running[-1]) if " " in running[-1] else running[-1]
    if words in (_WRITING, _COMPILING):
        words = _kernel_words(progress, words)
    if words in _WORDS.values() and not words[0].islower():
        return words
    side = _pass(steps)
    return f"{side}: {words}" if side else _sentence(words)


def _is_running(step: StepState) -> bool:
    return step["duration_s"] is None


def _sentence(words: str) -> str:
    """The same as the beginning of a sentence."""
    return f"{words[:1].upper()}{words[1:]}"


def _kernel_words(progress: Progress, words: str) -> str:
    """How many kernels are written or compiled, of the pass that is at work."""
    steps = progress["steps"]
    begins = [at for at, step in enumerate(steps) if step["name"] in (_FORWARD, _BACKWARD)]
    own = steps[begins[-1] :] if begins else steps
    count = len(progress["kernels"]) - own[0].get("kernels", 0)
    if words == _WRITING:
        return f"{plural(count, 'kernel')} written" if count else words
    done = [step for step in own if step["name"].startswith(_ONE_KERNEL)]
    if done:
        ended = sum(step["duration_s"] is not None for step in done)
        return f"{ended} of {plural(max(count, len(done)), 'kernel')} compiled"
    return f"compiling {plural(count, 'kernel')}" if count else "building the program"


def _pass(steps: Sequence[StepState]) -> str:
    """Which pass is compiled; nothing where there is one only."""
    if not _has(steps, _JOINT):
        return ""
    return "Backward" if _has(steps, _BACKWARD) else "Forward"


def _has(steps: Sequence[StepState], name: str) -> bool:
    return any(step["name"] == name for step in steps)
