"""Replacements of attributes and entries of other modules, undone together, last first."""

from __future__ import annotations

from collections.abc import MutableMapping
from contextlib import ExitStack
from functools import partial
from typing import Any

from workbench.compiler.internals.torch_private import Name

_ABSENT = object()


class ProcessPatches(ExitStack):
    """Replaces what a process believes about its machine, until it is left.

    Unlike `Patches`, which watch one thread, these hold for the whole process: use them where
    nothing else runs.
    """

    def attribute(self, holder: Any, name: str, value: object) -> None:
        """Set one attribute of a module or class; one that was not there is removed later."""
        before = vars(holder).get(name, _ABSENT)
        setattr(holder, name, value)
        if before is _ABSENT:
            self.callback(delattr, holder, name)
        else:
            self.callback(setattr, holder, name, before)

    def name(self, name: Name, value: object) -> None:
        """Set one private name of torch, whether this release and build has it or not."""
        path, _, attribute = name.attribute.rpartition(".")
        self.attribute(Name(f"{name.module}:{path}", name.used_for).get(), attribute, value)

    def entry(self, mapping: MutableMapping[Any, Any], key: Any, value: object) -> None:
        """Set one entry of a mapping; one that was not there is removed later."""
        before = mapping.get(key, _ABSENT)
        mapping[key] = value
        if before is _ABSENT:
            self.callback(mapping.pop, key, None)
        else:
            self.callback(partial(mapping.__setitem__, key, before))
