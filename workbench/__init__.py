"""A compilation workbench for PyTorch: compile ahead of time, look inside, save, load, verify.

>>> import torch
>>> import workbench as wb
>>> def f(x):
...     return torch.relu(x + 1) * 2
>>> x = torch.randn(64, 64)
>>> compiled = wb.aot_compile(f, (x,))
>>> digest = compiled.save("f.aot")
>>> torch.equal(wb.load("f.aot")(x), f(x))
True

The examples of the other docstrings go on from these lines.

Importing the package imports neither torch nor IPython: public names are looked up when used.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than everything here
if TYPE_CHECKING:
    from typing import Any

    from workbench.api import *  # noqa: F403
    from workbench.errors import *  # noqa: F403
    from workbench.handles.packages.package import Package as Package
    from workbench.report.presenter import Presenter
    from workbench.report.record import Report as Report
    from workbench.settings import options as options

__version__ = "0.2.0"

_HOMES = {
    "Package": "workbench.handles.packages.package",
    "Report": "workbench.report.record",
    "options": "workbench.settings",
}
"""Where names are defined that no `__all__` of the errors or of the API lists."""


def __getattr__(name: str) -> Any:
    if name == "__all__":
        listed = (_module(module).__all__ for module in ("workbench.errors", "workbench.api"))
        return sorted([*_HOMES, *(public for names in listed for public in names)])
    if not name.startswith("_"):
        _warn_of_other_owner()
        for module in (_HOMES[name],) if name in _HOMES else _listed():
            home = _module(module)
            if name in _HOMES or name in home.__all__:
                return getattr(home, name)
        home = _module("workbench.api").list_world_names().get(name)
        if home is not None:
            return getattr(_module(home), name)
    raise AttributeError(f"module 'workbench' has no attribute {name!r}")


def _warn_of_other_owner() -> None:
    # at the first use, not while importing: looking takes a fifth of a millisecond
    from workbench.installation import warn_of_other_owner

    warn_of_other_owner()


def _listed() -> tuple[str, ...]:
    """Modules whose `__all__` is public here."""
    return ("workbench.errors", *_module("workbench.api").MODULES)


def _module(name: str) -> Any:
    from importlib import import_module

    return import_module(name)


def find_presenter() -> Presenter:
    """What shows records: the package hands the views down to them, which lie on a lower floor."""
    from workbench.views.presenters import VIEWS

    return VIEWS


def __dir__() -> list[str]:
    return sorted([*__getattr__("__all__"), "__version__"])


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext workbench`."""
    _warn_of_other_owner()
    from workbench.notebook.magics import load

    load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """`%unload_ext workbench`."""
    from workbench.notebook.magics import unload

    unload(ipython)
