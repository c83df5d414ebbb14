"""What the user calls; each function wires the rooms together and holds no logic of its own.

Names are looked up when they are used: a process that loads a file imports nothing that compiles.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from typing import Any

    from workbench.analysis.sweep.goals import OBJECTIVES as OBJECTIVES
    from workbench.analysis.sweep.goals import STRATEGIES as STRATEGIES
    from workbench.api.compilation import *  # noqa: F403
    from workbench.api.compilation import warm_up as warm_up
    from workbench.api.evaluation import *  # noqa: F403
    from workbench.api.files import *  # noqa: F403
    from workbench.api.programs import *  # noqa: F403
    from workbench.api.views import *  # noqa: F403
    from workbench.api.views import target_names as target_names
    from workbench.compiler.contract.compile_request import GUARD_POLICIES as GUARD_POLICIES
    from workbench.compiler.contract.compile_request import MODES as MODES
    from workbench.device_kinds import TARGETS as TARGETS

MODULES = (
    "workbench.api.files",
    "workbench.api.compilation",
    "workbench.api.evaluation",
    "workbench.api.programs",
    "workbench.api.views",
)
"""Modules whose `__all__` is public, searched in this order: a server only loads files."""
_HOMES = {
    "GUARD_POLICIES": "workbench.compiler.contract.compile_request",
    "MODES": "workbench.compiler.contract.compile_request",
    "OBJECTIVES": "workbench.analysis.sweep.goals",
    "STRATEGIES": "workbench.analysis.sweep.goals",
    "TARGETS": "workbench.device_kinds",
    "target_names": "workbench.api.views",
    "warm_up": "workbench.api.compilation",
}
"""Where the other names are defined."""


def __getattr__(name: str) -> Any:
    if not name.startswith("_"):
        for module in (_HOMES[name],) if name in _HOMES else MODULES:
            found = import_module(module)
            if name in _HOMES or name in found.__all__:
                return getattr(found, name)
    raise AttributeError(f"module 'workbench.api' has no attribute {name!r}")
