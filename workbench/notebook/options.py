"""The options of the magics, written down once for the parser, the help, the completion."""

from __future__ import annotations

import ast
import re
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from IPython.core.magic_arguments import argument

from workbench.analysis.layers.optimizers import OPTIMIZERS
from workbench.analysis.trials.axes import OBJECTIVES, STRATEGIES
from workbench.compiler.request.compile_request import GUARD_POLICIES, MODES
from workbench.device_kinds import TARGETS
from workbench.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])
BACKENDS = ("inductor", "aot_eager", "eager")
_FORM = re.compile(
    r"(?P<arg>[A-Za-z_]\w*):(?P<dim>-?\d+)"
    r"(=(?P<name>[A-Za-z_]\w*)(\[(?P<low>\d*)\.\.(?P<high>\d*)\])?)?"
)
_OTHERS = (
    ("save", "-s writes an .aot file and -p a package: write one of them"),
    ("annotate", "-a shows a cell without a package: leave it or -p out"),
    ("guards", "-g is for .aot files: a package has a contract instead, leave -g out"),
)


@dataclass(frozen=True)
class Option:
    """One option; without `metavar` it is a switch, `choices` are offered by Tab."""

    names: tuple[str, ...]
    help: str
    metavar: str | None = None
    is_repeated: bool = False
    choices: tuple[str, ...] = ()


def _listed(choices: Sequence[str]) -> str:
    return ", ".join(choices)


OUTPUT = Option(("-o", "--output"), "bind the result to this name", "NAME")
NO_VIEW = Option(("--no-view",), "do not show the view")

COMPILE = (
    Option(("-m", "--mode"), f"mode of Inductor: {_listed(MODES)}", "MODE", choices=MODES),
    Option(
        ("-b", "--backend"),
        f"backend: {_listed(BACKENDS)}, another of torch, or a callable of yours",
        "BACKEND",
        choices=BACKENDS,
    ),
    Option(
        ("-t", "--target"),
        f"what to compile for: {_listed(TARGETS)}, or a virtual GPU, such as h100",
        "TARGET",
        choices=TARGETS,
    ),
    Option(
        ("-d", "--dynamic"),
        "a dynamic dimension, such as x:0=batch[1..64]; x:0 lets torch find the range; repeatable; "
        "True is every size, False none",
        "ARG:DIM=NAME[MIN..MAX]",
        is_repeated=True,
    ),
    Option(
        ("-O", "--option"),
        "an option of Inductor, such as epilogue_fusion=False; repeatable",
        "KEY=VALUE",
        is_repeated=True,
    ),
    Option(("--no-grad",), "compile for inference: no gradients"),
    Option(("-s", "--save"), "save the artifact", "PATH"),
    Option(
        ("-p", "--package"),
        "export the call and write a .pt2 package, which runs without Python too",
        "PATH",
    ),
    OUTPUT,
    Option(
        ("-g", "--guards"),
        "portable drops and reports guards that a file cannot hold, strict refuses them",
        "POLICY",
        choices=GUARD_POLICIES,
    ),
    Option(("--bg",), "compile in the background, in a process of its own; the result is a Job"),
    Option(("-a", "--annotate"), "%%aot_compile: show what became of the cell's lines"),
    NO_VIEW,
)
EXPLAIN = (OUTPUT, NO_VIEW)
KERNEL = (
    Option(("-t", "--target"), "the GPU, such as h100, which need not be there", "GPU"),
    OUTPUT,
    NO_VIEW,
)
LOAD = (
    OUTPUT,
    Option(("--module",), "the module whose weights are not in the file", "EXPRESSION"),
    Option(("--trust",), "run a file that was made elsewhere"),
)
INSPECT = (OUTPUT,)
DIFF = (
    OUTPUT,
    Option(("--html",), "also write a page that opens without a kernel", "PATH"),
    NO_VIEW,
)
AXES = ("mode", "backend", "dtype", "threads", "dynamic", "target")
SWEEP = (
    Option(
        ("--over",),
        "an axis with its values, such as mode=default,max-autotune or batch=1,8,32; repeatable",
        "NAME=VALUE,…",
        is_repeated=True,
    ),
    Option(
        ("--strategy",),
        "grid tries everything; random, halving and tpe look for the best",
        "STRATEGY",
        choices=STRATEGIES,
    ),
    Option(
        ("--objective",), f"what is best: {_listed(OBJECTIVES)}", "OBJECTIVE", choices=OBJECTIVES
    ),
    Option(("--trials",), "try at most so many settings", "COUNT"),
    Option(("--seconds",), "begin no trial after so many seconds", "SECONDS"),
    Option(("--measure-s",), "time each setting for at most so many seconds", "SECONDS"),
    Option(("--jobs",), "how many trials compile at a time", "COUNT"),
    Option(("--store",), "where finished trials are kept", "PATH"),
    Option(("--executor",), "where trials run, such as client.get_executor()", "EXPRESSION"),
    OUTPUT,
    NO_VIEW,
)
SESSION = (
    OUTPUT,
    Option(("--full",), "compile everything again, past torch's caches, so that reports are whole"),
    Option(
        ("--steps",),
        "optimizer: every step of an optimizer ends a step",
        "WHAT",
        choices=("optimizer",),
    ),
    Option(("--profile",), "run torch's profiler with it: NAME.profile has what it saw"),
    NO_VIEW,
)
PROFILE = (
    Option(("--gpu",), "the GPU, where the trace names none: a name of wb.targets()", "NAME"),
    OUTPUT,
    NO_VIEW,
)
FITS = (
    Option(
        ("-t", "--target"),
        "the GPU, which need not be there, such as h100 (the default)",
        "TARGET",
    ),
    Option(("--no-grad",), "a call without gradients, not a training step"),
    Option(
        ("--optimizer",),
        f"{_listed(OPTIMIZERS)}, none, or the bytes for each element of a parameter",
        "NAME",
        choices=(*OPTIMIZERS, "none"),
    ),
    Option(("--moments",), "the type of what the optimizer keeps: float32, bfloat16, …", "DTYPE"),
    Option(("--layers",), "the depths that are compiled, such as 2,4; all is the whole", "DEPTHS"),
    Option(("--total",), "the layers of the whole, where this model has fewer", "COUNT"),
    OUTPUT,
)

OF_MAGICS: Mapping[str, tuple[Option, ...]] = MappingProxyType(
    {
        "aot_compile": COMPILE,
        "aot_kernel": KERNEL,
        "aot_explain": EXPLAIN,
        "aot_load": LOAD,
        "aot_inspect": INSPECT,
        "aot_diff": DIFF,
        "aot_fits": FITS,
        "aot_profile": PROFILE,
        "aot_session": SESSION,
        "aot_sweep": SWEEP,
    }
)


def with_options(options: Sequence[Option]) -> Callable[[F], F]:
    """Decorate a magic with these options, for `magic_arguments`."""

    def decorate(function: F) -> F:
        for option in reversed(options):
            rest: dict[str, Any] = {"help": option.help.replace("%", "%%")}
            if option.metavar is None:
                rest["action"] = "store_true"
            else:
                rest["metavar"] = option.metavar
                if option.is_repeated:
                    rest.update(action="append", default=[])
            function = argument(*option.names, **rest)(function)
        return function

    return decorate


def parse_option_value(text: str) -> tuple[str, Any]:
    """`key=value` with the value read as a Python literal, true and false in any case.

    Raises `UsageError` when there is no `=`.
    """
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"-O {text}: expected KEY=VALUE, such as -O epilogue_fusion=False.")
    if value.lower() in ("true", "false"):
        return key, value.lower() == "true"
    try:
        return key, ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return key, value


def dynamic_shapes(specs: Sequence[str]) -> dict[str, dict[int, Any]] | None:
    """What `torch.export` takes as `dynamic_shapes`, or None without any.

    The same name is the same dimension; without a name torch finds the range itself.

    Raises
    ------
    UsageError
        A spec has another form, or one name has two ranges.
    """
    if not specs:
        return None
    from torch.export import Dim

    ranges: dict[str, tuple[int | None, int | None]] = {}
    dims: dict[str, Any] = {}
    shapes: dict[str, dict[int, Any]] = {}
    for spec in specs:
        match = _FORM.fullmatch(spec.replace(" ", ""))
        if match is None:
            raise UsageError(f"-d {spec}: expected ARG:DIM=NAME[MIN..MAX], as x:0=batch[1..64].")
        name = match["name"]
        if name is None:
            shapes.setdefault(match["arg"], {})[int(match["dim"])] = Dim.AUTO
            continue
        low, high = (int(match[end]) if match[end] else None for end in ("low", "high"))
        if match["low"] is not None or name not in ranges:
            if ranges.setdefault(name, (low, high)) != (low, high):
                raise UsageError(f"-d {spec}: {name} was given another range before.")
            dims.setdefault(name, Dim(name, min=low, max=high))
        shapes.setdefault(match["arg"], {})[int(match["dim"])] = dims[name]
    return shapes


def dynamic(specs: Sequence[str]) -> dict[str, Any]:
    """`dynamic` and `dynamic_shapes` of `aot_compile`; raises `UsageError` as `dynamic_shapes`."""
    if len(specs) == 1 and specs[0].lower() in ("true", "false"):
        return {"dynamic": specs[0].lower() == "true", "dynamic_shapes": None}
    return {"dynamic": None, "dynamic_shapes": dynamic_shapes(specs)}


def parse_packaging_options(chosen: Namespace, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of `workbench.package`; raises `UsageError` for what it cannot."""
    for name, words in _OTHERS:
        if getattr(chosen, name):
            raise UsageError(f"{words}.")
    if wanted["backend"] not in (None, "inductor"):
        raise UsageError("-p compiles with AOTInductor: leave -b out.")
    if wanted["dynamic"]:
        raise UsageError("-p exports with named dimensions: write -d ARG:DIM=NAME for each.")
    kept = {name: wanted[name] for name in ("mode", "options", "dynamic_shapes")}
    # the package is for the device of its inputs, unless it is for a virtual GPU
    return kept if wanted["target"] in TARGETS else {**kept, "target": wanted["target"]}


def parse_fits_options(chosen: Namespace) -> dict[str, Any]:
    """The keyword arguments of `workbench.fits`; raises `UsageError` for what is no number."""
    asked: dict[str, Any] = {"grad": not chosen.no_grad}
    for name in ("target", "moments"):
        if getattr(chosen, name):
            asked[name] = getattr(chosen, name)
    if chosen.optimizer:
        asked["optimizer"] = _optimizer(chosen.optimizer)
    if chosen.layers:
        words = chosen.layers.split(",")
        asked["layers"] = None if words == ["all"] else tuple(_whole("--layers", w) for w in words)
    if chosen.total:
        asked["total"] = _whole("--total", chosen.total)
    return asked


def _optimizer(word: str) -> str | float | None:
    try:
        return float(word)
    except ValueError:
        return None if word.lower() == "none" else word


def _whole(option: str, word: str) -> int:
    if not word.strip().isdecimal():
        raise UsageError(f"{option} {word}: expected a number of layers, such as {option} 4.")
    return int(word)
