"""Calls of Python's random module that Dynamo takes out of a compiled function, in the file.

Files name this module, so it stays where it is.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import random
from collections.abc import Mapping
from typing import Any

from workbench.compiler.internals import torch_private as tp

_PREFIX = "__gen_rand_values"  # how Dynamo names the function that makes them


@dataclasses.dataclass(frozen=True)
class RandomValues:
    """What the bytecode calls to get new random values, each time.

    `calls` are names in the random module with the arguments.
    """

    calls: tuple[tuple[str, tuple[Any, ...], Mapping[str, Any]], ...]

    def __call__(self) -> list[Any]:
        """One value for each call, from the random state of the process."""
        return [getattr(random, name)(*args, **kwargs) for name, args, kwargs in self.calls]


def convert_random_calls(aot_fn: Any) -> Any:
    """The compiled function with its random calls in a form that is written to a file.

    Dynamo leaves them in a closure that no other process has. The same function comes back where
    it has none, or calls a generator of its own.
    """
    artifacts = tp.artifacts_of(aot_fn)
    env = artifacts.runtime_env
    scope = aot_fn.fn.__globals__
    names = [name for name in env.external_refs if name.startswith(_PREFIX) and name in scope]
    converted = {
        name: replacement
        for name in names
        if (replacement := _random_values(scope[name])) is not None
    }
    if not converted:
        return aot_fn
    env = dataclasses.replace(env, used_globals={**env.used_globals, **converted})
    twin = copy.copy(aot_fn)
    setattr(twin, tp.ARTIFACTS, dataclasses.replace(artifacts, runtime_env=env))
    return twin


def _random_values(function: Any) -> RandomValues | None:
    if isinstance(function, RandomValues):
        return function
    closure = inspect.getclosurevars(inspect.unwrap(function)).nonlocals
    calls = [(call.__name__, call, args, kwargs) for call, args, kwargs in closure["random_calls"]]
    if any(getattr(random, name, None) != call for name, call, _, _ in calls):
        return None
    return RandomValues(tuple((name, tuple(args), dict(kw)) for name, _, args, kw in calls))
