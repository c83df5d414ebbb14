"""The options of the magics that no world adds."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.analysis.layers.optimizers import OPTIMIZERS
from workbench.cells.option_magics import (
    NO_VIEW,
    OUTPUT,
    Option,
    list_callables,
    list_gpus,
)
from workbench.compiler.request.compile_request import GUARD_POLICIES, MODES
from workbench.device_kinds import TARGETS
from workbench.errors import UsageError

BACKENDS = ("inductor", "aot_eager", "eager")
_FORM = re.compile(
    r"(?P<arg>[A-Za-z_]\w*):(?P<dim>-?\d+)"
    r"(=(?P<name>[A-Za-z_]\w*)(\[(?P<low>\d*)\.\.(?P<high>\d*)\])?)?"
)
_OTHERS = (
    ("save", "-s writes an .aot file, -p a package: use only one of them"),
    ("annotate", "-a and -p cannot be combined: leave one out"),
    ("guards", "-g is for .aot files only (a package has a contract instead): leave -g out"),
)


def _listed(choices: Sequence[str]) -> str:
    return ", ".join(choices)


COMPILE = (
    Option(("-m", "--mode"), f"mode of Inductor: {_listed(MODES)}", "MODE", choices=MODES),
    Option(
        ("-b", "--backend"),
        f"backend: {_listed(BACKENDS)}, another torch backend, or your own callable",
        "BACKEND",
        choices=BACKENDS,
        list_more=list_callables,
    ),
    Option(
        ("-t", "--target"),
        f"what to compile for: {_listed(TARGETS)}, or a virtual GPU, such as h100",
        "TARGET",
        choices=TARGETS,
        list_more=list_gpus,
    ),
    Option(
        ("-d", "--dynamic"),
        "a dynamic dimension (repeatable), such as x:0=batch[1..64]; x:0 lets torch find the "
        "range, True means all sizes, False none",
        "ARG:DIM=NAME[MIN..MAX]",
        is_repeated=True,
    ),
    Option(
        ("-O", "--option"),
        "an Inductor option (repeatable), such as epilogue_fusion=False",
        "KEY=VALUE",
        is_repeated=True,
    ),
    Option(("--no-grad",), "compile for inference: no gradients"),
    Option(("-s", "--save"), "save the artifact", "PATH"),
    Option(
        ("-p", "--package"),
        "export the call and write a .pt2 package, which also runs without Python",
        "PATH",
    ),
    OUTPUT,
    Option(
        ("-g", "--guards"),
        "portable drops and reports guards that a file cannot store, strict refuses them",
        "POLICY",
        choices=GUARD_POLICIES,
    ),
    Option(("--bg",), "compile in the background, in a separate process; the result is a Job"),
    Option(("-a", "--annotate"), "%%aot_compile: annotate the cell's lines"),
    NO_VIEW,
)
EXPLAIN = (OUTPUT, NO_VIEW)
LOAD = (
    OUTPUT,
    Option(("--module",), "the module that has the weights, if the file has none", "EXPRESSION"),
    Option(("--trust",), "run a file that was made elsewhere"),
)
INSPECT = (OUTPUT,)
DIFF = (
    OUTPUT,
    Option(("--html",), "also write an HTML page that opens without Jupyter", "PATH"),
    NO_VIEW,
)
FITS = (
    Option(
        ("-t", "--target"),
        "the target GPU, such as h100 (the default); it is not needed here",
        "TARGET",
        list_more=list_gpus,
    ),
    Option(("--no-grad",), "a call without gradients, not a training step"),
    Option(
        ("--optimizer",),
        f"{_listed(OPTIMIZERS)}, none, or bytes per parameter element",
        "NAME",
        choices=(*OPTIMIZERS, "none"),
    ),
    Option(("--moments",), "the dtype of the optimizer state: float32, bfloat16, …", "DTYPE"),
    Option(("--layers",), "the depths to compile, such as 2,4, or all", "DEPTHS"),
    Option(("--total",), "the total number of layers, if this model has fewer", "COUNT"),
    OUTPUT,
)


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
            raise UsageError(f"-d {spec}: expected ARG:DIM=NAME[MIN..MAX]: x:0=batch[1..64].")
        name = match["name"]
        if name is None:
            shapes.setdefault(match["arg"], {})[int(match["dim"])] = Dim.AUTO
            continue
        low, high = (int(match[end]) if match[end] else None for end in ("low", "high"))
        if match["low"] is not None or name not in ranges:
            if ranges.setdefault(name, (low, high)) != (low, high):
                raise UsageError(f"-d {spec}: {name} already has a different range.")
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
        raise UsageError("-p exports with named dimensions: pass -d ARG:DIM=NAME for each one.")
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
