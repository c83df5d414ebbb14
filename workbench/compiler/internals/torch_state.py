"""The state of torch that a compilation depends on: compared at every call, taken to the worker."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.local_device import read_product_precision, set_product_precision
from workbench.device_kinds import AUTOCAST, CPU, GPU
from workbench.errors import UsageError

_CURES = {
    "grad_mode": "call it under the grad mode it was compiled for (torch.no_grad() or "
    "torch.enable_grad()), or compile with grad=True / grad=False",
    "autocast_state": (
        "call it under the same torch.autocast as when compiled, or recompile under this one"
    ),
    "default_dtype": "restore torch.set_default_dtype, or recompile",
    "deterministic_algorithms": "restore torch.use_deterministic_algorithms, or recompile",
}
# numbers of c10::ScalarType
_DTYPES = {
    5: "float16",
    6: "float32",
    7: "float64",
    15: "bfloat16",
}
_IGNORED = ("num_threads",)
# numbers of Float32Precision: "none" and "ieee" are both exact, and "highest" sets either
_EXACT = {"cuda_matmul_precision": (0, 1)}
_AUTOCAST_STATE = "autocast_state"
_AUTOCAST_DTYPE = "autocast's dtype"


class GlobalState:
    """A snapshot that the current state is compared with on every call (about 0.1 µs).

    The thread count is not compared: generated code is right for any, and a file moves between
    machines.
    """

    def __init__(self, snapshot: Mapping[str, Any]) -> None:
        self.snapshot = dict(snapshot)
        self._guard = self._build()

    @classmethod
    def current(cls) -> GlobalState:
        """The state of this moment."""
        return cls(_now())

    def restore_torch_function(self) -> None:
        """Switch torch function on where it was on before torch's guards were asked.

        A tree of guards switches it off while it looks, and leaves it off for the thread when a
        guard raises instead of answering (torch 2.13: at the strides of a nested tensor).
        """
        if self.snapshot.get("torch_function"):
            tp.SET_FUNCTION_STATE.get()(tp.FUNCTION_STATE.get().ENABLED)

    @property
    def grad_mode(self) -> bool:
        """Whether grad mode was on."""
        return bool(self.snapshot["grad_mode"])

    @property
    def autocast(self) -> str | None:
        """The devices for which autocast was on, as text, or None."""
        enabled = self.snapshot["autocast_state"]["enabled"]
        return f"{sum(map(bool, enabled))} device type(s)" if any(enabled) else None

    @property
    def quick(self) -> Callable[[], bool]:
        """A check in C++ that also compares the thread count; `holds` decides when it says no."""
        check: Callable[[], bool] = self._guard.check
        return check

    def _build(self) -> Any:
        guard = tp.GLOBAL_STATE_GUARD.get()()
        now = _now()
        same = (n for n in now if n in self.snapshot and _is_same(n, self.snapshot[n], now[n]))
        merged = {**self.snapshot, **{name: now[name] for name in same}}
        guard.__setstate__(json.dumps(merged))
        return guard

    def holds(self) -> bool:
        """Whether the current state is the one of the snapshot."""
        if self._guard.check():
            return True
        if any(self._differences()):
            return False
        self._guard = self._build()
        return bool(self._guard.check())

    def _differences(self) -> Iterator[tuple[str, Any, Any]]:
        now = _now()
        for name, expected in self.snapshot.items():
            if not _is_same(name, expected, now.get(name)):
                yield name, expected, now.get(name)

    def mismatches(self) -> list[str]:
        """A sentence for each difference: what was compiled for, what is now, the cure."""
        problems = []
        for name, expected, actual in self._differences():
            words = name.removesuffix("_state").replace("_", " ")
            if name == _AUTOCAST_STATE:
                words, expected, actual = _of_autocast(expected, actual)
            cure = _CURES.get(name, "restore it, or recompile under the current state")
            if name == "default_dtype":  # a number in the snapshot
                expected, actual = (_DTYPES.get(n, n) for n in (expected, actual))
            problems.append(f"{words}: compiled for {_say(expected)}, now {_say(actual)} ({cure})")
        return problems

    def not_compared(self) -> dict[str, str]:
        """What differs and no call compares, by its name: the dtype of an autocast that is off.

        Code may enter autocast without a dtype; Inductor's goes on with that of the compilation.
        """
        pairs = self.snapshot[_AUTOCAST_STATE], _now()[_AUTOCAST_STATE]
        off = ({**one, "enabled": []} for one in pairs)
        words, expected, actual = _of_autocast(*off)
        if any(self._differences()) or not words.startswith(_AUTOCAST_DTYPE):
            return {}
        return {
            words: f"not compared, because autocast is off: compiled for {expected}, now {actual}"
        }


@contextmanager
def restore_autocast(snapshot: Mapping[str, Any]) -> Iterator[None]:
    """Turn autocast on where the snapshot has it on, and off elsewhere.

    Guards on tensors take the dispatch keys of the moment in which they are built or read back.
    """
    enabled = snapshot["autocast_state"]["enabled"]
    with ExitStack() as stack:
        for device in AUTOCAST:
            before = torch.is_autocast_enabled(device)
            stack.callback(torch.set_autocast_enabled, device, before)
            here = _enabled()
            torch.set_autocast_enabled(device, not before)
            there = _enabled()
            # the snapshot numbers the devices: this one's place is where the two differ
            place = next(
                i for i, pair in enumerate(zip(here, there, strict=True)) if len({*pair}) > 1
            )
            torch.set_autocast_enabled(device, bool(enabled[place]))
        yield


def _is_same(name: str, one: Any, other: Any) -> bool:
    """Whether code that was compiled under one value of a state is right under the other."""
    if name == _AUTOCAST_STATE and isinstance(other, dict):
        return _read_of_autocast(one) == _read_of_autocast(other)
    exact = _EXACT.get(name, ())
    return name in _IGNORED or one == other or (one in exact and other in exact)


def _read_of_autocast(state: Mapping[str, Any]) -> Mapping[str, Any]:
    """What of autocast's state code can read: off, it keeps no casts, whatever its cache is set to.

    The export of TorchScript to ONNX leaves the cache off where tracing raises (torch 2.13). The
    dtype of a device for which it is off is not compared by torch's own guard, which calls ask.
    """
    pairs = zip(state["enabled"], state["dtype"], strict=True)
    readable = {**state, "dtype": [dtype if is_on else None for is_on, dtype in pairs]}
    return readable if any(state["enabled"]) else {**readable, "cached_enabled": None}


def _of_autocast(expected: Mapping[str, Any], actual: Mapping[str, Any]) -> tuple[str, Any, Any]:
    """What of autocast differs, with both values: where it is on, else its dtype, else its cache.

    The state has a place for each kind of device, those of the CPU and of CUDA first.
    """
    for what, words in (("enabled", "autocast"), ("dtype", _AUTOCAST_DTYPE)):
        for place, (one, other) in enumerate(zip(expected[what], actual[what], strict=False)):
            if one != other:
                device = f" on {AUTOCAST[place]}" if place < 2 else ""
                if what == "dtype":
                    one, other = (_DTYPES.get(number, number) for number in (one, other))
                return f"{words}{device}", one, other
    return "autocast's cache", expected["cached_enabled"], actual["cached_enabled"]


def _enabled() -> list[bool]:
    return [bool(one) for one in _now()["autocast_state"]["enabled"]]


def _say(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def _now() -> dict[str, Any]:
    state: dict[str, Any] = json.loads(tp.GLOBAL_STATE_GUARD.get()().__getstate__())
    return state


_CONFIGS = {
    "dynamo": tp.DYNAMO_CONFIG,
    "inductor": tp.INDUCTOR_CONFIG,
    "functorch": tp.FUNCTORCH_CONFIG,
}
_CUDNN: Any = torch.backends.cudnn  # without types for what it has for each operator


@dataclass(frozen=True)
class TorchState:
    """Modes, threads and options; `options` holds what differs from its default, by config module.

    `guarded` is the state that torch's guards compare, as JSON.
    """

    grad: bool
    dtype: torch.dtype
    matmul_precision: str | None  # None where the user set it for each backend
    fp32: Mapping[str, str]
    deterministic: tuple[bool, bool]
    autocast: Mapping[str, tuple[bool, torch.dtype]]
    threads: int
    guarded: str
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def current(cls) -> TorchState:
        """The state of this thread."""
        return cls(
            grad=torch.is_grad_enabled(),
            dtype=torch.get_default_dtype(),
            matmul_precision=_matmul_precision(),
            fp32=_fp32(),
            deterministic=_deterministic(),
            autocast={
                kind: (torch.is_autocast_enabled(kind), torch.get_autocast_dtype(kind))
                for kind in (GPU, CPU)
            },
            threads=torch.get_num_threads(),
            guarded=_guarded(),
            options={name: _changed(row) for name, row in _CONFIGS.items()},
        )

    @contextmanager
    def applied(self, keep: frozenset[str]) -> Iterator[None]:
        """Work under this state; options of Inductor named in `keep` stay as they are here."""
        with ExitStack() as stack:
            if self.threads != torch.get_num_threads():
                stack.callback(torch.set_num_threads, torch.get_num_threads())
                torch.set_num_threads(self.threads)
            stack.callback(torch.set_default_dtype, torch.get_default_dtype())
            torch.set_default_dtype(self.dtype)
            stack.callback(_set_precision, _matmul_precision(), _fp32())
            _set_precision(self.matmul_precision, self.fp32)
            stack.callback(_determine, *_deterministic())
            _determine(*self.deterministic)
            stack.enter_context(torch.set_grad_enabled(self.grad))
            for kind, (enabled, dtype) in self.autocast.items():
                if enabled:
                    stack.enter_context(torch.autocast(kind, dtype))
            for name, values in self.options.items():
                others = {key: value for key, value in values.items() if key not in keep}
                if others:
                    stack.enter_context(_CONFIGS[name].get().patch(others))
            yield

    @contextmanager
    def reproduced(self) -> Iterator[None]:
        """Work under this state; raises `UsageError` where this process cannot have all of it."""
        with self.applied(keep=frozenset()):
            there, here = json.loads(self.guarded), json.loads(_guarded())
            differing = [n for n in there if not _is_same(n, there[n], here.get(n))]
            if differing:
                raise UsageError(
                    f"The worker cannot have the same {', '.join(differing)} as this process. "
                    "Compile it here with aot_compile."
                )
            yield


def _guarded() -> str:
    return json.dumps(GlobalState.current().snapshot, sort_keys=True)


def read_tf32_uses() -> tuple[str, ...]:
    """What torch's libraries may compute in TF32, as in `Request.tf32`."""
    # for products "bf16" means that less than TF32 will do
    return tuple(use for use, precision in _fp32().items() if precision in ("tf32", "bf16"))


def _fp32() -> dict[str, str]:
    """How values in float32 are multiplied on a GPU: "none" and "ieee" are exact."""
    return {
        "products": read_product_precision(),
        "convolutions": _CUDNN.conv.fp32_precision,
    }


def _matmul_precision() -> str | None:
    try:
        return torch.get_float32_matmul_precision()
    except RuntimeError:  # set for each backend, which the older function cannot say
        return None


def _set_precision(matmul: str | None, fp32: Mapping[str, str]) -> None:
    if matmul is not None:
        torch.set_float32_matmul_precision(matmul)
    set_product_precision(fp32["products"])
    if _CUDNN.conv.fp32_precision != fp32["convolutions"]:
        _CUDNN.conv.fp32_precision = fp32["convolutions"]


def _deterministic() -> tuple[bool, bool]:
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )


def _determine(enabled: bool, warn_only: bool) -> None:
    if (enabled, warn_only) != _deterministic():  # setting it imports torch's compiler
        torch.use_deterministic_algorithms(enabled, warn_only=warn_only)


def _changed(row: tp.Name) -> dict[str, Any]:
    """Options that the user changed; a module that was not imported has none."""
    if row.module not in sys.modules:
        return {}
    config = row.get()
    is_default = getattr(config, "_is_default", lambda name: True)
    return {name: v for name, v in config.get_config_copy().items() if not is_default(name)}
