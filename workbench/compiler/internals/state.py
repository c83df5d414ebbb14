"""The global state a compilation depends on: grad mode, autocast, determinism, default dtype."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from workbench.compiler.internals import torch_private as tp

_CURES = {
    "grad_mode": "call it under the grad mode it was compiled for (torch.no_grad() or "
    "torch.enable_grad()), or compile with grad=True / grad=False",
    "autocast_state": "call it under the same torch.autocast as when compiling, or compile under "
    "this one",
    "default_dtype": "restore torch.set_default_dtype, or compile again",
    "deterministic_algorithms": "restore torch.use_deterministic_algorithms, or compile again",
}
_IGNORED = ("num_threads",)
_AUTOCAST_DEVICES = ("cpu", "cuda", "xpu")


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
        merged = {**self.snapshot, **{name: _now()[name] for name in _IGNORED}}
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
            if name not in _IGNORED and now.get(name) != expected:
                yield name, expected, now.get(name)

    def mismatches(self) -> list[str]:
        """A sentence for each difference: what was compiled for, what is now, the cure."""
        problems = []
        for name, expected, actual in self._differences():
            words = name.removesuffix("_state").replace("_", " ")
            cure = _CURES.get(name, "restore it, or compile again under the current state")
            problems.append(f"{words}: compiled for {_say(expected)}, now {_say(actual)}; {cure}")
        return problems


@contextmanager
def autocast_of(snapshot: Mapping[str, Any]) -> Iterator[None]:
    """Turn autocast on where the snapshot has it on, and off elsewhere.

    Guards on tensors take the dispatch keys of the moment in which they are built or read back.
    """
    wanted = snapshot["autocast_state"]["enabled"]
    with ExitStack() as stack:
        for device in _AUTOCAST_DEVICES:
            before = torch.is_autocast_enabled(device)
            stack.callback(torch.set_autocast_enabled, device, before)
            here = _enabled()
            torch.set_autocast_enabled(device, not before)
            there = _enabled()
            # the snapshot numbers the devices: this one's place is where the two differ
            place = next(
                i for i, pair in enumerate(zip(here, there, strict=True)) if len({*pair}) > 1
            )
            torch.set_autocast_enabled(device, bool(wanted[place]))
        yield


def _enabled() -> list[bool]:
    return [bool(one) for one in _now()["autocast_state"]["enabled"]]


def _say(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, dict) and "enabled" in value:
        return "on" if any(value["enabled"]) else "off"
    return str(value)


def _now() -> dict[str, Any]:
    state: dict[str, Any] = json.loads(tp.GLOBAL_STATE_GUARD.get()().__getstate__())
    return state
