"""What Dynamo put in the place of each frame: its bytecode, disassembled and as source."""

from __future__ import annotations

import ast
import dis
import importlib
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from types import CodeType, ModuleType
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Hook
from workbench.compiler.recording.stage_graphs import KeptGraph
from workbench.compiler.sources.sources import Places
from workbench.report import Bytecode, TextWriter

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
        lambda match: numbers.setdefault(match[0], f"__temp_{len(numbers)}"), text
    )
    return ast.unparse(ast.parse(named))


PANE = "bytecode"
_RANDOM = re.compile(r"(__compiled_fn_\d+)_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_CALLED = re.compile(r"\b(?:__compiled_fn_|__resume_at_)\w+")


class BytecodeRecorder:
    """Keeps the new bytecode of every frame that Dynamo compiled in one recording."""

    def __init__(self, places: Places, texts: TextWriter):
        self._places = places
        self._texts = texts
        self._kept: list[tuple[CodeType, str | None]] = []

    def list_hooks(self) -> Iterator[Hook]:
        """Watch what Dynamo returns for each frame."""
        yield Hook(tp.COMPILE_FRAME, PANE, after=self._on_frame)

    def _on_frame(self, result: Any, *args: Any, **kwargs: Any) -> None:
        compiled = result.guarded_code
        if compiled is not None:  # else the frame runs as it is
            self.keep(compiled.code, str(compiled.compile_id))

    def keep(self, code: CodeType, compile_id: str | None) -> None:
        """Keep what stands in the place of one function."""
        self._kept.append((code, compile_id))

    def rows(self, graphs: Sequence[KeptGraph]) -> list[Bytecode]:
        """The frames in the order in which they were compiled, with the graph that each calls."""
        captured = {graph.compile_id: graph.id for graph in graphs if graph.stage == "dynamo"}
        return [
            self._row(number, code, captured.get(compile_id), compile_id)
            for number, (code, compile_id) in enumerate(self._kept)
        ]

    def _row(
        self, number: int, code: CodeType, graph: str | None, compile_id: str | None
    ) -> Bytecode:
        text = self._shared(dis.Bytecode(code).dis())
        source, why_not = decompiled(code)
        return Bytecode(
            id=f"d{number}",
            function=code.co_name,
            graph=graph,
            compile_id=compile_id,
            calls=tuple(dict.fromkeys(_CALLED.findall(text))),
            text=self._texts.add(text),
            source_text=None if source is None else self._texts.add(self._shared(source)),
            why_no_source=why_not,
        )

    def _shared(self, text: str) -> str:
        """A text without random names, addresses and the machine's own folders."""
        return self._places.shared(_ADDRESS.sub("", _RANDOM.sub(r"\1", text)).rstrip("\n"))
