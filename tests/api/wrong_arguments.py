"""Every public function and method called with one argument that is wrong, by its signature.

Whatever comes is a WorkbenchError, Python's TypeError for a missing or unknown argument, or a
result: a wrong value may be harmless.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

import workbench as wb
from tests.api.odd_values import ODD, WRONG

X = torch.randn(4, 4)


def scaled(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x + 1) * 2


class Call(NamedTuple):
    """A public function or method with arguments by name that are right."""

    name: str
    function: Callable[..., Any]
    given: Mapping[str, Any]


def calls(folder: Path, *, backend: str = "inductor") -> Iterator[Call]:
    """The functions of the package and the methods of what they return.

    Of what another backend than Inductor compiled there is no program to look at, nor a package.
    """
    compiled = wb.aot_compile(scaled, (X,), backend=backend)
    path = folder / "f.aot"
    compiled.save(path)
    with wb.session() as session:
        torch.compile(scaled, backend="eager")(X)
    values: Mapping[str, Any] = {
        "x": compiled,
        "a": compiled,
        "b": compiled,
        "fn": scaled,
        "args": (X,),
        "path": path,
        "over": {"mode": ["nowhere"]},
        "targets": ["nowhere"],
        "calls": [(X,)],
        "gpu": "h100",
    }
    own: Mapping[str, Mapping[str, Any]] = {
        "aot_compile": {"backend": "eager"},
        "compile_async": {"target": "nowhere"},
        "package": {"model": scaled, "args": (torch.ones(0),), "path": folder / "g.pt3"},
        "fits": {"model": torch.nn.Linear(2, 2), "target": "nowhere"},
        "roundtrip": {"ways": ()},
        "recompile": {"path": folder / "missing.aot"},
        "read_trace": {"path": folder / "missing"},
        "read_tritonparse": {"path": folder / "missing"},
        "sign": {"key": folder / "missing.pem"},
        "trust_key": {"key": folder / "missing.pem"},
        "launches": {"x": [1.0, 2.0]},
        "variants": {"fn": 3},
        "targets": {},
        "machine": {},
    }
    for name in wb.__all__:
        function = getattr(wb, name)
        if inspect.isfunction(function) and name != "warm_up":
            yield Call(name, function, given_by_name(function, {**values, **own.get(name, {})}))
    opened = wb.inspect(path)
    holders: dict[str, Any] = {
        "Compiled": compiled,
        "Report": compiled.report,
        "ArtifactReport": opened,
        "LiveSession": session,
        "Diff": wb.diff(compiled, compiled),
        "Check": wb.check(path),
        "Explanation": wb.explain(scaled, (X,)),
        "Opportunities": wb.opportunities(compiled),
        "Launches": wb.launches([1.0]),
        "Expectation": wb.expect(compiled),
        "Verification": wb.verify(compiled, (X,)),
    }
    if backend == "inductor":
        holders |= {
            "Package": wb.package(scaled, (X,), path=folder / "f.pt2"),
            "Memory": wb.memory(compiled),
            "Profile": wb.profile(compiled, (X,)),
        }
    given = {
        "path": folder / "out",
        "name": "kernels",
        "args": (X,),
        "part": "kernels",
        "key": 0,
        "weights": {},
        "folder": folder / "project",
        "limits": {},
        "kernel": "k0",
    }
    for kind, holder in holders.items():
        for name, _method in inspect.getmembers(type(holder), callable):
            if not name.startswith("_") and name not in SKIPPED:
                bound = getattr(holder, name)
                yield Call(f"{kind}.{name}", bound, given_by_name(bound, given))


SKIPPED = {
    *("close", "disable_guard_check", "start", "stop"),  # what comes later would be another holder
    *("index", "count", "mro"),  # Python's own
    *("listen", "once"),  # what they are given is called later, or raises what it likes
}
USERS = {
    *(("explain", name) for name in ("fn", "args", "kwargs")),
    *(("rehearse", name) for name in ("fn", "args", "kwargs")),
    ("variants", "fn"),
    ("verify", "reference"),
    ("roundtrip", "ways"),  # None is right, and takes minutes
    ("Sweep.best", "constraint"),
}
"""Functions of the user that are run as they are: what they raise is raised."""
CALLED = ("Callable", "ProgressCallback")
"""How functions are declared; `int` says not what it takes, so that what it raises is raised."""


def given_by_name(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a function cannot do without, and those that make its call a cheap one."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        needed = parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL,
            parameter.VAR_KEYWORD,
        )
        if name in values and (needed or name in ("backend", "target", "ways", "targets")):
            found[name] = values[name]
        elif needed:
            found[name] = None
    return found


def wrong_calls(call: Call) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Each way in which one argument of the call can be wrong, and the call itself."""
    for name, parameter in inspect.signature(call.function).parameters.items():
        if (call.name, name) in USERS:
            continue
        is_called = any(word in str(parameter.annotation) for word in CALLED)
        for kind, make in {**WRONG, **ODD}.items():
            if kind == "class" and is_called:
                continue
            yield f"{call.name}({name}={kind})", _ready(call, name, parameter.kind, make)


def _ready(call: Call, name: str, kind: Any, make: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> Any:
        value, given = make(), dict(call.given)
        if call.name == "virtual_cluster":
            with call.function(**{**given, name: value}):
                return None
        if kind is inspect.Parameter.VAR_POSITIONAL:
            return call.function(value, **given)
        if kind is inspect.Parameter.VAR_KEYWORD:
            return call.function(**given, anything=value)
        if kind is inspect.Parameter.POSITIONAL_ONLY:
            given.pop(name, None)
            return call.function(value, **given)
        return call.function(**{**given, name: value})

    return run


def outcome(run: Callable[[], Any], *, is_lookup: bool = False) -> str | None:
    """What is wrong with how a call ended, or None; `is_lookup` is one by index or key."""
    try:
        run()
    except wb.WorkbenchError as error:
        text = str(error)
        try:
            text.encode()
        except UnicodeEncodeError:
            return "its message cannot be printed"
        return None if text.strip() else "its message is empty"
    except TypeError as error:
        words = ("missing", "unexpected keyword", "positional argument", "multiple values")
        words += (
            ("indices must be", "to an index", "scalar index", "unhashable type")
            if is_lookup
            else ()
        )
        return None if any(word in str(error) for word in words) else f"TypeError: {error}"
    except LookupError as error:
        return None if is_lookup else f"{type(error).__name__}: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def calls_with_odd_answers(folder: Path) -> Mapping[str, Callable[[Any], Any]]:
    """Calls by what a function of the user returns in them, or what a list or dict holds."""
    compiled = wb.aot_compile(scaled, (X,))
    eager = folder / "eager.aot"
    wb.aot_compile(scaled, (X,), backend="eager").save(eager)
    sweep = wb.sweep(scaled, (X,), over={"backend": ["eager"]})
    small = torch.nn.Linear(2, 2)
    cluster, gpu = {"dp": 2}, folder / "g.pt2"
    return {
        "verify reference": lambda v: wb.verify(compiled, (X,), reference=lambda x: v),
        "verify args": lambda v: wb.verify(compiled, (v,)),
        "ranks build": lambda v: wb.ranks(lambda mesh: v, cluster, [0]),
        "ranks inputs": lambda v: wb.ranks(lambda mesh: (scaled, v), cluster, [0]),
        "scaling build": lambda v: wb.scaling(lambda mesh: v, [cluster]),
        "mesh": lambda v: wb.virtual_cluster({"dp": v}).__enter__(),
        "fits args": lambda v: wb.fits(lambda n: small, lambda n: v, total=4, grad=False),
        "fits model": lambda v: wb.fits(lambda n: v, (X,), total=4, grad=False),
        "fits layers": lambda v: wb.fits(small, (X,), layers=(v,)),
        "minify fails": lambda v: wb.minify(scaled, (X,), fails=lambda *_: v),
        "backend": lambda v: wb.aot_compile(scaled, (X,), backend=lambda *_: v),
        "guards": lambda v: wb.aot_compile(scaled, (X,), guards=lambda _: v, backend="eager"),
        "option": lambda v: wb.aot_compile(scaled, (X,), options={"max_autotune": v}),
        "variants call": lambda v: wb.variants(scaled, [lambda fn: v]),
        "package args": lambda v: wb.package(scaled, v, path=gpu),
        "package kwargs": lambda v: wb.package(scaled, (X,), v, path=gpu),
        "dynamic shapes": lambda v: wb.package(scaled, (X,), path=gpu, dynamic_shapes=v),
        "recompile": lambda v: wb.recompile(eager, v),
        "f_globals": lambda v: wb.load(eager, f_globals={"a": v}),
        "machine": lambda v: wb.check(eager, {"torch": v}),
        "expect": lambda v: wb.expect(compiled, kernels=v),
        "launches": lambda v: wb.launches([v]),
        "over": lambda v: wb.sweep(scaled, (X,), over={"mode": v}),
        "over value": lambda v: wb.sweep(scaled, (X,), over={"mode": [v]}),
        "isa": lambda v: compiled.save(folder / "z.aot", isa=[v]),
        "constraint": lambda v: sweep.best(constraint={"backend": v}),
        "constraint answer": lambda v: sweep.best(constraint=lambda trial: v),
        "toolkit": lambda v: wb.machine().toolkit_release(v),
    }
