"""What Dynamo put in the place of each frame: its bytecode, disassembled and as source."""

from __future__ import annotations

import dis
import re
from collections.abc import Sequence
from types import CodeType
from typing import Any

from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.patches import Patches
from workbench.compiler.recording.decompiled import decompiled
from workbench.compiler.recording.stage_graphs import KeptGraph
from workbench.compiler.sources.sources import Places
from workbench.report import Bytecode, TextWriter

PANE = "bytecode"
_RANDOM = re.compile(r"(__compiled_fn_\d+)_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_CALLED = re.compile(r"\b(?:__compiled_fn_|__resume_at_)\w+")


class BytecodeRecorder:
    """Keeps the new bytecode of every frame that Dynamo compiled in one recording."""

    def __init__(self, patches: Patches, places: Places, texts: TextWriter):
        self._patches = patches
        self._places = places
        self._texts = texts
        self._kept: list[tuple[CodeType, str | None]] = []

    def install(self) -> None:
        """Watch what Dynamo returns for each frame."""
        self._patches.observe(tp.COMPILE_FRAME, PANE, after=self._on_frame)

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
