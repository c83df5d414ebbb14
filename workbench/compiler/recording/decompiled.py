"""Bytecode as Python source, by depyf where it is installed."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import warnings
from types import CodeType, ModuleType

_INSTALL = "depyf writes bytecode as Python: pip install 'aot-workbench[decompile]'"
_STOPPED = re.compile(r"opname='(\w+)'")
_TEMPORARY = re.compile(r"\b__temp_\d+\b")
_NAMES = {"<lambda>": "lambda_", "<module>": "module_"}
"""Functions whose names cannot be written in a `def`."""
NEWEST_READ = (3, 12)
"""The newest Python whose bytecode depyf 0.20 reads; it takes that of 3.13 for another's."""


def decompiled(code: CodeType) -> tuple[str | None, str | None]:
    """The source of a function that does the same, or None and the sentence that says why not.

    depyf puts a value where it is used, so that two calls may stand in another order than they run;
    its own names are numbered from 0 here, where it counts them within the process.
    """
    depyf = _depyf()
    if isinstance(depyf, str):
        return None, depyf
    here = sys.version_info[:2]
    if here > NEWEST_READ:
        return (
            None,
            f"depyf {depyf.__version__} does not read bytecode of Python {here[0]}.{here[1]}",
        )
    # past the method's cache, which would keep every code object for good
    write = depyf.Decompiler.decompile.__wrapped__
    try:
        text = write(depyf.Decompiler(code), overwite_fn_name=_NAMES.get(code.co_name))
        return _tidy(text), None
    except depyf.decompiler.DecompilationError as error:
        stopped = _STOPPED.search(str(error))
        where = f"at {stopped[1]}" if stopped else f"there: {error}"
        return None, f"depyf {depyf.__version__} does not write this as Python; it stopped {where}"
    except SyntaxError:
        return None, f"what depyf {depyf.__version__} wrote of this is no Python"


def _depyf() -> ModuleType | str:
    """The module, or why it is not to be had."""
    try:
        with warnings.catch_warnings():
            # it compares torch's versions as texts, and takes 2.13 for one before 2.2
            warnings.filterwarnings("ignore", "Please use the nightly version of PyTorch")
            return importlib.import_module("depyf")
    except ImportError as error:
        return _INSTALL if error.name == "depyf" else f"depyf cannot be imported: {error}"


def _tidy(text: str) -> str:
    """The source as Python lays it out; raises `SyntaxError` where it is none."""
    numbers: dict[str, str] = {}
    named = _TEMPORARY.sub(
        lambda found: numbers.setdefault(found[0], f"__temp_{len(numbers)}"), text
    )
    return ast.unparse(ast.parse(named))
