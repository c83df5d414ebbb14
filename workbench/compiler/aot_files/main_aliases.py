"""Classes of a script or notebook, found again under `__main__` while a file is read."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


@contextmanager
def classes_in_main(
    module: Any | None, f_globals: Mapping[str, Any] | None = None
) -> Iterator[None]:
    """Let `__main__.Model` in a pickle be found, wherever that class is defined here.

    The classes are those in the tree of `module` and those among `f_globals`.
    """
    main = sys.modules["__main__"]
    parts = getattr(module, "modules", None)
    found = {type(part).__qualname__: type(part) for part in parts()} if callable(parts) else {}
    found |= {n: v for n, v in (f_globals or {}).items() if isinstance(v, type)}
    added = [name for name in found if name.isidentifier() and not hasattr(main, name)]
    for name in added:
        setattr(main, name, found[name])
    try:
        yield
    finally:
        for name in added:
            delattr(main, name)
