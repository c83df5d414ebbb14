"""The result of tuning a kernel: each configuration's verdict, and config files for other tools.

Everything here is compiled and modelled, not measured, unless it says so.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from math import floor, inf
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.analysis.kernel_configs.triton_source import make_decorator
from workbench.analysis.tuning import tuned_formats as formats
from workbench.analysis.tuning.candidate import (
    ALIKE,
    RANKED,
    Candidate,
    count_verdicts,
    explain_order,
    format_us,
)
from workbench.arguments import checked
from workbench.compiler.internals import torch_private as tp
from workbench.errors import UsageError
from workbench.number_text import plural
from workbench.plain_data import parse_toml
from workbench.report import Report
from workbench.report.machine_rows import RankedConfig
from workbench.report.presenter import Presented, presenter
from workbench.specs import Gpu

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas

PUBLISHED, GIVEN = "published", "given"
"""Whose best configs order configurations: those of the package, or the user's files."""
MANY = 8
"""Configurations that a file of `triton.Config` has: few enough to time on the device."""


@dataclass(frozen=True, repr=False)
class RankedConfigs(Presented):
    """Hold one kernel's configurations on one GPU, ranked by modelled time; nothing was run.

    `report` is the report of the compilation with the table `ranked_configs`.
    """

    report: Report
    kernel: str
    target: str

    @property
    def rows(self) -> tuple[RankedConfig, ...]:
        """The rows by position, then those that cannot be compiled or launched."""
        key = (self.kernel, self.target)
        return tuple(r for r in self.report.ranked_configs if (r.kernel, r.target) == key)

    def frame(self) -> pandas.DataFrame:
        """Return a row for each configuration, the best modelled one first."""
        return presenter().frame(self)

    def plot(self) -> matplotlib.figure.Figure:
        """Plot the modelled times as a heat map, block sizes × warps and stages.

        Raises `UsageError` if no configuration could be compiled.
        """
        return presenter().plot(self)

    @checked
    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return a page with the heat map and every row, written to `path`; it needs no network."""
        return presenter().page(self, path)


@dataclass(frozen=True)
class TunedCase:
    """One GPU and one size: its configurations in modelled order, then the discarded ones.

    `sizes` are those of the matmul (M, N, K, …), empty for kernels of another kind.
    """

    gpu: Gpu
    sizes: Mapping[str, int]
    candidates: tuple[Candidate, ...]

    @property
    def ranked(self) -> tuple[Candidate, ...]:
        """The ranked configurations, the best first."""
        return tuple(candidate for candidate in self.candidates if candidate.verdict == RANKED)

    @property
    def doubt(self) -> str:
        """How many others are too close to the top pick, in words; "" if none is."""
        times = [candidate.ranked_us for candidate in self.ranked if candidate.ranked_us < inf]
        alike = sum(us < ALIKE * times[0] for us in times[1:])
        return f"too close to call with {plural(alike, 'other')}" if alike else ""

    @property
    def name(self) -> str:
        """The GPU, and the sizes in words: "h100, M=16, N=7168, K=2048"."""
        return ", ".join([self.gpu.name, *(f"{name}={size}" for name, size in self.sizes.items())])


@dataclass(frozen=True, repr=False)
class Tuned(Presented):
    """Hold a kernel's configurations for GPUs and sizes, compiled and ranked by modelled time.

    `kind` is the kernel's kind in the model: "product", "product with scales", "reduction",
    "pointwise". `remarks` list what was left out. `from_store` counts configurations that came from
    the store.
    """

    kernel: str
    kind: str
    cases: tuple[TunedCase, ...]
    remarks: tuple[str, ...] = ()
    missed: tuple[str, ...] = field(default=())  # modelled against measured, where it was measured
    generated: Mapping[str, str] = field(default_factory=dict)  # Inductor's text of it, by GPU
    from_store: int = field(default=0, compare=False)
    winners: str = PUBLISHED  # whose best configs are the prior, where there are any

    @property
    def sentence(self) -> str:
        """The top pick of each case with its modelled time, and the model's error in short."""
        parts = []
        for case in self.cases:
            if not case.ranked:
                parts.append(f"{self.kernel} on {case.name}: {_say_none(case)}")
                continue
            first, whole = case.ranked[0], plural(len(case.candidates), "configuration")
            us = first.model_us
            time = f", {format_us(us)} modelled" if us is not None else ""
            doubt = f", {case.doubt}" if case.doubt else ""
            parts.append(
                f"{self.kernel} on {case.name}: {first.name}{time}, best of {whole}{doubt}."
            )
        return " ".join([*parts, self._describe(summarize_error)])

    @property
    def error(self) -> str:
        """The known model error for these GPUs in full: modelled, not measured."""
        return self._describe(describe_error)

    def _describe(self, describe: Describe) -> str:
        ranked = [candidate for case in self.cases for candidate in case.ranked]
        if ranked and all(candidate.model_us is None for candidate in ranked):
            return NO_MODEL
        names = tuple(dict.fromkeys(case.gpu.name for case in self.cases))
        placed = {
            case.gpu.name
            for case in self.cases
            if any(candidate.placed_us is not None for candidate in case.ranked)
        }
        if self.winners == PUBLISHED:
            return describe(self.kind, names, placed)
        text = describe(self.kind, names, ())
        return f"{text} The effect of your prior is not validated." if placed else text

    def frame(self) -> pandas.DataFrame:
        """Return each configuration of each case: verdict, reason, resources, modelled time."""
        return presenter().frame(self)

    @checked
    def plot(self, *, target: str | None = None, **size: int) -> matplotlib.figure.Figure:
        """Plot one case as a heat map: blocks × warps and stages, pale where it is best.

        Default: the first case. Raises `UsageError` if none of its configurations can be used.
        """
        case = self.find_case(target, size) if target or size else self.cases[0]
        return presenter().plot(self, case)

    @checked
    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return a page with heat maps and every row, written to `path`; it needs no network."""
        return presenter().page(self, path)

    @checked
    def best(self, n: int = 1, *, target: str | None = None, **size: int) -> tuple[Candidate, ...]:
        """Return the first `n` of one case, selected by `target` and sizes such as `M=16`.

        Raises `UsageError` if several cases match, or no configuration can be launched.
        """
        case = self.find_case(target, size)
        if not case.ranked:
            raise UsageError(f"{self.kernel} on {case.name}: {_say_none(case)}")
        return case.ranked[:n]

    @checked
    def why(
        self, a: int | str = 1, b: int | str = 2, *, target: str | None = None, **size: int
    ) -> str:
        """Explain why one configuration is ahead of another, or is not ranked.

        `a` and `b` are positions, from 1, or values such as "BLOCK_M=64, BLOCK_N=128, 4 warps".
        """
        case = self.find_case(target, size)
        return explain_order(case.gpu, *(_find(case, choice) for choice in (a, b)))

    def find_case(self, target: str | None, size: Mapping[str, int]) -> TunedCase:
        """The only case of a GPU and sizes; raises `UsageError` that lists what there is."""
        cases = [
            case
            for case in self.cases
            if target in (None, case.gpu.name)
            and all(case.sizes.get(name) == value for name, value in size.items())
        ]
        if len(cases) == 1:
            return cases[0]
        names = "; ".join(case.name for case in self.cases)
        how = (
            "Select one case, for example with target=…, M=…"
            if cases
            else "No case matches; choose one of them"
        )
        raise UsageError(f"{self.kernel} was tuned for {names}. {how}.")

    @checked
    def write_vllm(
        self,
        folder: str | PathLike[str],
        *,
        dtype: str | None = None,
        block_shape: Sequence[int] | None = None,
        **sizes: int,
    ) -> tuple[Path, ...]:
        """Write the best of each M in vLLM's format, a file for each GPU, N and K or E and N.

        Put files of experts into the folder that `VLLM_TUNED_CONFIG_FOLDER` names, those of
        block-scaled GEMMs into vLLM's `quantization/utils/configs`. A text file next to each has
        the model's error, for which the format has no field. `dtype` and `block_shape` are those in
        the name, such as "fp8_w8a8" and (128, 128); `sizes` replace those in the file names: E, N,
        K. For experts, N is the intermediate size, half the columns of the first matmul.
        """
        return self._write_served(Path(folder), dtype, block_shape, sizes, is_sglang=False)

    @checked
    def write_sglang(
        self,
        folder: str | PathLike[str],
        *,
        dtype: str | None = None,
        block_shape: Sequence[int] | None = None,
        **sizes: int,
    ) -> tuple[Path, ...]:
        """Write them as `write_vllm` does, with the names of sglang.

        sglang looks for files of experts in `configs/triton_3_5_1` and so on
        (`SGLANG_MOE_CONFIG_DIR`), by the Triton release, and for files of matmuls in
        `quantization/configs`.
        """
        return self._write_served(Path(folder), dtype, block_shape, sizes, is_sglang=True)

    def _write_served(
        self,
        folder: Path,
        dtype: str | None,
        block_shape: Sequence[int] | None,
        sizes: Mapping[str, int],
        *,
        is_sglang: bool,
    ) -> tuple[Path, ...]:
        texts: dict[str, dict[int, Candidate]] = {}
        for case in self._list_whole():
            if "M" not in case.sizes:
                raise UsageError(
                    f"{self.kernel} is not a GEMM with an M dimension; use write_triton."
                )
            name = formats.name_served(
                case.gpu, {**case.sizes, **sizes}, dtype, block_shape, is_sglang=is_sglang
            )
            texts.setdefault(name, {})[case.sizes["M"]] = case.ranked[0]
        whole = {name: formats.write_served(rows) for name, rows in texts.items()}
        return tuple(
            formats.write_beside(folder / name, text, self.remark) for name, text in whole.items()
        )

    @checked
    def write_triton(
        self, path: str | PathLike[str], n: int = MANY, *, target: str | None = None, **size: int
    ) -> Path:
        """Write the first `n` of one case as Python with a list of `triton.Config`, `configs`.

        `@triton.autotune(configs, key=[…])` then times only these on the device.
        """
        text = formats.write_triton(self.best(n, target=target, **size), self.remark)
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    @checked
    def write_helion(
        self,
        path: str | PathLike[str],
        *,
        order: Sequence[str] | None = None,
        target: str | None = None,
        **size: int,
    ) -> Path:
        """Write the best of one case for `helion.Config.load`.

        The blocks of a kernel that Helion generated are known by their names. For another kernel,
        `order` names them in the order of its `hl.tile`.
        """
        (first,) = self.best(1, target=target, **size)
        return formats.write_beside(Path(path), formats.write_helion(first, order), self.remark)

    @checked
    def write_inductor(self, folder: str | PathLike[str], *, target: str | None = None) -> Path:
        """Write the best for a kernel of a compiled program, as Inductor stores its own choice.

        `folder` is the folder that `TORCHINDUCTOR_CACHE_DIR` names where the program is compiled.
        Inductor finds it by the kernel's text, for the same torch and GPU. With another, it finds
        nothing and times its own configurations. Raises `UsageError` for a kernel that no program
        has, and if Inductor would not read the choice.
        """
        (first,), gpu = self.best(1, target=target), self.find_case(target, {}).gpu.name
        if not self.generated:
            raise UsageError(
                f"{self.kernel} does not belong to a compiled program. Tune compiled.kernel(name), "
                "or use write_triton."
            )
        if gpu not in self.generated:
            compiled = ", ".join(self.generated)
            raise UsageError(
                f"The program of {self.kernel} was compiled for {compiled}; Inductor's source for "
                f"{gpu} differs. Compile with target={gpu!r}."
            )
        text = self.generated[gpu]
        decorator = make_decorator(text, str(name_source(text, Path(folder))))
        path = save_choice(decorator, dict(first.values), first.warps, first.stages)
        if path is None:
            raise UsageError(
                f"Inductor would not read a config for {self.kernel}: the kernel has only one, or "
                "caching is off. Compile with options={'coordinate_descent_tuning': True}."
            )
        formats.write_remark(path, self.remark)
        return path

    @property
    def remark(self) -> str:
        """The note that goes with a file of configurations."""
        from workbench import __version__

        lines = [
            f"Configurations of {self.kernel} by aot-workbench {__version__}, compiled for the "
            "GPU and ranked by modelled time, without running on it.",
            self.error,
            *self.missed,
        ]
        return "\n".join(lines)

    def _list_whole(self) -> Iterator[TunedCase]:
        for case in self.cases:
            if not case.ranked:
                raise UsageError(f"{self.kernel} on {case.name}: {_say_none(case)}")
            yield case


def _say_none(case: TunedCase) -> str:
    """That no configuration is left, with counts by reason, the most frequent first."""
    if not case.candidates:
        return "no configuration to try."
    counts = count_verdicts(case.candidates)
    counted = ", ".join(f"{verdict} {count}" for verdict, count in counts.items())
    first = next(
        candidate for candidate in case.candidates if candidate.verdict == next(iter(counts))
    )
    why = f" Example: {first.name}, {first.reason.rstrip('.')}." if first.reason else ""
    whole = plural(len(case.candidates), "configuration")
    return f"none of {whole} can be used ({counted}).{why}"


def _find(case: TunedCase, choice: int | str) -> Candidate:
    if isinstance(choice, int):
        if 0 < choice <= len(case.ranked):  # in the order, in which several may share a position
            return case.ranked[choice - 1]
        raise UsageError(f"Position {choice} does not exist; use 1 to {len(case.ranked)}.")
    parts = {part.strip() for part in choice.split(",")}
    matching = [
        candidate for candidate in case.candidates if parts <= set(candidate.name.split(", "))
    ]
    if len(matching) != 1:
        many = plural(len(matching), "configuration") if matching else "No configuration"
        example = case.candidates[0].name if case.candidates else ""
        verb = "matches" if len(matching) < 1 else "match"
        raise UsageError(f'{many} {verb} {choice!r}. Write it as in .frame(), such as "{example}".')
    return matching[0]


def name_source(text: str, folder: Path) -> Path:
    """Where Inductor keeps a generated source in a cache folder, by the hash of its text."""
    key: str = tp.CODECACHE_MODULE.get().get_hash(text.strip())
    return folder / key[1:3] / f"{key}.py"


def save_choice(
    decorator: Callable[..., Any], values: Mapping[str, Any], warps: int, stages: int
) -> Path | None:
    """Write the autotune cache entry that Inductor reads instead of timing configurations.

    `decorator` is the result of a call such as `triton_heuristics.pointwise(…)`. None if Inductor
    would not read it: the kernel has one configuration, or caching is off.
    """
    held = inspect.getclosurevars(decorator).nonlocals
    cache, settings = held.get("autotune_cache"), held.get("inductor_meta") or {}
    if cache is None or cache.local_cache is None:
        return None
    cache.artifact_recorder = None  # it would go into what torch.compiler.save_cache_artifacts has
    is_final = bool(settings.get("coordinate_descent_tuning"))  # else it would be a first guess
    config = type(held["configs"][0])(dict(values), num_warps=warps, num_stages=stages)
    cache.save(config, 0, is_final)
    return Path(cache.local_cache[1])


FILE = "tuning_errors.toml"
"""The file of the errors, in the data of `workbench.specs`; a part of `tests.bench` writes it."""
PLAIN, EXPERTS = "product", "product of experts"
NO_MODEL = (
    "Neither measured nor modelled: ordered by spills, occupancy and registers. This order is not "
    "validated on a GPU."
)
"""The error's text if no configuration has a modelled time."""
Describe = Callable[[str, Sequence[str], Collection[str]], str]
_START = "Modelled, not measured"


@cache
def load_errors() -> Mapping[str, Any]:
    """Top-5 and top-20 % shares of published best configs, and errors measured on one GPU."""
    content = resources.files("workbench.specs").joinpath("data", FILE).read_bytes()
    return parse_toml(content)


def describe_error(kind: str, gpus: Sequence[str], published: Collection[str] = ()) -> str:
    """The model's error for this kind of kernel in full, as measured or checked.

    On the `published` GPUs, published best configs are the prior of the order.
    """
    if not kind.startswith("product"):
        return f"{_START}. {_describe_generated()}"
    return " ".join([f"{_START}.", *_describe_matmuls(kind, gpus, published)])


def summarize_error(kind: str, gpus: Sequence[str], published: Collection[str] = ()) -> str:
    """The error of the model for this kind of kernel, in a sentence or two."""
    if not kind.startswith("product"):
        timed = load_errors()["generated"]
        low, high = timed["first"]
        return (
            f"{_START}: on {timed['kernels']} Inductor kernels ({timed['gpu']}), the top pick took "
            f"{low:.2f}–{high:.2f}× the best time."
        )
    rows = _read_shares(kind, gpus, published)
    shares = " and ".join(f"{_percent(row['five'])} ({gpu})" for gpu, row in rows.items())
    held = f": {shares} of published best configs are in its top 5" if rows else ""
    return " ".join([f"{_START}{held}.", *_list_unvalidated(kind, gpus)])


def _describe_generated() -> str:
    """The measured error of the top picks, for kernels that Inductor generates."""
    timed = load_errors()["generated"]
    first, five = ("–".join(f"{ratio:.2f}" for ratio in timed[name]) for name in ("first", "five"))
    return (
        f"Measured on {timed['kernels']} Inductor kernels ({timed['gpu']}): the top pick takes "
        f"{first}× the best time, the best of the top 5 {five}×. Not validated for hand-written "
        "kernels."
    )


def _describe_matmuls(kind: str, gpus: Sequence[str], published: Collection[str]) -> Iterator[str]:
    words = "MoE GEMMs" if kind == EXPERTS else "block-scaled GEMMs"
    for gpu, row in _read_shares(kind, gpus, published).items():
        order = ", with those for other sizes as prior" if gpu in published else ""
        yield (
            f"Checked on {row['problems']} published best configs for {words} on {gpu}{order}: "
            f"{_percent(row['five'])} are in the top 5, {_percent(row['fifth'])} in the top 20 %."
        )
    timed = load_errors()["timed"]
    yield (
        f"Measured on {timed['problems']} block-scaled GEMMs ({timed['gpu']}): the top pick takes "
        f"{timed['first']:.2f}× the best time (median). The best of the top 5 is within "
        f"{_percent(timed['within'] - 1)} of the best time in {timed['near']} of "
        f"{timed['problems']}."
    )
    yield from _list_unvalidated(kind, gpus)


def _read_shares(
    kind: str, gpus: Sequence[str], published: Collection[str]
) -> dict[str, Mapping[str, Any]]:
    """By GPU the shares for the order that was used, for those that have some."""
    known = load_errors()["moe" if kind == EXPERTS else "gemm"]
    rows = {gpu: known[gpu] for gpu in gpus if gpu in known}
    return {
        gpu: {**row, **row["published"]} if gpu in published else row for gpu, row in rows.items()
    }


def _percent(share: float) -> str:
    return f"{floor(share * 100 + 1e-6)} %"


def _list_unvalidated(kind: str, gpus: Sequence[str]) -> Iterator[str]:
    if kind == PLAIN:
        yield "Not validated for unscaled GEMMs such as this one."
    known = _read_shares(kind, gpus, ())
    if unknown := [gpu for gpu in gpus if gpu not in known]:
        yield f"Not validated on {', '.join(unknown)}."
