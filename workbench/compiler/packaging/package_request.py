"""What a user asks of a package: checked before anything runs, and read back from a file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from torch.export import ExportedProgram

from workbench.arguments import shown
from workbench.artifacts.archive.package_container import OpenedPackage, decode_report
from workbench.artifacts.manifest.package_manifest import WEIGHTS, PackagedModel
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.request.compile_request import (
    CAPTURE_LEVELS,
    MODES,
    check_args,
    check_mapping,
    require_one_of,
)
from workbench.errors import UsageError
from workbench.report import Report, Request

DEFAULT_NAME = "model"
INSIDE, BESIDE, LATER = WEIGHTS
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")


@dataclass(frozen=True)
class ModelRequest:
    """One model of a package; raises `UsageError` for a value that cannot be.

    `bucket` names, for one of several compiled shapes, the size of each bucketed dimension.
    """

    model: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    name: str = DEFAULT_NAME
    dynamic_shapes: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    mode: str | None = None
    weights: str = INSIDE
    bucket: Mapping[str, int] | None = None
    capture: str = "full"

    def __post_init__(self) -> None:
        check_args(self.args, self.kwargs)
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"The model name {self.name!r} cannot be a folder name in the package: use up to "
                "64 letters, digits, '_', '.' and '-'."
            )
        check_mapping("options", self.options, "{'max_autotune': True}")
        require_one_of("weights", self.weights, WEIGHTS)
        require_one_of("mode", self.mode, (None, *MODES))
        require_one_of("capture", self.capture, CAPTURE_LEVELS)

    @cached_property
    def original(self) -> Any:
        """What is called to compare with the package: the model, or the module of a program."""
        is_program = isinstance(self.model, ExportedProgram)
        return self.model.module(check_guards=False) if is_program else self.model


@dataclass(frozen=True)
class Buckets:
    """What a user asks of `Package.bucketed` beyond `package`."""

    sizes: Mapping[str, Sequence[int]]
    pad: Any = 0
    split: str | None = None
    harmless: bool = False


def read_requests(
    model: Any,
    args: Any,
    kwargs: Any,
    *,
    dynamic_shapes: Any,
    options: Any,
    mode: Any,
    weights: Any,
    capture: str = "full",
) -> tuple[ModelRequest, ...]:
    """The requests for one model, or for each model of a mapping by name.

    With a mapping of models, `args` (and `kwargs`, `dynamic_shapes`) are mappings by model name;
    `options`, `mode` and `weights` are one value for all or a mapping by name.
    """
    if not isinstance(model, Mapping):
        values = (model, args, kwargs, dynamic_shapes, options, mode, weights)
        named = [{DEFAULT_NAME: value} for value in values]
        model, args, kwargs, dynamic_shapes, options, mode, weights = named
    names = list(model)
    if not names:
        raise UsageError("model is an empty mapping: name at least one model.")
    odd = next((name for name in names if not isinstance(name, str) or not name), None)
    if odd is not None:
        raise UsageError(f"model has the key {odd!r}: each model's name must be a non-empty str.")
    needed = [name for name in names if not isinstance(model[name], ExportedProgram)]
    inputs = _for_each("args", args, names, required=needed)
    keywords = _for_each("kwargs", kwargs, names)
    for name in names:
        if not isinstance(keywords[name], Mapping | None):
            raise UsageError(f"kwargs is {shown(keywords[name])}: expected a dict or None.")
        inputs[name], keywords[name] = choose_example(model[name], inputs[name], keywords[name])
    shapes = _for_each("dynamic_shapes", dynamic_shapes, names)
    return tuple(
        ModelRequest(
            model[name],
            inputs[name],
            keywords[name] or {},
            name=name,
            dynamic_shapes=shapes[name],
            options=_own(options, name, names) or {},
            mode=_own(mode, name, names),
            weights=_own(weights, name, names, default=INSIDE),
            capture=capture,
        )
        for name in names
    )


def request_as_variant(requests: Sequence[ModelRequest], variant: str) -> ModelRequest:
    """The one request under the name of a variant; raises `UsageError` for several models."""
    if len(requests) != 1:
        names = ", ".join(request.name for request in requests)
        raise UsageError(
            f"variant={variant!r} needs a single model, but several are given ({names}). Package "
            "each in its own file."
        )
    return replace(requests[0], name=variant)


def _for_each(
    what: str, value: Any, names: Sequence[str], *, required: Sequence[str] = ()
) -> dict[str, Any]:
    by_name = {} if value is None else value
    if not isinstance(by_name, Mapping):
        raise UsageError(
            f"With several models, {what} must be a mapping by model name ({', '.join(names)}), "
            f"got {type(value).__name__}."
        )
    unknown = [key for key in by_name if key not in names]
    missing = [name for name in required if name not in by_name]
    if unknown or missing:
        odd = f"names {unknown[0]!r}" if unknown else f"has no entry for {missing[0]!r}"
        raise UsageError(f"{what} {odd}; the models are {', '.join(names)}.")
    return {name: by_name.get(name) for name in names}


def _own(value: Any, name: str, names: Sequence[str], default: Any = None) -> Any:
    """One model's part of a value that may be given for all, or by model name."""
    by_name = isinstance(value, Mapping) and bool(value) and all(key in names for key in value)
    return value.get(name, default) if by_name else value


def write_repackage_command(path: str, package: OpenedPackage) -> str:
    """A sentence with the call of `workbench.package` that makes the file on this torch."""
    start = (
        f"{path} is a package without example inputs, so it cannot be rebuilt from the file alone. "
    )
    manifest = package.manifest
    if manifest is None:
        return f"{start}Package the model with wb.package(model, args, path=...)."
    calls = [f"  {_call(package, model, path)}" for model in manifest.models]
    sentence = f"It was made on torch {manifest.versions.torch} with:"
    return "\n".join([f"{start}{sentence}", *calls])


def _call(package: OpenedPackage, model: PackagedModel, path: str) -> str:
    request = Request(name=model.name)
    are_variants = package.manifest is not None and package.manifest.are_variants
    if model.report is not None:
        request = Report.from_bytes(decode_report(package.raw(model.report))).request
    options = "".join(f"{json.dumps(name)}: {value}, " for name, value in request.options)
    parts = [
        f"wb.package({request.name or 'model'}, args, path={path!r}",
        "" if request.dynamic_shapes is None else f"dynamic_shapes={request.dynamic_shapes}",
        "" if not options else "options={" + options.removesuffix(", ") + "}",
        "" if request.mode is None else f"mode={request.mode!r}",
        "" if model.weights == "inside" else f"weights={model.weights!r}",
        f"variant={model.name!r}" if are_variants else "",
        f"target={model.target!r}" if model.target else "",
    ]
    inputs = ", ".join(request.inputs)
    return f"{', '.join(part for part in parts if part)})  # {model.name}: {inputs}"


EXPORTED = (
    "packaged from an exported program, which contains frozen attributes and values from outside "
    "the model; nothing else is known about its source"
)


def title_of(program: ExportedProgram) -> str:
    """The class of the module that was exported, as far as the program tells it."""
    for node in program.graph.nodes:
        for _, kind in (node.meta.get("nn_module_stack") or {}).values():
            name = kind if isinstance(kind, str) else kind.__qualname__
            return name.rpartition(".")[2]
    return "ExportedProgram"


def choose_example(model: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The example inputs: those that are given, else the program's own.

    Raises `UsageError` where there are none.
    """
    if args is not None:
        return args, kwargs
    if not isinstance(model, ExportedProgram):
        raise UsageError(
            "args is missing: pass a tuple of example inputs, such as (x,). Only an "
            "ExportedProgram already has example inputs."
        )
    if kwargs or model.example_inputs is None:
        why = "only kwargs are given" if kwargs else "the exported program holds none"
        raise UsageError(f"args is missing ({why}): pass all example inputs, such as (x,).")
    positional, named = model.example_inputs
    return tuple(positional), dict(named)


def check_nesting(
    program: ExportedProgram, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """The named inputs in the program's order; raises `UsageError` for inputs of another form."""
    expected = program.call_spec.in_spec
    names = list(expected.children()[1].context)
    ordered = {name: kwargs[name] for name in names} if kwargs.keys() == {*names} else kwargs
    _, actual = tp.TREE_FLATTEN.get()((args, dict(ordered)))
    if actual != expected:
        raise UsageError(
            "The example inputs are nested differently than in the export:\n  program: "
            f"{_text(expected)}\n  given:   {_text(actual)}\nPass them as in the export, or leave "
            "args out to use the program's own."
        )
    return dict(ordered)


def _text(spec: Any) -> str:
    return " ".join(str(spec).split())
