"""The ways to a result, as the child process goes them; each makes something to call."""

from __future__ import annotations

import builtins
import linecache
import random
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

from workbench.artifacts.archive.file_kinds import FUNCTION, PACKAGE, LoadableKind
from workbench.compiler.call_state.random_states import moved, read_random_states
from workbench.compiler.call_state.reachable import LeftValue, Marks, Reached, Root, walk_reachable
from workbench.compiler.internals.local_device import has_used_gpu, seed_gpus, wait_where_used
from workbench.handles.loading.loaders import find_loader
from workbench.load_steps import Stopwatch
from workbench.process_memory import read_peak_rss

SEED = 0
REPEATS = 1000  # the ten slowest are beyond the 99th percentile
_PLAIN = (torch.Tensor, bool, int, float, complex, str, bytes, type(None))
Loaded = Callable[..., Any]


def run_loader(order: Mapping[str, Any], watch: Stopwatch, outputs: Path) -> dict[str, Any]:
    """One way from the order to a steady state; its outputs are written to a file.

    Returns the stretches of time up to the first result, the seconds of later calls, and the peak
    of the process's resident memory in bytes.
    """
    _import(order["way"], order["kind"], watch)
    watch.begin("inputs")
    parcel = {"outside": {}, "receiver": [], **_parcel(order["inputs"])}
    linecache.cache.update(parcel["lines"])
    with _as_in_parent(parcel["state"], order):
        call = _WAYS[order["way"]](order, parcel, watch)
        watch.begin("inputs")  # not a part of loading
        before = Marks.of(walk_reachable(_roots(call, order, parcel)))
        seed()
        at_first = read_random_states()
        watch.begin("first_call")
        outcome = call(*parcel["args"], **parcel["kwargs"])
        wait_where_used()
        stretches = watch.intervals()
        drawn = moved(at_first, read_random_states())
        inputs = parcel["args"], parcel["kwargs"]
        leaves = flatten_plain(outcome, inputs) | state_leaves(before.changes(), before.names)
        if order["kind"] != PACKAGE:  # whose outputs are never those of Python
            leaves |= flatten_form(outcome, inputs, before.reached)
        leaves["random"] = [*drawn.items()]
        peak = read_peak_rss()
        if order.get("grad"):
            leaves |= flatten_gradients(outcome, inputs, before.reached)
        torch.save(leaves, outputs)
        del outcome, leaves
        calls_s = _calls_s(call, order)
    peak = peak if order.get("grad") else read_peak_rss()  # without what the gradients took
    return {"stretches": stretches, "calls_s": calls_s, "peak_rss_bytes": peak}


def _roots(call: Loaded, order: Mapping[str, Any], parcel: Mapping[str, Any]) -> list[Root]:
    """What a way can write to: that of a package stays inside of its library."""
    way = order["way"]
    if order["kind"] == PACKAGE:
        return [("", call)] if way == "eager" else []
    if way == "ours" and order["kind"] == FUNCTION:
        from workbench.handles.running.verify import list_roots

        return [*list_roots(call), *parcel["outside"].items()]  # type: ignore[arg-type]
    if way == "torch":
        return [*parcel["receiver"], *parcel["outside"].items()]
    original = getattr(call, "_torchdynamo_orig_callable", call)
    return [("", getattr(original, "_orig_mod", original))]


def seed() -> None:
    """The same random numbers in every process; `torch.manual_seed` itself imports a compiler."""
    random.seed(SEED)
    np.random.seed(SEED)
    torch.default_generator.manual_seed(SEED)
    if has_used_gpu():
        seed_gpus(SEED)


def flatten_plain(outputs: Any, inputs: Any) -> dict[str, list[tuple[str, Any]]]:
    """Outputs, and inputs as they are afterwards, as named leaves that any process can read."""
    from workbench.compiler.call_state.call_leaves import leaves_of

    by_place = {"output": leaves_of(outputs), "inputs": leaves_of(inputs)}
    return {
        where: [(name, leaf if isinstance(leaf, _PLAIN) else Opaque(leaf)) for name, leaf in leaves]
        for where, leaves in by_place.items()
    }


def state_leaves(changes: Mapping[str, LeftValue], names: Collection[str]) -> dict[str, Any]:
    """What a call has changed besides its inputs, and the names of everything that it reaches."""
    from workbench.compiler.call_state.call_leaves import leaves_of

    changed = [
        (name.replace("out", "", 1) if not place else f"{place}{name.removeprefix('out')}", leaf)
        for place, change in changes.items()
        for name, leaf in leaves_of(change.value)
    ]
    plain = [(name, leaf if isinstance(leaf, _PLAIN) else Opaque(leaf)) for name, leaf in changed]
    return {"state": plain, "reached": [(name, True) for name in names]}


def flatten_form(output: Any, inputs: Any, reached: Reached) -> dict[str, list[tuple[str, Any]]]:
    """What the outputs are besides their numbers."""
    from workbench.compiler.call_state.call_leaves import Forms

    return {"forms": [("output", Forms.of(output, inputs, reached.tensors))]}


def flatten_gradients(
    output: Any, inputs: Any, reached: Reached
) -> dict[str, list[tuple[str, Any]]]:
    """The gradients of inputs and of what is reached; zeros where there is none."""
    from workbench.compiler.call_state.call_leaves import leaves_of
    from workbench.compiler.calls.paths import Path as Place
    from workbench.compiler.calls.paths import leaves
    from workbench.compiler.comparison.trial import compute_gradients

    learned = {
        str(path): leaf
        for path, leaf in leaves(inputs, Place("call"))
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad and leaf.is_leaf
    } | reached.learned
    try:
        gradients = compute_gradients(output, learned)
    except RuntimeError as error:  # what autograd raises, for a value that was overwritten
        return {"gradients": [], "backward": [(str(error).partition("\n")[0], True)]}
    filled = {n: torch.zeros_like(learned[n]) if g is None else g for n, g in gradients.items()}
    rows = [
        (f"gradient of {name}{place.removeprefix('out')}", leaf)
        for name, gradient in filled.items()
        for place, leaf in leaves_of(gradient)
    ]
    return {"gradients": rows}


class Opaque:
    """Stands for an object that is neither a tensor nor a plain value: only its type is kept."""

    def __init__(self, value: Any):
        self.kind = type(value).__name__

    def __repr__(self) -> str:
        return f"a {self.kind}"


def _parcel(folder: str) -> dict[str, Any]:
    from workbench.processes.shipping.shipped_values import unpack

    return unpack(Path(folder))


@contextmanager
def _as_in_parent(state: Any, order: Mapping[str, Any]) -> Iterator[None]:
    if not order["way"].startswith("compile"):  # options of the compiler; to set them imports it
        state = replace(state, options={})
    no_grad = torch.no_grad() if order["no_grad"] else nullcontext()
    with state.applied(keep=frozenset()), no_grad:
        yield


def _calls_s(call: Loaded, order: Mapping[str, Any]) -> list[float]:
    """Seconds of repeated calls on inputs of their own."""
    from workbench.compiler.measuring.timing import time_runs

    parcel = _parcel(order["inputs"])

    def run() -> None:
        call(*parcel["args"], **parcel["kwargs"])
        wait_where_used()

    return list(time_runs(run, REPEATS))


def _import(way: str, kind: LoadableKind, watch: Stopwatch) -> None:
    """What a way imports beyond torch, which is all that eager needs."""
    if way == "eager":
        return
    watch.begin("imports")
    if way == "ours":
        find_loader(kind)
        return
    from workbench.compiler.internals import torch_private as tp

    if kind == PACKAGE and way == "torch":
        tp.AOTI_LOAD_PACKAGE.get()
    else:
        tp.AOT_COMPILED_FUNCTION.get()
        tp.INDUCTOR_CONFIG.get()


def _eager(order: Mapping[str, Any], parcel: Mapping[str, Any], watch: Stopwatch) -> Loaded:
    watch.begin("model")
    call: Loaded = _parcel(order["original"])["call"]
    return call


def _compile(order: Mapping[str, Any], parcel: Mapping[str, Any], watch: Stopwatch) -> Loaded:
    original = _eager(order, parcel, watch)
    watch.begin("compile")
    how = parcel["compile"]
    compiled: Loaded = torch.compile(original, **{"fullgraph": True, **how})
    return compiled


def _torch(order: Mapping[str, Any], parcel: Mapping[str, Any], watch: Stopwatch) -> Loaded:
    """The loader of torch itself, with the names handed back that a file cannot hold."""
    if order["kind"] == PACKAGE:
        return _torch_package(order, watch)
    from workbench.compiler.captured_code.specialized_values import resolve

    receiver: tuple[Any, ...] = ()
    if order["has_receiver"]:
        watch.begin("model")
        receiver = _parcel(order["original"])["receiver"]
        parcel["receiver"].extend(("", owner) for owner in receiver)
    watch.begin("load")
    vars(sys.modules["__main__"]).update(parcel["missing"])  # torch's unpickler asks there
    places = {name: resolve(place) for name, place in order["aliases"].items()}
    imports = {name: resolve(place) for name, place in order["imports"].items()}
    with Path(order["torch_file"]).open("rb") as file:
        loaded: Loaded = torch.compiler.load_compiled_function(
            file,
            f_globals={**vars(builtins), **places, **parcel["missing"]},
            external_data={**imports, **parcel["outside"]},
        )
    return (lambda *args, **kwargs: loaded(*receiver, *args, **kwargs)) if receiver else loaded


def _torch_package(order: Mapping[str, Any], watch: Stopwatch) -> Loaded:
    from workbench.compiler.internals import torch_private as tp

    state = _state(order, watch)
    watch.begin("load")
    loaded: Any = tp.AOTI_LOAD_PACKAGE.get()(order["file"], model_name=order["model"])
    if state is not None:
        loaded.load_constants(state, check_full_update=True)
    call: Loaded = loaded
    return call


def _state(order: Mapping[str, Any], watch: Stopwatch) -> dict[str, torch.Tensor] | None:
    """The weights of a package that holds none; None of every other file."""
    if order.get("has_weights", True):
        return None
    watch.begin("model")
    state: dict[str, torch.Tensor] = _parcel(order["original"])["call"].state_dict()
    return state


def _ours(order: Mapping[str, Any], parcel: Mapping[str, Any], watch: Stopwatch) -> Loaded:
    arguments = dict(parcel["load"])
    if "module" in order:
        watch.begin("model")
        owner = _parcel(order["module"])
        for module, name, entries in owner["noted"]:
            registry = getattr(import_module(module), name)
            for key in entries.keys() - registry.keys():
                dict.__setitem__(registry, key, entries[key])
        arguments["module"] = owner["call"]
    state = _state(order, watch)
    watch.begin("read")
    loaded: Any = find_loader(order["kind"])(order["file"], trust=order["digest"], **arguments)
    if state is not None:
        loaded.update_weights(state, model=order["model"])
    part = order.get("part")
    call: Loaded = loaded if part is None else loaded[part]
    return call


_WAYS: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any], Stopwatch], Loaded]] = {
    "eager": _eager,
    "compile_cold": _compile,
    "compile_warm": _compile,
    "torch": _torch,
    "ours": _ours,
}
