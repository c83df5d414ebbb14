"""Tries configurations of a hand-written kernel for GPUs that need not be here.

Each is compiled in the worker, as a launch would have it, and judged and ordered by
`handles.kernels.config_search`. `rank_call` keeps the same answer in the kernel's record.
"""

from __future__ import annotations

import copy
import math
import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from math import ceil, prod
from os import PathLike
from typing import Any

from workbench.analysis.kernel_configs.config_space import Config, explain_wide_grid
from workbench.analysis.kernel_configs.config_space import space as make_inductor_space
from workbench.analysis.kernel_configs.triton_source import TritonSource, read_source
from workbench.analysis.kernel_time.kernel_time import Division, LoopLaunch
from workbench.analysis.library_kernels.operator_work import Work
from workbench.analysis.product_configs.user_product import (
    check_sizes,
    describe_product,
    explain_no_step,
    read_prior,
    read_sizes,
)
from workbench.analysis.tuning.candidate import (
    NO_PROGRAM,
    NOT_COMPILED,
    RANKED,
    TOO_WIDE,
    WRONG,
    Candidate,
    list_rows,
    rank_candidates,
)
from workbench.analysis.tuning.spaces import (
    KINDS,
    STAGES,
    WARPS,
    is_block,
    is_group,
    make_grid,
    make_standard,
)
from workbench.analysis.tuning.tuned import GIVEN, PUBLISHED, RankedConfigs, Tuned, TunedCase
from workbench.arguments import check_executor, submit
from workbench.artifacts.trials.store import Store, store_path
from workbench.compiler.internals.triton_functions import is_autotuner
from workbench.compiler.kernels.helion_kernels import HELION
from workbench.compiler.kernels.kernel_call import (
    EmptyGrid,
    KernelCall,
    list_defaults,
    list_options,
)
from workbench.compiler.kernels.kernel_variants import (
    Variant,
    describe_assumed,
    make_variant,
    prune_configs,
    read_config,
)
from workbench.compiler.request.compile_request import list_known_gpus
from workbench.compiler.virtual_gpu.client import (
    CrossCompiler,
    build_all,
    build_here,
    keep_warm_worker,
)
from workbench.compiler.virtual_gpu.kernel_choice import Build, Built
from workbench.errors import UsageError
from workbench.handles.kernels.config_search import (
    Described,
    describe_loop,
    judge_built,
    order_candidates,
)
from workbench.handles.kernels.ranked import keep_ranked
from workbench.number_text import plural
from workbench.report import Report
from workbench.report.machine_rows import Resources
from workbench.specs import Gpu
from workbench.tasks.progress_events import ProgressCallback, step, tell_count
from workbench.worlds.own_kernels.handles.compiling import make_build
from workbench.worlds.own_kernels.handles.kernel_report import KERNEL
from workbench.worlds.own_kernels.handles.stored_builds import StoredBuilds

_DOT = re.compile(r"\b(?:tl|language|gl)\.dot\w*\(|\bwgmma\w*\(|\btcgen05_mma\w*\(")
_REDUCTION = re.compile(r"\.(?:sum|max|min|reduce|argmax|argmin|cumsum|associative_scan)\(")
_LOOP = re.compile(r"^\s*(?:for|while)\b", re.MULTILINE)
_SCALE = re.compile(r"scale", re.IGNORECASE)
_EXPERTS = "product of experts"
_GENERATED = ("pointwise", "reduction", "persistent_reduction")
_UNCHECKED = "not checked: "
_LAUNCH = (WARPS, STAGES)
_AT_FIRST, _AT_ONCE = 2, 16  # builds between two looks at the clock
_HANDED = 4  # builds that an executor is given together
_NO_MODEL = (
    "the kernel's work is not modelled: configurations ordered by spills, occupancy and registers"
)
_NO_BLOCK = (
    "No parameter name looks like a block size, so the trip count of the kernel's loop is unknown. "
    "Configurations are ordered by spills, occupancy and registers."
)


Check = Callable[[KernelCall], tuple[bool | None, str]]
"""Whether a call is right, None where that was not judged, and what was found, in words."""
CHECKED = 5
"""Configurations of a case after which those that follow are left unchecked."""


@dataclass(frozen=True)
class _Try:
    """One configuration for one GPU and size, and what it is compiled with."""

    gpu: Gpu
    sizes: Mapping[str, int]
    variant: Variant
    numbers: Mapping[str, int]  # arguments that are not those of the call
    candidate: Candidate
    grid: int | None = None
    against: tuple[str, str] | None = None  # verdict and reason that need no compiler


def tune(
    call: KernelCall,
    gpus: Sequence[Gpu],
    *,
    sizes: Any = None,
    space: Any = None,
    budget: float | None = None,
    prior: Any = None,
    check: Check | None = None,
    time_limit: float = math.inf,
    executor: Executor | None = None,
    store: str | PathLike[str] | None = None,
    progress: ProgressCallback | None = None,
    worker: CrossCompiler | None = None,
) -> Tuned:
    """Compile the configurations of a kernel for every GPU and size, and rank each case.

    See `OwnKernel.tune`. With `check` the first of each case are checked until `CHECKED` of them
    are left. Raises `UsageError` for what is no size, space or budget.
    """
    check_executor(executor)
    kind = find_kind(call)
    if prior is not None and not kind.startswith("product"):
        raise UsageError(f"prior is for GEMMs, and {call.name} is not one: omit it.")
    cases = list(_read_cases(call, sizes, kind))
    if kind.startswith("product") and any("E" in case for case in cases):
        kind = _EXPERTS
    budget = _check_budget(budget)
    places = [(gpu, case) for gpu in gpus for case in cases]
    spaces = [_make_space(_size_call(call, case), space, kind) for _, case in places]
    if budget is not None and (space is not None or not call.configs):
        for configs in spaces:
            random.Random(0).shuffle(configs)  # what a budget leaves out is anywhere in the space
    tries: dict[int, list[_Try]] = {}
    for place, (each, configs) in enumerate(zip(places, spaces, strict=True)):
        # what differs by options of another kind of GPU alone is one configuration
        made_once = {
            one.candidate.key: one for one in map(partial(_make_try, call, *each), configs)
        }
        tries[place] = list(made_once.values())
    # the first configuration of every case, then the second: a budget leaves none out
    order = [one for row in zip_longest(*tries.values()) for one in row if one is not None]
    with Store(store or store_path()) as opened:
        builds = _Builds(
            call,
            worker or keep_warm_worker(),
            progress,
            StoredBuilds(call, opened, with_loop="product" in kind, executor=executor),
            limit_s=time_limit,
        )
        builds.run(order, budget)
    made = []
    for place, (gpu, case) in enumerate(places):
        judged = _judge_case(
            call, gpu, case, tries[place], builds, prior, is_product="product" in kind
        )
        if check is not None:
            hooked = {
                one.candidate.key: one.variant.config
                for one in tries[place]
                if getattr(one.variant.config, "pre_hook", None)
            }
            judged = _discard_wrong(call, judged, check, hooked)
        made.append(TunedCase(gpu, case, tuple(judged)))
    remarks = [*builds.list_remarks(), *_list_dropped(order), *_list_remarks(call, made, budget)]
    if space is None and (pruned := len(call.configs) * len(places) - sum(map(len, spaces))) > 0:
        whole = plural(len(call.configs) * len(places), "configuration")
        remarks.append(f"The autotuner's early_config_prune removes {pruned} of {whole}.")
    return Tuned(
        call.name,
        kind,
        tuple(made),
        tuple(remarks),
        generated=call.generated,
        from_store=len(builds.known),
        winners=PUBLISHED if prior is None else GIVEN,
    )


_ALL_ONCE = "assumes that every tensor is moved once; k.check counts the actual traffic"


def rank_call(
    report: Report,
    call: KernelCall,
    gpu: Gpu,
    configs: Iterable[Any] | None,
    sizes: Mapping[str, int],
    progress: ProgressCallback | None = None,
) -> RankedConfigs:
    """The configurations that are given, or those of the autotuner, tuned for one GPU and size.

    The record has them in its table `ranked_configs`. Raises `UsageError` without configurations.
    """
    given = None if configs is None else list(configs)
    if not given and not call.configs:
        raise UsageError(
            f"{call.name} has no autotuner: give the configurations to rank, as in "
            '`k.rank_configs([{"BLOCK": 128, "num_warps": 4}, …])`.'
        )
    if sizes and not find_kind(call).startswith("product"):
        raise UsageError(f"sizes are for GEMMs, and {call.name} has no tl.dot: omit them.")
    for config in given or ():
        make_variant(call, gpu.kind.build, config)  # raises for a name that the kernel lacks
    tuned = tune(call, [gpu], sizes=sizes or None, space=given or None, progress=progress)
    remark = "" if call.recorded is not None else _ALL_ONCE
    (case,) = tuned.cases
    is_product = tuned.kind.startswith("product")
    rows = list_rows(case.candidates, KERNEL, gpu.name, "" if is_product else remark)
    return keep_ranked(report, KERNEL, gpu.name, rows)


def _list_dropped(tries: Iterable[_Try]) -> Iterator[str]:
    """Options that a GPU of this kind does not have, once for each GPU."""
    dropped: dict[str, dict[str, None]] = {}
    for one in tries:
        dropped.setdefault(one.gpu.title, {}).update(dict.fromkeys(one.variant.dropped))
    for title, names in dropped.items():
        if names:
            yield f"{', '.join(names)}: not an option on {title}, ignored."


def _list_remarks(
    call: KernelCall, cases: Sequence[TunedCase], budget: float | None
) -> Iterator[str]:
    whole = [each for case in cases for each in case.candidates]
    unjudged = [each.reason or "" for each in whole if (each.reason or "").startswith(_UNCHECKED)]
    if unjudged:
        many = plural(len(unjudged), "configuration")
        why = unjudged[0].removeprefix(_UNCHECKED)
        yield f"{many} at the top of the ranking could not be checked: {why}"
    left = sum(each.verdict == NOT_COMPILED for each in whole)
    if left:
        many = plural(len(whole), "configuration")
        yield f"{left} of {many} were not compiled: budget={budget}."
    sizes = {tuple(pair for pair in each.values if is_block(pair[0])) for each in whole}
    if len(sizes) > 1 and not callable(call.grid):
        yield (
            f"The grid {tuple(call.grid)} does not follow the block size: give a function, such as "
            "`grid=lambda meta: (triton.cdiv(n, meta['BLOCK']),)`."
        )


def find_kind(call: KernelCall) -> str:
    """What the model takes a kernel for, by what Inductor says of it or its source calls."""
    if (source := _read_generated(call)) is not None:
        return source.kind.removeprefix("persistent_")
    text = str(call.jit.src)
    if _DOT.search(text):
        return "product with scales" if any(map(_SCALE.search, call.arguments)) else "product"
    return "reduction" if _REDUCTION.search(text) else "pointwise"


def _read_cases(call: KernelCall, sizes: Any, kind: str) -> Iterator[dict[str, int]]:
    """The sizes of each case: those of the call, with what is given; M alone may be a number."""
    values = {**call.arguments, **call.meta}
    own = read_sizes({name: value for name, value in values.items() if type(value) is int})
    if sizes is None:
        yield own if kind.startswith("product") else {}
        return
    if not kind.startswith("product"):
        raise UsageError(
            f"{call.name} is not a GEMM, and sizes are for GEMMs: create a wb.kernel for each "
            "size, and tune each one."
        )
    given = [sizes] if isinstance(sizes, Mapping | int) else sizes
    if isinstance(given, str) or not isinstance(given, Iterable) or not (given := list(given)):
        raise UsageError(
            f"{call.name}: sizes is {sizes!r:.60}. Give row counts, such as [1, 64, 4096]."
        )
    seen: list[dict[str, int]] = []
    for each in given:
        case = {**own, **(each if isinstance(each, Mapping) else {"M": each})}
        check_sizes(case)
        if case not in seen:
            seen.append(case)
            yield case


def _make_space(call: KernelCall, space: Any, kind: str) -> list[Any]:
    known = [*call.constants, *list_options()]
    if space is None and call.configs:
        return make_grid(call.name, prune_configs(call), known)
    made = None
    if space is not None and not isinstance(space, str):
        made = make_grid(call.name, space, known)
    keeps_blocks = made is not None and not any(
        {*read_config(each)} & {*call.constants} for each in made
    )
    if call.name.startswith(HELION) and not keeps_blocks:
        raise UsageError(
            f"Helion writes the blocks of {call.name} into its code, with matching grid and masks. "
            'Give `space={"num_warps": [4, 8]}` to tune the rest, or one '
            "wb.kernel(fn, *args, config=helion.Config(…)) for each choice of blocks."
        )
    if made is not None:
        return made
    usual = "product with scales" if kind == _EXPERTS else kind
    if (space or usual) not in KINDS:
        raise UsageError(f"space is {space!r}: the standard spaces are {', '.join(KINDS)}.")
    if space is None and (source := _read_generated(call)) is not None:
        blocks = tuple((name, call.meta[name]) for name in source.parameters)
        own = Config(blocks, int(call.meta[WARPS]), int(call.meta[STAGES]))
        return [
            {**dict(each.sizes), WARPS: each.warps, STAGES: each.stages}
            for each in make_inductor_space(source, [own])
        ]
    return make_standard(call.name, space or usual, call.constants, call.meta)


def _read_generated(call: KernelCall) -> TritonSource | None:
    """What Inductor says of a kernel that it generated for loops and reductions."""
    for text in call.generated.values():
        source = read_source(text)
        if source.kind in _GENERATED:
            return source
    return None


def _check_budget(budget: float | None) -> float | None:
    if budget is None or budget == math.inf:
        return None
    if isinstance(budget, bool) or not isinstance(budget, int | float) or budget <= 0:
        raise UsageError(
            f"budget is {budget!r}: expected a number of configurations such as 50, or seconds "
            "such as 60.0."
        )
    return budget


def _size_call(call: KernelCall, case: Mapping[str, int]) -> KernelCall:
    """The call with the sizes of a case where its arguments or constants have their names."""
    numbers = {name: size for name, size in case.items() if type(call.arguments.get(name)) is int}
    constants = {name: size for name, size in case.items() if name in call.constants}
    return replace(call, arguments={**call.arguments, **numbers}, meta={**call.meta, **constants})


def _make_try(call: KernelCall, gpu: Gpu, case: Mapping[str, int], config: Any) -> _Try:
    """A configuration, a `triton.Config` or values by name, with the sizes of a case."""
    sized = _size_call(call, case)
    numbers = {name: v for name, v in sized.arguments.items() if name in case and type(v) is int}
    variant = make_variant(sized, gpu.kind.build, config)
    meta, usual = {**variant.constants, **variant.options}, list_defaults(gpu.kind.build)
    given = read_config(config)
    own = getattr(config, "kwargs", given)  # triton.Config sets others by itself, such as num_ctas
    names = [
        *(name for name in given if name in own or meta.get(name) != usual.get(name)),
        *(name for name in call.constants if is_group(name) and name not in given),
    ]
    values = tuple((name, meta[name]) for name in names if name in meta and name not in _LAUNCH)
    warps, stages = (int(meta.get(name, usual[name])) for name in _LAUNCH)
    candidate = Candidate(values, warps, stages)
    made = _Try(gpu, case, variant, numbers, candidate)
    if "M" in case and (why := explain_no_step(_describe(sized, variant), case, candidate.config)):
        return replace(made, against=(WRONG, why))
    try:
        grid = sized.resolve_grid(meta)
    except EmptyGrid as error:
        return replace(made, against=(NO_PROGRAM, str(error).partition(": ")[2]))
    why = explain_wide_grid(grid, gpu)
    return replace(made, grid=prod(grid), against=None if why is None else (TOO_WIDE, why))


class _Builds:
    """What the compiler made of configurations, each compiled once for all cases it serves."""

    def __init__(
        self,
        call: KernelCall,
        worker: CrossCompiler,
        progress: ProgressCallback | None,
        stored: StoredBuilds,
        *,
        limit_s: float,
    ) -> None:
        self._call = call
        self._worker = worker
        self._progress = progress
        self._stored = stored
        self._limit_s = limit_s
        self._built: dict[Any, Built] = {}
        self.known: set[Any] = set()  # what came from the store

    def find(self, one: _Try) -> Built | None:
        """What was made of a configuration; None where the budget left it out."""
        return self._built.get(_identify(one))

    def run(self, tries: Iterable[_Try], budget: float | None) -> None:
        """Compile until all are, or the budget is used up: a number of them, or seconds.

        What the store has counts in a number and takes no seconds.
        """
        first: dict[Any, _Try] = {}
        for one in tries:
            if one.against is None:
                first.setdefault(_identify(one), one)
        keys = list(first)[: budget if isinstance(budget, int) else None]
        rows = {key: self._stored.name_build(first[key].gpu, first[key].variant) for key in keys}
        self._built |= self._stored.find(rows)
        self.known.update(self._built)
        keys = [key for key in keys if key not in self.known]
        start, done = time.monotonic(), 0
        seconds = budget if isinstance(budget, float) else None
        step = len(keys) if seconds is None else _AT_FIRST
        while done < len(keys) and step:
            part = {
                f"{self._call.name}:{done + n}": key
                for n, key in enumerate(keys[done : done + step])
            }
            builds = [self._make_build(id, first[key]) for id, key in part.items()]

            def keep(built: Built, part: Mapping[str, Any] = part) -> None:
                self._built[part[built.id]] = built
                self._stored.keep(rows[part[built.id]], built)

            self._compile(builds, keep)
            done += len(part)
            if seconds is not None:  # as many more as are done in the time that is left
                taken = time.monotonic() - start
                step = min(int(max(seconds - taken, 0.0) * done / max(taken, 1e-9)), _AT_ONCE)

    def _compile(self, builds: Sequence[Build], keep: Callable[[Built], None]) -> None:
        """Compile them; `keep` takes each as soon as it is done, whatever ends the others."""
        executor, done = self._stored.executor, 0
        if executor is None:
            build_all(builds, self._worker, self._progress, "configuration", self._limit_s, keep)
            return
        handed = [
            submit(executor, build_here, builds[start : start + _HANDED], self._limit_s)
            for start in range(0, len(builds), _HANDED)
        ]
        with step(self._progress, "compiling with Triton"):
            try:
                for each in as_completed(handed):
                    for built in each.result().values():
                        keep(built)
                        done += 1
                    tell_count(self._progress, done, len(builds), "configuration")
            finally:
                for each in handed:
                    each.cancel()  # what has begun elsewhere ends by itself

    def _make_build(self, id: str, one: _Try) -> Build:
        build = make_build(self._call, one.gpu, one.variant, id)
        return replace(build, with_code=False, with_loop=self._stored.with_loop)

    def list_remarks(self) -> Iterator[str]:
        """How many came from the store, or why none was asked for."""
        if unknown := "; ".join(self._stored.unknown):
            yield (
                f"The store was not used: {unknown}, which cannot be compared with an earlier run."
            )
        if self.known:
            many = plural(len(self._built), "compiled configuration")
            yield f"{len(self.known)} of {many} were read from the store of an earlier run."


def _identify(one: _Try) -> Any:
    """What tells compiled code from other: numbers count only by what Triton assumes of them."""
    numbers = {name: describe_assumed(value) for name, value in one.numbers.items()}
    return one.gpu.name, one.candidate.key, repr(sorted(numbers.items()))


def _judge_case(
    call: KernelCall,
    gpu: Gpu,
    case: Mapping[str, int],
    tries: Sequence[_Try],
    builds: _Builds,
    prior: Any,
    *,
    is_product: bool,
) -> list[Candidate]:
    """The configurations of one case in their order, then what was discarded."""
    place = None
    if is_product:
        source = _describe(call, tries[0].variant)
        place = read_prior(prior, list_known_gpus(), gpu, source, case)
    return order_candidates([_judge(call, one, builds.find(one)) for one in tries], place)


def _discard_wrong(
    call: KernelCall, candidates: Sequence[Candidate], check: Check, hooked: Mapping[Any, Any]
) -> list[Candidate]:
    """The same without those of the first that a check finds wrong, at their own configuration.

    `hooked` are the configurations with a hook, by the key of their candidate.
    """
    judged, kept = list(candidates), 0
    for number, each in enumerate(candidates):
        if each.verdict != RANKED or kept == CHECKED:
            break
        own = {**dict(each.values), WARPS: each.warps, STAGES: each.stages}
        asked = replace(call, function=call.jit, meta=call.all_meta(own))
        if each.key in hooked and is_autotuner(call.function):
            function = copy.copy(call.function)  # which runs the hook before the kernel
            function.configs = [hooked[each.key]]
            asked = replace(call, function=function)
        is_right, said = check(asked)
        if is_right is False:
            judged[number] = replace(each, verdict=WRONG, reason=said, rank=None)
            continue
        kept += 1
        if is_right is None:
            judged[number] = replace(each, reason=f"{_UNCHECKED}{said}")
    return rank_candidates(judged)


def _judge(call: KernelCall, one: _Try, built: Built | None) -> Candidate:
    """The verdict of one configuration, and the model's time where it can be launched."""
    if one.against is not None:
        return replace(one.candidate, verdict=one.against[0], reason=one.against[1])
    made = replace(one.candidate, grid=one.grid)
    return judge_built(made, built, one.gpu, partial(_describe_try, call, one, built))


def _describe_try(call: KernelCall, one: _Try, built: Built | None, taken: Resources) -> Described:
    """What a call does in one configuration, or why no model knows that."""
    loop, text = None if built is None else built.loop, str(call.jit.src)
    if loop is not None or "M" in one.sizes:
        source, resident = _describe(call, one.variant), taken.blocks or 1
        return describe_product(
            one.gpu, source, one.sizes, one.candidate.config, resident=resident, loop=loop
        )
    if _DOT.search(text):
        return _NO_MODEL
    recorded = None if call.recorded is None else call.recorded(one.gpu)
    if recorded is not None and (source_of := _read_generated(call)) is not None:
        return describe_loop(one.gpu, source_of, recorded, one.candidate, taken)
    if _LOOP.search(text) and not any(is_block(name) for name, _ in one.variant.sizes):
        return _NO_BLOCK
    work, division, width = _describe_work(call, one)
    threads = one.candidate.warps * one.gpu.warp_size
    kernel_us = None
    if recorded is not None:
        work, kernel_us = recorded.work or work, recorded.kernel_us
    launch = LoopLaunch(division, taken.blocks or 1, threads, taken.stack or 0, width, kernel_us)
    return work, launch


def _describe(call: KernelCall, variant: Variant) -> TritonSource:
    """The kernel in one configuration as the model of products takes it."""
    from triton._utils import canonicalize_dtype

    signature = {
        name: f"*{canonicalize_dtype(tensor.dtype)}" for name, tensor in call.tensors().items()
    }
    constants = dict(variant.constants)
    return TritonSource(call.name, "user_autotune", signature, constants, multiplies=True)


def _describe_work(call: KernelCall, one: _Try) -> tuple[Work, Division, int]:
    """Least bytes of the call, how a configuration divides its largest tensor, its widest value."""
    tensors = call.tensors(with_parts=True).values()
    width = max((each.element_size() for each in tensors), default=4)
    moved = sum(each.numel() * each.element_size() for each in tensors)
    whole = max((each.numel() for each in tensors), default=1)
    blocks = [value for name, value in one.variant.sizes if is_block(name) and value > 0]
    lanes, programs = prod(blocks), one.grid or 1
    run = min(blocks[-1], whole) if blocks else 1
    if not _LOOP.search(str(call.jit.src)) and programs * lanes < whole:
        lanes = run = ceil(whole / programs)  # a block that is no parameter, such as a whole row
    trips = max(ceil(whole / (programs * lanes)), 1)
    padding = max(programs * lanes * trips / max(whole, 1), 1.0)
    return Work(None, moved, 0), Division(programs, trips, run, padding), width
