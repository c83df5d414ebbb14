"""What opens each kind of file that can be called; imported when a file of the kind is met."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.artifacts.archive.file_kinds import FUNCTION, PACKAGE, VARIANTS, LoadableKind


def find_loader(kind: LoadableKind) -> Callable[..., Any]:
    """Find a file's loader, called with path, `module`, `trust`, `check`, `opened` and options."""
    return _FINDERS[kind]()


def _find_function_loader() -> Callable[..., Any]:
    from workbench.handles.loading.load import load_compiled

    return load_compiled


def _find_package_loader() -> Callable[..., Any]:
    from workbench.handles.packages import load_package

    return load_package


def _find_variants_loader() -> Callable[..., Any]:
    from workbench.handles.loading.frame_variants import load_variants

    return load_variants


_FINDERS = {
    FUNCTION: _find_function_loader,
    PACKAGE: _find_package_loader,
    VARIANTS: _find_variants_loader,
}
