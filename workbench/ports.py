"""Where records find what shows them; the package's `__init__`, which runs first, names it.

A file of its own, without imports: importing the package costs no more than these lines.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in `typing`, which takes longer to import than everything here
if TYPE_CHECKING:
    from collections.abc import Callable

    from workbench.report.presenter import Presenter, SweepFiles


class Ports:
    """Functions that import the implementations; each is called whenever one is needed."""

    presenter: Callable[[], Presenter]
    sweep_files: Callable[[], SweepFiles]
