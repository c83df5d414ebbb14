"""What needs torch or Linux says so before anything of it is imported."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from workbench.errors import WorkbenchError

_P = ParamSpec("_P")
_T = TypeVar("_T")
_HERE = "Reports and file contents can be read here."


def require_torch(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """The same function; where it cannot run it raises `WorkbenchError` in one sentence."""

    @functools.wraps(function)
    def called(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if sys.platform != "linux":
            raise WorkbenchError(f"{function.__name__} needs Linux: run it there. {_HERE}")
        if "torch" not in sys.modules and importlib.util.find_spec("torch") is None:
            raise WorkbenchError(
                f"{function.__name__} needs torch: install it (`pip install torch`). {_HERE}"
            )
        return function(*args, **kwargs)

    return called
