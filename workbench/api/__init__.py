"""What the user calls; each function wires the rooms together and holds no logic of its own.

Names are looked up when they are used: a process that loads a file imports nothing that compiles.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from workbench.api.compilation import *  # noqa: F403
    from workbench.api.evaluation import *  # noqa: F403
    from workbench.api.files import *  # noqa: F403
    from workbench.api.views import *  # noqa: F403
    from workbench.worlds.names import *  # noqa: F403

MODULES = (
    "workbench.api.files",
    "workbench.api.compilation",
    "workbench.api.evaluation",
    "workbench.api.views",
)
"""Modules whose `__all__` is public, searched in this order: a server only loads files."""
DOORS = {
    "compilation": "Functions that compile, and `warm_up`.",
}
"""What other rooms import of this one beside its names."""


def list_world_names() -> Mapping[str, str]:
    """Map the names that worlds add to the modules that define them."""
    from workbench.worlds.world import gather

    listed = ("workbench.errors", *MODULES)
    own = {name: module for module in listed for name in import_module(module).__all__}
    names = gather(lambda world: world.names, own, "name")
    return {name: module for name, module in names.items() if name not in own}


def __getattr__(name: str) -> Any:
    if name == "__all__":
        own = [public for module in MODULES for public in import_module(module).__all__]
        return [*own, *list_world_names()]
    if not name.startswith("_"):
        for module in map(import_module, MODULES):
            if name in module.__all__:
                return getattr(module, name)
        if (home := list_world_names().get(name)) is not None:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'workbench.api' has no attribute {name!r}")
