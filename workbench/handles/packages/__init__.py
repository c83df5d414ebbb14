"""Packages as they are made and opened: here, for a virtual GPU, as one of several variants."""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

    from workbench.artifacts.archive.file_kinds import OpenedFile
    from workbench.artifacts.trust.trust import Trust
    from workbench.handles.packages.package import Package

DOORS = {
    "comparisons": "Compares a package with eager, and its measured with its counted memory.",
    "package": "A package that is called like its model, and the function that writes packages.",
}
"""What other rooms import of this one."""


def load_package(
    path: str | PathLike[str],
    *,
    module: Any | None = None,
    trust: Trust = False,
    num_runners: int = 1,
    check: bool = True,
    variant: str | None = None,
    is_elsewhere: bool = False,
    opened: OpenedFile | None = None,
) -> Package:
    """Open a `.pt2` file as a callable; see `workbench.load`.

    `opened` is the open file, if the caller has already opened it to detect its type.
    """
    from workbench.handles.packages.package_parts import open_package_parts

    chosen = num_runners, check, variant, is_elsewhere
    with open_package_parts(path, trust, *chosen, opened=opened) as parts:
        from workbench.handles.packages.package import Package  # while the library is copied

        package = Package(parts)
    if module is not None:
        package.update_weights(module)
    return package
