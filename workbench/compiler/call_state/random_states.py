"""The random states of torch, Python and numpy: which of them a call moves on."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch

BEGINNING = "random state of "
"""How the names of random states begin."""
TORCH_RANDOM = f"{BEGINNING}torch"


@contextlib.contextmanager
def keep_random_state() -> Iterator[None]:
    """Put the random state of torch, Python and numpy back."""
    own, of_numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng():
        try:
            yield
        finally:
            random.setstate(own)
            np.random.set_state(of_numpy)


def read_random_states() -> dict[str, bytes]:
    """The states as they are now, by name."""
    numpy: Any = np.random.get_state(legacy=False)
    states = {
        TORCH_RANDOM: torch.random.get_rng_state().numpy().tobytes(),
        f"{BEGINNING}Python": repr(random.getstate()).encode(),
        f"{BEGINNING}numpy": repr(sorted(numpy.items())).encode() + numpy["state"]["key"].tobytes(),
    }
    accelerator = torch.accelerator.current_accelerator()  # by the build: starts no driver
    device: Any = None if accelerator is None else torch.get_device_module(accelerator)
    # torch.mps has one state, and nothing that says whether it is in use
    if accelerator is not None and getattr(device, "is_initialized", bool)():
        for index in range(device.device_count()):
            state = device.get_rng_state(index).numpy().tobytes()
            states[f"{TORCH_RANDOM} on {accelerator.type}:{index}"] = state
    return states


def moved(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> dict[str, bytes]:
    """The states that a call has moved on."""
    return {name: state for name, state in after.items() if before.get(name) != state}


def difference(expected: bytes | None, actual: bytes | None) -> str:
    """In which way two states differ, None being one that was not moved on."""
    if actual is None:
        return "only eager draws random numbers"
    if expected is None:
        return "only the compiled code draws random numbers"
    return "the call leaves a different random state than eager"
