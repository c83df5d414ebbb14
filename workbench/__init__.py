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

import importlib
from typing import TYPE_CHECKING, Any

from workbench.report.presenting import install as _install

if TYPE_CHECKING:
    from workbench.analysis.sweep.sweep import Sweep
    from workbench.api import (
        aot_compile,
        aotinductor_names,
        check,
        compile_async,
        diff,
        explain,
        inspect,
        launches,
        load,
        machine,
        matrix,
        package,
        profile,
        read_trace,
        recompile,
        roundtrip,
        show,
        sign,
        sweep,
        targets,
        trust,
        trust_key,
        verify,
        why_recompiled,
    )
    from workbench.errors import (
        ArtifactError,
        BudgetError,
        CaptureError,
        ContractError,
        RunError,
        TrustError,
        UsageError,
        WorkbenchError,
    )
    from workbench.handles.package import Package
    from workbench.report.presenting import Presenter, SweepFiles
    from workbench.report.record import Report
    from workbench.settings import options

__version__ = "0.1.0"

_PUBLIC = {
    "workbench.api": (
        "aot_compile",
        "aotinductor_names",
        "check",
        "compile_async",
        "diff",
        "explain",
        "inspect",
        "launches",
        "load",
        "machine",
        "matrix",
        "package",
        "profile",
        "read_trace",
        "recompile",
        "roundtrip",
        "show",
        "sign",
        "sweep",
        "targets",
        "trust",
        "trust_key",
        "verify",
        "why_recompiled",
    ),
    "workbench.handles.package": ("Package",),
    "workbench.errors": (
        "ArtifactError",
        "BudgetError",
        "CaptureError",
        "ContractError",
        "RunError",
        "TrustError",
        "UsageError",
        "WorkbenchError",
    ),
    "workbench.report.record": ("Report",),
    "workbench.analysis.sweep.sweep": ("Sweep",),
    "workbench.settings": ("options",),
}

__all__ = [
    "ArtifactError",
    "BudgetError",
    "CaptureError",
    "ContractError",
    "Package",
    "Report",
    "RunError",
    "Sweep",
    "TrustError",
    "UsageError",
    "WorkbenchError",
    "aot_compile",
    "aotinductor_names",
    "check",
    "compile_async",
    "diff",
    "explain",
    "inspect",
    "launches",
    "load",
    "machine",
    "matrix",
    "options",
    "package",
    "profile",
    "read_trace",
    "recompile",
    "roundtrip",
    "show",
    "sign",
    "sweep",
    "targets",
    "trust",
    "trust_key",
    "verify",
    "why_recompiled",
]


def __getattr__(name: str) -> Any:
    for module, names in _PUBLIC.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'workbench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])


def _presenter() -> Presenter:
    from workbench.views import presenting

    return presenting


def _sweep_files() -> SweepFiles:
    from workbench.api import sweep_files

    return sweep_files


_install(_presenter, _sweep_files)


def load_ipython_extension(ipython: Any) -> None:
    """`%load_ext workbench`."""
    from workbench.notebook.extension import load

    load(ipython)


def unload_ipython_extension(ipython: Any) -> None:
    """`%unload_ext workbench`."""
    from workbench.notebook.extension import unload

    unload(ipython)
