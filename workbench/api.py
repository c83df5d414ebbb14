"""What the user calls; wires the rooms together and holds no logic of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from os import PathLike
from typing import TYPE_CHECKING, Any

from workbench.analysis.goals import OBJECTIVES as OBJECTIVES
from workbench.analysis.goals import STRATEGIES as STRATEGIES
from workbench.compiler.request import GUARD_POLICIES as GUARD_POLICIES
from workbench.compiler.request import MODES as MODES
from workbench.compiler.request import TARGETS as TARGETS
from workbench.errors import UsageError

if TYPE_CHECKING:
    import pandas

    from workbench.artifacts.check import Check
    from workbench.artifacts.machine import Machine
    from workbench.artifacts.xray import ArtifactReport
    from workbench.compiler.compiled import Compiled
    from workbench.compiler.explain import Explanation
    from workbench.compiler.job import Job
    from workbench.compiler.running.package import Package
    from workbench.compiler.targets.background import ElsewhereJob
    from workbench.compiler.targets.elsewhere import CompiledElsewhere
    from workbench.compiler.trace_logs.reading import Trace
    from workbench.compiler.verify import Verification
    from workbench.compiler.warm_up import WarmUp
    from workbench.report.cache_keys import WhyRecompiled
    from workbench.report.diff import Diff
    from workbench.report.matrix import Matrix
    from workbench.report.profile import Profile
    from workbench.report.roundtrip import RoundTrip
    from workbench.report.sweep import Sweep
    from workbench.report.trials import Trial

Progress = Callable[[str, float], None]


def aot_compile(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    grad: bool | None = None,
    target: str = "host",
    guards: str | Callable[..., Any] = "portable",
    capture: str = "full",
    progress: Progress | None = None,
) -> Compiled | CompiledElsewhere:
    """Compile a function or module ahead of time for these example inputs.

    Parameters
    ----------
    fn
        A function, closure, lambda, bound method, functools.partial, callable object or nn.Module;
        what torch.compile returned is unwrapped.
    args, kwargs
        Example inputs; they fix shapes, dtypes and devices of later calls.
    backend, mode, options
        As in torch.compile; mode and options may be given together, an option wins.
    dynamic_shapes
        As in torch.export.export: Dims by parameter name or position, nested as the inputs are.
    grad
        None compiles for the current grad mode, True or False for that one; with False a call
        switches gradients off by itself.
    target
        "host" (wherever the inputs are), "cpu", "cuda", or a GPU that is not there by its name
        in `targets()`, such as "h100": inputs and parameters stay where they are, the report has
        the code and resources of every kernel, and what is returned cannot be called.
    guards
        "portable" drops and reports what a file cannot hold, "strict" refuses it; a filter
        function of torch.compiler is accepted.
    capture
        "full" records every step; "light" keeps torch's caches on and records less.
    progress
        Called with the name of each phase and the seconds since the start. Where it has methods,
        `end(name, seconds)` hears of the end of a phase and `kernel(name)` of each kernel. On an
        interrupt the record of what was done is the `report` attribute of the KeyboardInterrupt.

    Raises
    ------
    UsageError
        The request cannot be: wrong inputs, unknown option or mode.
    CaptureError
        The compilation failed; `error.report` holds the record until then.
    """
    from workbench.compiler.request import Options
    from workbench.compiler.targets.anywhere import compile_anywhere

    request = Options(
        backend=backend,
        mode=mode,
        options=dict(options or {}),
        dynamic_shapes=dynamic_shapes,
        grad=grad,
        target=target,
        guards=guards,
        capture=capture,
    )
    return compile_anywhere(fn, args, kwargs, request, progress)


def compile_async(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    grad: bool | None = None,
    target: str = "host",
    guards: str | Callable[..., Any] = "portable",
    capture: str = "full",
) -> Job | ElsewhereJob:
    """Compile in a worker process; the arguments are those of `aot_compile`.

    Returns at once. The job has `.progress`, `.cancel()`, `.result(timeout=None)`, `.done()` and
    can be awaited; its result is called on the live module, whose weights stay where they are, or
    for a virtual GPU looked at, as that of `aot_compile`.

    Raises
    ------
    UsageError
        The request cannot be, or something cannot be sent to another process: which one is named.
    """
    from workbench.compiler.background import compile_in_background
    from workbench.compiler.request import Options

    request = Options(
        backend=backend,
        mode=mode,
        options=dict(options or {}),
        dynamic_shapes=dynamic_shapes,
        grad=grad,
        target=target,
        guards=guards,
        capture=capture,
    )
    return compile_in_background(fn, args, kwargs, request)


def package(
    model: Any,
    args: Any,
    kwargs: Any = None,
    *,
    path: str | PathLike[str],
    dynamic_shapes: Any = None,
    options: Mapping[str, Any] | None = None,
    mode: str | Mapping[str, str] | None = None,
    weights: str | Mapping[str, str] = "inside",
    capture: str = "full",
    progress: Progress | None = None,
) -> Package:
    """Export a model, compile it with AOTInductor and write a `.pt2` package.

    The file is torch's own archive: `torch._inductor.aoti_load_package` and C++ load it too. The
    report, the input contract and what the library needs travel in it.

    Parameters
    ----------
    model
        A module, or a function of tensors. Several go into one file as a mapping by name; `args`,
        `kwargs` and `dynamic_shapes` are then mappings by the same names, `options`, `mode` and
        `weights` one value for all or a mapping.
    args, kwargs
        Example inputs, as in torch.export.export.
    path
        The file to write, ending in `.pt2`; it appears whole or not at all.
    dynamic_shapes
        As in torch.export.export.
    options, mode
        Of Inductor, as in torch.compile; they may be given together, an option wins.
    weights
        "inside" the library; "beside" it, mapped from the file without a copy; "later": none are
        in the file, `update_weights` gives them before the first call.
    capture
        "full" records every step in the report; "light" keeps torch's caches on and records less.
    progress
        Called with the name of each phase and the seconds since the start.

    Raises
    ------
    UsageError
        The request cannot be: inputs that do not fit, an unknown option, mode or model name.
    CaptureError
        The model cannot be exported or compiled; the message has the line, the reason and the
        cure, `error.report` the record until then.
    ArtifactError
        The file cannot be written.
    """
    from workbench.compiler.packaging.request import read_requests
    from workbench.compiler.packaging.writing import write_package
    from workbench.compiler.running.package import load_package

    requests = read_requests(
        model,
        args,
        kwargs,
        dynamic_shapes=dynamic_shapes,
        options=options,
        mode=mode,
        weights=weights,
        capture=capture,
    )
    manifest = write_package(requests, path, progress=progress)
    made = load_package(path, trust=manifest.digest)
    made.originals.update({request.name: request.model for request in requests})
    return made


def aotinductor_names() -> pandas.DataFrame:
    """How articles write AOTInductor, and what that is in torch now: a row per way of writing.

    Columns: `written`, `language` (Python, C++ or option), `verdict` (works, renamed, different or
    gone), `instead` (what to write with torch), `here` (what to write with this package), `why`,
    and `holds`: whether the installed torch is as the row says.
    """
    from workbench.compiler.packaging.aotinductor_names import names_frame

    return names_frame()


def explain(
    fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None
) -> Explanation:
    """Find every graph break of a function and of what it calls; this runs the function."""
    from workbench.compiler.explain import explain as run

    return run(fn, args, dict(kwargs or {}))


def verify(
    x: Compiled | CompiledElsewhere,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    reference: Callable[..., Any] | None = None,
    per_kernel: bool = False,
    float64: bool = False,
    rtol: float | None = None,
    atol: float | None = None,
) -> Verification:
    """Compare compiled code with the original on copies of these inputs.

    What was compiled for a virtual GPU is run as a whole on the CPU, its kernels by Triton's
    interpreter.

    Parameters
    ----------
    reference
        What to compare with, in place of the original.
    per_kernel
        Compare after every kernel with the captured graph, so that the first wrong one is named.
    float64
        Compare with the captured graph in double precision.
    rtol, atol
        In place of the tolerance of each dtype; without an atol that of a virtual GPU grows with
        the root mean square of the value, where that is above 1.

    Raises
    ------
    UsageError
        There is nothing to compare with, or no numbers to compute with.
    """
    from workbench.compiler.targets.elsewhere import CompiledElsewhere
    from workbench.compiler.verify import refuse_for_host
    from workbench.compiler.verify import verify as run

    if isinstance(x, CompiledElsewhere):
        from workbench.compiler.interpreter.checking import Tolerance
        from workbench.compiler.interpreter.verifying import Question, verify_program

        asked = Question(
            tuple(args), dict(kwargs or {}), reference, per_kernel, float64, Tolerance(rtol, atol)
        )
        return verify_program(x.program, x.original, asked)
    refuse_for_host(per_kernel=per_kernel, float64=float64)
    return run(x, args, kwargs, reference=reference, rtol=rtol, atol=atol)


def profile(
    x: Compiled | CompiledElsewhere, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None
) -> Profile:
    """Measure every kernel and library call of the unchanged generated code."""
    from workbench.compiler.profile import profile_compiled
    from workbench.compiler.targets.elsewhere import CompiledElsewhere

    if isinstance(x, CompiledElsewhere):
        x.profile(*args)
    return profile_compiled(x, args, dict(kwargs or {}))


def matrix(
    x: Any,
    args: tuple[Any, ...] | None = None,
    *,
    targets: Sequence[str],
    configs: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Matrix:
    """Compile every Triton kernel for several GPUs, none of which has to be here, and compare.

    What is compared is one source: the kernels as they were generated for the target of the
    compilation. A kernel that cannot be compiled for a GPU has a note there.

    Parameters
    ----------
    x
        What `aot_compile` returned for a GPU, a report of it, or a function or module, which is
        compiled for the first target. Of a report the TTIR is compiled, never its source.
    args
        The example inputs of a function.
    targets
        Names of GPUs in `targets()`.
    configs
        Which configuration is compared, by kernel: `{"k0": "k0:c1"}`; the first by default.
    progress
        Called with what was just compiled and the seconds since the start.

    Raises
    ------
    UsageError
        A target does not exist, or there is no Triton kernel; the message says what to do.
    """
    from workbench.compiler.targets.matrix import compare

    return compare(x, args, targets, configs=configs, progress=progress)


def load(
    path: str | PathLike[str],
    *,
    module: Any | None = None,
    external_data: Mapping[str, Any] | None = None,
    f_globals: Mapping[str, Any] | None = None,
    trust: bool | str = False,
    num_runners: int = 1,
    check: bool = True,
) -> Compiled | Package:
    """Open an `.aot` or `.pt2` file, or what torch's own functions wrote, ready to be called.

    A `.pt2` goes straight to its compiled code: no compiler is imported, looked for or run.

    Parameters
    ----------
    module
        The module (or other object) that an `.aot` file is called on, when its weights are not in
        the file; one on the meta device is filled from bundled weights. For a `.pt2` the module or
        state_dict whose weights replace those of the file.
    external_data
        For `.aot`: objects that were left out when saving, under the same names.
    f_globals
        For `.aot`: the globals that the original function would see here.
    trust
        True runs a file that nobody vouched for, with a warning; `"sha256:…"` vouches for exactly
        one content.
    num_runners
        For `.pt2`: how many calls run at once, from several threads; more wait for their turn.
    check
        False gives up the comparison of each call with the input contract. It saves less than a
        microsecond for each tensor; wrong shapes, strides, dtypes or devices then give wrong
        numbers, or read and write memory that is not theirs.

    Raises
    ------
    ArtifactError
        The file is damaged, foreign or does not fit this machine.
    TrustError
        The file was made elsewhere and nobody vouched for it.
    UsageError
        An argument belongs to the other kind of file.
    """
    from workbench.compiler.running.package import is_package, load_package

    if is_package(path):
        _only_for(".aot", external_data=external_data, f_globals=f_globals)
        return load_package(path, module=module, trust=trust, num_runners=num_runners, check=check)
    from workbench.compiler.files import load_compiled

    _only_for(".pt2", num_runners=None if num_runners == 1 else num_runners)
    compiled = load_compiled(
        path, module=module, external_data=external_data, f_globals=f_globals, trust=trust
    )
    if not check:
        compiled.disable_guard_check()
    return compiled


def _only_for(kind: str, **given: Any) -> None:
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise UsageError(f"{named[0]} is for {kind} files: leave it out for this one.")


def inspect(path: str | PathLike[str], *, verify: bool = False) -> ArtifactReport:
    """Look inside a file of any kind; nothing from it is executed.

    Members with sizes, inputs and outputs, constants, guards kept and dropped, what it needs of a
    machine, sources, sections and symbols of libraries, names that its pickles import: each is a
    table, `inspect(path).frame("members")`.

    Parameters
    ----------
    path
        An `.aot` or `.pt2` file of this workbench, or what torch's `save_compiled_function`,
        `aoti_compile_and_package` or `torch.export.save` wrote.
    verify
        Compare every byte with its hash; without it members beyond 64 MiB, the smallest first,
        are said to be "not hashed".

    Raises
    ------
    ArtifactError
        The file is missing, of another kind, or its frame is damaged.
    """
    from workbench.artifacts.xray import inspect as run

    return run(path, verify=verify)


def check(path: str | PathLike[str], machine: Any = None) -> Check:
    """Compare what a file needs with a machine: each requirement pass, warn or fail.

    Takes every kind of file that `inspect` takes; nothing from it is executed.

    Parameters
    ----------
    machine
        None for this machine, or a description of another: what `machine()` returned there, a
        dict with some of its fields, or the path of a JSON file that
        `python -m workbench.machine > target.json` wrote.
    """
    from workbench.artifacts.check import check as run

    return run(path, machine)


def machine() -> Machine:
    """What matters about this machine for artifacts, as data that can be written as JSON.

    Imports no torch and starts no GPU.
    """
    from workbench.artifacts.machine import described_machine

    return described_machine()


def trust(path: str | PathLike[str]) -> str:
    """Vouch for a file on this account and return its digest; look at `inspect(path)` first."""
    from workbench.artifacts.trust import trust as run

    return run(path)


def sign(path: str | PathLike[str], key: Any, *, password: str | None = None) -> str:
    """Sign an `.aot` file or a package with a team's ed25519 key and return its digest.

    The signature is added to the manifest in place; everything else in the file, and its digest,
    stay as they are. A pair of keys is made with::

        openssl genpkey -algorithm ed25519 -out team.pem
        openssl pkey -in team.pem -pubout -out team.pub.pem

    Parameters
    ----------
    key
        The path of the private key in PEM form, or an `Ed25519PrivateKey` of `cryptography`.
    password
        What the private key is encrypted with.

    Raises
    ------
    UsageError
        The key cannot be read, or the file has no manifest because torch itself wrote it.
    ArtifactError
        The file is damaged or cannot be written.
    """
    from workbench.artifacts.signing import sign as run

    return run(path, key, password=password)


def trust_key(key: Any, *, name: str | None = None, revoke: bool = False) -> str:
    """Trust what the owner of an ed25519 key signs, on this account; returns the key as a word.

    A policy file can demand a signature, or forbid `trust=True`: `policy.toml` in the data folder
    (`~/.local/share/aot-workbench`, or `$AOT_WORKBENCH_DATA`), or the file that
    `$AOT_WORKBENCH_POLICY` names. It beats whatever `load` is given::

        signed_by = ["release.pub.pem", "ed25519:9c0e…", "user"]
        forbid_trust_true = true

    Parameters
    ----------
    key
        A public key: the path of a PEM file, its text, `"ed25519:…"` as returned here, or an
        `Ed25519PublicKey` of `cryptography`.
    name
        What `inspect` and errors call the key; the name of the file unless given.
    revoke
        Trust the key no longer, also where a policy names it; `key` may be its name.

    Raises
    ------
    UsageError
        It is no public key, or another key has that name.
    """
    from workbench.artifacts.trust import trust_key as run

    return run(key, name=name, revoke=revoke)


def roundtrip(
    x: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    ways: Sequence[str] | None = None,
    reference: Callable[..., Any] | None = None,
    model: str | None = None,
    progress: Progress | None = None,
) -> RoundTrip:
    """Save, load in a fresh process, call, and compare with eager: times of every phase.

    Each way runs the same call in a process of its own, one after the other, with an empty cache
    folder. An interrupt ends the process that runs and removes every file.

    Parameters
    ----------
    x
        What `aot_compile`, `package` or `load` returned.
    args, kwargs
        The inputs of the call; they are copied into every process.
    ways
        Some of "eager", "compile_cold" (torch.compile with an empty cache), "compile_warm" (again,
        with the cache that a process before it has filled), "torch" (torch's own loader of the
        same file) and "ours"; all by default. Those that compile take 10 to 20 seconds each.
    reference
        What to compare with and to run as eager, in place of the original.
    model
        Which model is called, of several in a package.
    progress
        Called with each way and the seconds since the start.

    Raises
    ------
    UsageError
        The inputs cannot be sent to another process; a way that cannot be gone says why in `.ways`.
    ArtifactError
        It cannot be saved.
    """
    from workbench.compiler.roundtrip.trip import roundtrip as run

    return run(x, args, kwargs, ways=ways, reference=reference, model=model, progress=progress)


def recompile(path: str | PathLike[str], module: Any | None = None) -> Compiled | CompiledElsewhere:
    """Compile again, on this torch, what the file was made from: for the same target."""
    from workbench.compiler.files import recompile as run

    return run(path, module)


def why_recompiled(a: Any, b: Any) -> WhyRecompiled:
    """Why torch's cache had no code for the second compilation, though it had for the first.

    Compares the keys of the FX graph cache part by part: graph, inputs, constants, options, torch,
    device. The result is a sentence; `.table` has every part.

    Parameters
    ----------
    a, b
        What `aot_compile`, `package` or `load` returned, a report, or the path of an `.aot`,
        `.pt2` or `.wbr` file, also of another machine; nothing from it is executed.

    Raises
    ------
    UsageError
        One of them holds no record of a cache key.
    """
    from workbench.analysis.cache_keys import why_recompiled as run
    from workbench.artifacts.report_in import names_of, report_of

    return run(report_of(a), report_of(b), names_of(a, b))


def warm_up() -> WarmUp:
    """Fill the compiler's cache in the background, so that the first compilation is short."""
    from workbench.compiler.warm_up import warm_in_background

    return warm_in_background()


def target_names() -> list[str]:
    """The names of the virtual GPUs, those that the user described included."""
    from workbench.settings import Settings
    from workbench.specs import Catalogue

    return [gpu.name for gpu in Catalogue.of_user(Settings.from_environment().data_folder)]


def targets(name: str | None = None) -> pandas.DataFrame:
    """The GPUs that can be a target, a row for each; of one GPU, each number with its source.

    Own GPUs are tables in `*.toml` or `*.json` files of the folder `gpus` in the data folder
    (`~/.local/share/aot-workbench`, or `$AOT_WORKBENCH_DATA`), for example::

        [h100-half]
        base = "h100"
        sms = [66, "half of an H100"]
    """
    from workbench.settings import Settings
    from workbench.specs import Catalogue
    from workbench.views.targets import target_frame, targets_frame

    gpus = Catalogue.of_user(Settings.from_environment().data_folder)
    return targets_frame(gpus) if name is None else target_frame(gpus[name])


def sweep(
    fn: Callable[..., Any],
    args: tuple[Any, ...] | Callable[..., tuple[Any, ...]],
    kwargs: Mapping[str, Any] | None = None,
    *,
    over: Mapping[str, Sequence[Any]],
    executor: Executor | None = None,
    store: str | PathLike[str] | None = None,
    strategy: str = "grid",
    objective: str = "latency",
    trials: int | None = None,
    seconds: float | None = None,
    jobs: int | None = None,
    timeout_s: float = 600.0,
    memory_bytes: int | None = None,
    compile_only: bool = False,
    spread: float = 0.01,
    measure_s: float = 3.0,
    rtol: float | None = None,
    atol: float | None = None,
    progress: Callable[[Trial, bool], None] | None = None,
) -> Sweep:
    """Compile and measure a function under many settings.

    Each setting is compiled in a process of its own, compared with eager, and timed in turn with
    the original; one that fails, crashes, hangs or fills memory is a row with its reason. What was
    measured before, of the same code on the same machine, comes from the store.

    Parameters
    ----------
    args
        The example inputs, or a function that makes them of the sizes in `over`, such as
        `lambda batch: (torch.randn(batch, 64),)`.
    over
        The values of each axis: `mode`, `backend`, `dtype`, `threads`, `dynamic` (True, False),
        `target` (names in `targets()`: figures of a model in place of times), an option of
        Inductor by its name, or a size that `args` takes.
    executor
        Where trials run: any concurrent.futures.Executor, such as Dask's `client.get_executor()`;
        by default this machine.
    store
        An SQLite file, by default in the user's cache folder.
    strategy, objective, trials, seconds
        "grid" tries everything; "random", "halving" and "tpe" (by Optuna) look for what is best
        for "latency", "throughput", "first_call" or "memory", within a budget of trials or seconds.
    jobs
        How many trials run at a time; compilations do so, measurements wait for each other.
    timeout_s, memory_bytes
        What one trial may take.
    compile_only
        Run nothing: compile times, kernels and traffic alone.
    spread, measure_s
        Measure until half of the 95 % interval is this share of the median, or for so many seconds.
    rtol, atol
        The tolerance against eager, in place of that of the dtype.
    progress
        Called with each row, and whether it came from the store.

    Raises
    ------
    UsageError
        An axis or a value is unknown; the nearest match is named.
    KeyboardInterrupt
        On an interrupt; what is done is its attribute `sweep`, and in the store.
    """
    from workbench.sweeps.entry import Wanted, run_sweep
    from workbench.sweeps.measuring import Patience
    from workbench.sweeps.strategies import Budget, Search
    from workbench.sweeps.trial_run import Plan

    workers = jobs or (1 if executor is None else 4)
    return run_sweep(
        fn,
        args,
        kwargs,
        Wanted(
            over=over,
            executor=executor,
            store=store,
            search=Search(strategy, Budget(trials, seconds), objective, workers),
            jobs=jobs,
            plan=Plan(
                Patience(spread, measure_s), timeout_s, memory_bytes, compile_only, rtol, atol
            ),
            on_trial=progress,
        ),
    )


def diff(a: Any, b: Any, *, names: tuple[str, str] | None = None) -> Diff:
    """Compare two compilations: what was asked for, graphs, guards, fusion, kernels, traffic.

    Graphs are matched by structure and shapes, kernels by what they compute. The result prints
    what matters most first; it has `.frame(part)`, `.source(kernel)` and `.to_html(path)`.

    Parameters
    ----------
    a, b
        What `aot_compile`, `package`, `load`, `inspect` or `explain` returned, a report, or the
        path of a `.wbr`, `.aot` or `.pt2` file, of which nothing is executed. What `profile`
        returned has measured times of kernels to compare as well.
    names
        What the two are called; by default their files or what was compiled.

    Raises
    ------
    UsageError
        One of them has no report.
    ArtifactError
        A file is damaged, or holds no report.
    """
    from workbench.analysis.diff import compare
    from workbench.artifacts.report_in import names_of, report_of

    return compare(report_of(a), report_of(b), names or names_of(a, b))


def read_trace(path: str | PathLike[str]) -> Trace:
    """Read what torch wrote under `TORCH_TRACE`: one log, or a folder with those of processes.

    The result is a report: graphs of every stage with their nodes, breaks, guards, recompilations,
    kernels, phases, cache answers, failures. Its capabilities say what a log cannot tell. Of
    several logs it holds everything, compile ids and threads named after the log; `.logs` has the
    report of each alone, such as `.logs["rank 0"]`, ready to be compared with `diff`. Kinds of
    records that are not known are in `.extra["unknown_records"]`; what was passed over in a
    damaged log is counted in the notes of the request. Texts are checked against the digests in
    their records, timers and other small records are not. Torch is not imported.

    Parameters
    ----------
    path
        A `*.log` or `*.log.gz` file, or a folder of them.

    Raises
    ------
    UsageError
        There is no log, or it cannot be read.
    """
    from workbench.compiler.trace_logs.reading import read_trace as run

    return run(path)


def show(x: Any) -> Any:
    """What a notebook displays for a compilation, an explanation, a report or a diff."""
    from workbench.report.diff import Diff
    from workbench.views.display import show as run

    return x if isinstance(x, Diff) else run(x)
