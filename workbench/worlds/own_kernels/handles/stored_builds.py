"""What was compiled of a kernel's configurations, kept in the store of trials."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import torch

from workbench import __version__
from workbench.analysis.kernel_time.inner_loop import InnerLoop
from workbench.arguments import ask
from workbench.artifacts.trials.store import Store
from workbench.compiler.calls.content_key import hash_case
from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.compiler.kernels.kernel_variants import Variant, describe_assumed
from workbench.compiler.machine_code.code_readers import list_tool_versions
from workbench.compiler.virtual_gpu.kernel_choice import Built
from workbench.errors import ArtifactError
from workbench.plain_data import parse_json
from workbench.report.machine_rows import Resources
from workbench.report.trials import Trial
from workbench.settings import read_triton_switches
from workbench.specs import Gpu
from workbench.typed_data import read_row


@dataclass(frozen=True)
class _Stored:
    """What is kept of one configuration."""

    resources: Resources
    loop: InnerLoop | None


_COUNT_OF_LOOPS = 2  # raised where loops are counted in another manner than those that are stored


@dataclass
class StoredBuilds:
    """Answers for configurations of a kernel that the store has, and keeps those that are compiled.

    Kept is what has all its figures: what Triton refused, or took too long for, is tried again, and
    what a tool that is missing here left out may be had elsewhere. `unknown` names what the kernel
    depends on and cannot be compared: with any, nothing is taken from the store.
    """

    call: KernelCall
    store: Store
    with_loop: bool
    executor: Executor | None = None
    unknown: dict[str, None] = field(default_factory=dict)

    def name_build(self, gpu: Gpu, variant: Variant) -> Trial:
        """The row of a configuration, whose key is the hash of all that its code depends on."""
        assumed = {name: describe_assumed(value) for name, value in variant.arguments.items()}
        found = hash_case(self._digest, assumed, variant.constants, variant.options)
        self.unknown.update(dict.fromkeys(found.unknown))
        parts = [found.digest, asdict(gpu), self.with_loop and _COUNT_OF_LOOPS]
        key = hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()
        options = ", ".join(f"{name}={value}" for name, value in variant.options.items())
        choice = ", ".join(part for part in (variant.choice, options) if part)
        named = {"kernel": self.call.name, "target": gpu.name, "configuration": choice}
        return Trial(key, tuple(named.items()))

    def find(self, named: Mapping[Any, Trial]) -> dict[Any, Built]:
        """What the store has of these, by their keys; raises `ArtifactError` for a damaged one."""
        if self.unknown:
            return {}
        rows = self.store.find(trial.key for trial in named.values())
        return {
            key: self._read(rows[trial.key]) for key, trial in named.items() if trial.key in rows
        }

    def keep(self, trial: Trial, built: Built) -> None:
        """Store what was compiled, where it has all its figures."""
        row = built.resources
        if row is None or row.registers is None or row.blocks is None:
            return
        if self.unknown or built.note or (self.with_loop and built.loop is None):
            return
        content = json.dumps(asdict(_Stored(row, built.loop))).encode()
        self.store.keep(self._digest, trial, content)

    def _read(self, trial: Trial) -> Built:
        content = self.store.report(trial)
        try:
            stored = read_row(_Stored, parse_json((content or b"").decode()))
            resources = stored.resources
            if None in (resources.registers, resources.blocks):
                raise ValueError("a figure is missing")
        except ValueError as error:
            raise ArtifactError(
                f"The store {self.store.path} is damaged ({trial.title}: {error}). Use a different "
                "store, or delete this one to recompile its configurations."
            ) from error
        return Built(resources.config, resources, loop=stored.loop)

    @cached_property
    def _digest(self) -> str:
        """The kernel with what it calls, and the releases that compile it."""
        found = hash_case(self.call.jit, (), {}, {"releases": self._list_releases()})
        self.unknown.update(dict.fromkeys(found.unknown))
        return found.digest

    def _list_releases(self) -> list[str]:
        """The compilers; all workers of an executor are taken to be alike."""
        if self.executor is None:
            return list_releases()
        return ask(self.executor, list_releases)


def list_releases() -> list[str]:
    """What compiles kernels here, with versions and switches, and reads what they became."""
    import triton

    own = f"torch {torch.__version__}", f"triton {triton.__version__}", f"workbench {__version__}"
    return [*own, *list_tool_versions(), *read_triton_switches()]
