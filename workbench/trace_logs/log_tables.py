"""From logs to the tables of a report; the big ones are made on their first use."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from workbench.compiler.rows.dynamo_rows import list_recompiles
from workbench.compiler.rows.phase_rows import Mark, nest, part_lanes
from workbench.compiler.sources.sources import SourceTable
from workbench.report import TABLES, Guard, Node, Phase, Recompile, Table, TextWriter
from workbench.report.wbr_file import Lazy
from workbench.trace_logs.content import LogContent
from workbench.trace_logs.dynamo_texts import BreakReader, Resolve, guards, name_begun
from workbench.trace_logs.log_rows import GraphRows, KernelRows
from workbench.trace_logs.log_summary import list_capabilities
from workbench.trace_logs.source_places import LogPlaces


def list_phases(contents: Iterable[LogContent]) -> list[Phase]:
    """The phases of every log on one time axis, in the order of their start."""
    marks: list[Mark] = []
    names: dict[Hashable, str] = {}
    for content in contents:
        for mark in part_lanes(content.marks):
            thread = content.label, mark.thread
            name = f"parallel {mark.thread}" if mark.thread else "main"
            names[thread] = f"{content.label}, {name}" if content.label else name
            marks.append(replace(mark, thread=thread))
    return nest(marks, min((mark.at for mark in marks), default=0.0), names)


class Building:
    """The tables of one report, from the logs of one process or of several."""

    def __init__(self, contents: Sequence[LogContent]):
        self.contents = contents
        self.places = [LogPlaces(_files(content)) for content in contents]

    def tables(self) -> Lazy[Table[Any]]:
        """Every table by name."""
        makers: dict[str, Callable[[], Table[Any]]] = {
            name: partial(self._together, name)
            for name in (
                *("sources", "graphs", "nodes", "breaks", "kernels", "wrappers", "buffers"),
                *("collectives", "links", "capabilities"),
            )
        }
        makers["guards"] = lambda: _table("guards", self._guards())
        makers["recompiles"] = lambda: _table("recompiles", self.recompiles())
        makers["phases"] = lambda: _table("phases", list_phases(self.contents))
        makers["cache"] = lambda: _table("cache", [e for c in self.contents for _, e in c.cache])
        return Lazy(makers)

    def texts(self) -> dict[str, Any]:
        """The texts as `Texts.to_json` gives them."""
        return self._made[1]

    def compiles_of_programs(self) -> dict[str, str]:
        """The id of the compile of each program, by the program's, such as `i0`."""
        return self._made[2]

    def _together(self, name: str) -> Table[Any]:
        return self._made[0][name]

    def prefix(self, content: LogContent) -> str:
        """The prefix of the compile ids of a log."""
        return f"{content.label}: " if content.label else ""

    @cached_property
    def _made(self) -> tuple[dict[str, Table[Any]], dict[str, Any], dict[str, str]]:
        """The tables that are read together, since they refer to each other, and the texts.

        The last are the compiles of the programs, by the ids of both.
        """
        texts = TextWriter()
        graphs, kernels, breaks = GraphRows(texts), KernelRows(texts), BreakReader()
        for content, places in zip(self.contents, self.places, strict=True):
            of_log = graphs.read(content, places, self.prefix(content))
            kernels.read(content, places, of_log, self.prefix(content))
            breaks.read(content, places)
        sources = SourceTable(self.places, texts)
        rows: dict[str, list[Any]] = {
            "sources": sources.rows,
            "graphs": graphs.rows(),
            "breaks": breaks.rows(),
            "kernels": kernels.rows(sources),
            "wrappers": kernels.wrappers,
            "buffers": kernels.buffers,
            "collectives": kernels.collectives,
        }
        nodes = Table(Node, graphs.columns)
        rows["links"] = [*sources.tie_nodes(nodes), *graphs.tie_nodes(), *kernels.links]
        tables = {name: _table(name, part) for name, part in rows.items()}
        tables["nodes"] = nodes
        lost = kernels.unexplained > 0, kernels.foreign > 0, sources.is_quoted
        tables["capabilities"] = _table(
            "capabilities", list(list_capabilities(self.contents, *lost))
        )
        return tables, texts.finish().to_json(), kernels.compile_ids

    def _guards(self) -> list[Guard]:
        rows: list[Guard] = []
        for content, places in zip(self.contents, self.places, strict=True):
            resolve = _resolver(content, places)
            for piece in content.guards:
                rows += guards(places.shared(piece.text()), len(rows), resolve)
        return rows

    def recompiles(self) -> list[Recompile]:
        """A row for each reason of each compilation that was not the first of its function."""
        rows: list[Recompile] = []
        _ = self._made  # reads what the log quotes of the files, by which they are known again
        for content, places in zip(self.contents, self.places, strict=True):
            for piece in content.recompiles:
                id = piece.compile_id or ""
                function = name_begun(content, places, id)
                rows += list_recompiles(
                    piece.text(), self.prefix(content) + id, function, places.shared
                )
        return rows


def _table(name: str, rows: list[Any]) -> Table[Any]:
    return Table.of(TABLES[name], rows)


def _files(content: LogContent) -> list[str]:
    """The files that a log names outright."""
    told = [str(row["co_filename"]) for _, row in content.metrics if row.get("co_filename")]
    return [*content.strings.values(), *told]


def _resolver(content: LogContent, places: LogPlaces) -> Resolve:
    """Finds the one file whose name ends as a shortened one does: torch cuts them at 15 letters."""
    known: dict[str, str | None] = {}
    files = [file for file in dict.fromkeys(_files(content)) if places.is_user(file)]

    def resolve(shortened: str) -> str | None:
        if shortened not in known:
            fits = {places.shown(file) for file in files if file.endswith(shortened)}
            known[shortened] = fits.pop() if len(fits) == 1 else None
        return known[shortened]

    return resolve
