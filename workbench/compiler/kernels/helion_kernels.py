"""The Triton kernel that Helion writes for a call, taken as a call of that kernel.

What Helion documents is used: `kernel.bind(args).to_triton_code(config)` gives a module, whose
function of the kernel's own name hands `_launcher` the kernel, its grid and its arguments;
`kernel.normalize_args` puts what is given by name in its place.
"""

from __future__ import annotations

import hashlib
import linecache
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.compiler.kernels.kernel_call import KernelCall
from workbench.errors import UsageError
from workbench.number_text import plural

HELION = "_helion_"
"""How Helion (1.5) begins the names of its kernels; their blocks are constants of the module."""


def is_helion(function: Any) -> bool:
    """Whether it is what `helion.kernel` made."""
    return type(function).__module__.startswith("helion.") and hasattr(function, "bind")


def read_helion(function: Any, args: Sequence[Any], named: Mapping[str, Any]) -> KernelCall:
    """The call that Helion's program makes in a configuration: `config=`, or Helion's own.

    Raises `UsageError` where Helion refuses, or its program launches no kernel, or several.
    """
    arguments = dict(named)
    config = arguments.pop("config", None)
    name = getattr(function, "name", None) or function.fn.__name__
    try:
        values = function.normalize_args(*args, **arguments)
        bound = function.bind(values)
        chosen = config or next(iter(function.configs), None) or bound.config_spec.default_config()
        text = bound.to_triton_code(chosen)
    except Exception as error:  # Helion is asked, and raises what it likes
        raise UsageError(
            f"Helion generates no Triton code for {name} ({type(error).__name__}): {error}"
        ) from error
    launches: list[KernelCall] = []

    def launch(kernel: Any, grid: Any, *handed: Any, **options: Any) -> None:
        launches.append(KernelCall.of(kernel, handed, grid, options))

    file = f"generated/{name}_{hashlib.sha256(text.encode()).hexdigest()[:12]}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"__name__": f"generated_{name}", "__file__": file}
    exec(compile(text, file, "exec"), scope)
    try:
        scope[name](*values, _launcher=launch)
    except UsageError:
        raise
    except Exception as error:  # it asks for a GPU's processors, or is the user's own
        raise UsageError(
            f"Helion's program for {name} fails before it launches its kernel "
            f"({type(error).__name__}): {error}. A persistent pid_type queries the SM count of "
            "this machine's GPU."
        ) from error
    if len(launches) != 1:
        raise UsageError(
            f"Helion's program for {name} launches {plural(len(launches), 'kernel')}: pass one of "
            "them to wb.kernel, from its to_triton_code."
        )
    return launches[0]
