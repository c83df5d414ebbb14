"""From logs to the tables of a report; the big ones are made on their first use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from workbench.compiler.sources.break_messages import recompile_reasons
from workbench.report import TABLES, Guard, Link, Recompile, Table, TextWriter
from workbench.report.wbr_file import Lazy
from workbench.trace_logs import guard_trees, timeline
from workbench.trace_logs.break_texts import BreakReader, functions
from workbench.trace_logs.content import LogContent
from workbench.trace_logs.graph_rows import GraphRows
from workbench.trace_logs.kernel_rows import KernelRows
from workbench.trace_logs.log_summary import capabilities
from workbench.trace_logs.source_places import LogPlaces, named
from workbench.trace_logs.source_texts import LogSources


@dataclass(frozen=True)
class _Made:
    """What is read together, since graphs, kernels and lines refer to each other."""

    tables: dict[str, Table[Any]]
    texts: dict[str, Any]
    unexplained: int
    foreign: int
    is_quoted: bool


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
                *("links", "capabilities"),
            )
        }
        makers["guards"] = lambda: _table("guards", self._guards())
        makers["recompiles"] = lambda: _table("recompiles", self.recompiles())
        makers["phases"] = lambda: _table("phases", timeline.phases(self.contents))
        makers["cache"] = lambda: _table("cache", [e for c in self.contents for e in c.cache])
        return Lazy(makers)

    def texts(self) -> dict[str, Any]:
        """The texts as `Texts.to_json` gives them."""
        return self._made.texts

    def _together(self, name: str) -> Table[Any]:
        return self._made.tables[name]

    def prefix(self, content: LogContent) -> str:
        """The prefix of the compile ids of a log."""
        return f"{content.label}: " if content.label else ""

    @cached_property
    def _made(self) -> _Made:
        texts = TextWriter()
        graphs, kernels, breaks = GraphRows(texts), KernelRows(texts), BreakReader()
        for content, places in zip(self.contents, self.places, strict=True):
            of_log = graphs.read(content, places, self.prefix(content))
            kernels.read(content, places, of_log)
            breaks.read(content, places)
        sources = LogSources(self.places, texts)
        rows: dict[str, list[Any]] = {
            "sources": sources.rows,
            "graphs": graphs.rows,
            "breaks": breaks.rows(),
            "kernels": kernels.rows(sources),
            "wrappers": kernels.wrappers,
            "buffers": kernels.buffers,
            "links": _links(graphs, sources) + kernels.links,
        }
        tables = {name: _table(name, part) for name, part in rows.items()}
        tables["nodes"] = graphs.table()
        made = _Made(
            tables,
            texts.finish().to_json(),
            kernels.unexplained,
            kernels.foreign,
            sources.is_quoted,
        )
        tables["capabilities"] = _table("capabilities", list(capabilities(self.contents, made)))
        return made

    def _guards(self) -> list[Guard]:
        found: list[Guard] = []
        for content, places in zip(self.contents, self.places, strict=True):
            resolve = _resolver(content, places)
            for piece in content.guards:
                found += guard_trees.guards(places.shared(piece.text()), len(found), resolve)
        return found

    def recompiles(self) -> list[Recompile]:
        """A row for each reason of each compilation that was not the first of its function."""
        names = functions(self.contents)
        found = []
        for content, places in zip(self.contents, self.places, strict=True):
            for piece in content.recompiles:
                compile_id = piece.compile_id or ""
                function = named(names.get((content.label, compile_id), ""))
                for reason in recompile_reasons(piece.text()):
                    shown = places.shared(reason.partition("\nUser stack trace:")[0])
                    row = Recompile(self.prefix(content) + compile_id, function, _spaced(shown))
                    found.append(row)
        return found


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _table(name: str, rows: list[Any]) -> Table[Any]:
    return Table.of(TABLES[name], rows)


def _links(graphs: GraphRows, sources: LogSources) -> list[Link]:
    found = []
    for id, file, line in graphs.lines():
        line_id = sources.line_id(file, line)
        if line_id is not None:
            found.append(Link(line_id, id, "line-node"))
    return found + [Link(a, b, "node-node") for a, b in graphs.links]


def _files(content: LogContent) -> list[str]:
    """The files that a log names outright."""
    told = [str(row["co_filename"]) for _, row in content.metrics if row.get("co_filename")]
    return [*content.strings.values(), *told]


def _resolver(content: LogContent, places: LogPlaces) -> guard_trees.Resolve:
    """Finds the one file whose name ends as a shortened one does: torch cuts them at 15 letters."""
    known: dict[str, str | None] = {}
    files = [file for file in dict.fromkeys(_files(content)) if places.is_user(file)]

    def resolve(shortened: str) -> str | None:
        if shortened not in known:
            fits = {places.shown(file) for file in files if file.endswith(shortened)}
            known[shortened] = fits.pop() if len(fits) == 1 else None
        return known[shortened]

    return resolve
