"""What each command does; it prints and returns its exit code."""

from __future__ import annotations

import importlib
import json
import os
import runpy
import sys
import textwrap
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from functools import reduce
from pathlib import Path
from typing import Any, NoReturn

from workbench import api
from workbench.analysis.diff.difference import Diff
from workbench.analysis.quantities.quantities import Quantity
from workbench.artifacts.records.report_in import read_record, record_of
from workbench.command_line import FINDING, FINE, PLAIN, WITH_JSON
from workbench.compiler.internals.signatures import signature_of
from workbench.errors import UsageError, describe_error
from workbench.glossary import list_field_terms, read_glossary
from workbench.report import Kernel, Report
from workbench.report.measures import measures
from workbench.report.presenter import Presented, presenter
from workbench.report.table import Table
from workbench.worlds.world import list_commands


def report(chosen: Namespace) -> int:
    """`workbench report FILE`."""
    return show("report", _record(chosen.file), chosen)


def show(command: str, record: Any, chosen: Namespace) -> int:
    """Print a record, and write its page where one was asked for."""
    report = record if isinstance(record, Report) else None
    ok = report is None or report.outcome.ok
    if chosen.html:
        presenter().page(record, chosen.html)
    if not chosen.json:
        print(presenter().terminal(record))
        return _code(ok)
    sentences = () if report is not None else presenter().sentences(record)
    print(
        document(
            command,
            chosen.file,
            ok=ok,
            sentences=sentences or [repr(record)],
            numbers=read_numbers(record),
            kernels=None if report is None else kernels_of(report),
            tables=list_tables(presenter().tables(record)),
        )
    )
    return _code(ok)


def diff(chosen: Namespace) -> int:
    """`workbench diff A B`."""
    a, b = _record(chosen.a), _record(chosen.b)
    difference = api.diff(a, b, names=(Path(chosen.a).name, Path(chosen.b).name))
    sentences = list(difference.sentences)
    is_same = difference.is_same if isinstance(difference, Diff) else not sentences
    if chosen.html:
        if not hasattr(difference, "to_html"):
            raise UsageError("This comparison has no HTML page; leave --html out.")
        difference.to_html(chosen.html)
    if chosen.json:
        findings = () if is_same else ({"what": "difference", "text": s} for s in sentences)
        numbers = [*read_numbers(a, chosen.a), *read_numbers(b, chosen.b)]
        tables = list_tables(presenter().tables(difference))
        name = f"{chosen.a} / {chosen.b}"
        print(
            document(
                "diff",
                name,
                ok=is_same,
                sentences=sentences,
                numbers=numbers,
                findings=findings,
                tables=tables,
            )
        )
    else:
        print(difference)
    return _code(is_same)


def check(chosen: Namespace) -> int:
    """`workbench check FILE [MACHINE]`."""
    checked = api.check(chosen.file, chosen.machine)
    if chosen.json:
        findings = [
            {
                "what": row.verdict,
                "text": f"{row.name}: {row.needed} / {row.found}",
                "advice": row.advice or "",
            }
            for row in checked.requirements
            if row.verdict != "pass"
        ]
        sentences = [f"{Path(chosen.file).name}: {checked.verdict}."]
        print(document("check", chosen.file, ok=checked.ok, sentences=sentences, findings=findings))
    else:
        print(checked)
    return _code(checked.ok)


def inspect(chosen: Namespace) -> int:
    """`workbench inspect FILE`."""
    inspected = api.inspect(chosen.file, verify=True)
    ok = not inspected.damaged
    if chosen.json:
        findings = [{"what": "damaged", "text": name} for name in inspected.damaged]
        numbers = [{"name": "size", "value": inspected.size, "unit": "bytes", "source": "counted"}]
        print(
            document(
                "inspect",
                chosen.file,
                ok=ok,
                sentences=repr(inspected).splitlines(),
                numbers=numbers,
                findings=findings,
            )
        )
    else:
        print(inspected)
    return _code(ok)


def explain(chosen: Namespace) -> int:
    """`workbench explain MODULE:FUNCTION --inputs ARGUMENTS`."""
    to = sys.stderr if chosen.json else sys.stdout
    with redirect_stdout(to), raise_exits():  # what the program prints, and how it ends
        function, args, kwargs = called(chosen.function, chosen.inputs)
        explained = api.explain(function, args, kwargs)
    breaks = list(explained.report.breaks)
    if chosen.json:
        findings = [
            {
                "what": "break",
                "text": f"{row.text}: {row.reason}",
                "place": f"{row.file}:{row.line}",
                "advice": " ".join(row.hints),
            }
            for row in breaks
        ]
        print(
            document(
                "explain",
                chosen.function,
                ok=not breaks,
                sentences=[repr(explained.report)],
                numbers=read_numbers(explained.report),
                findings=findings,
            )
        )
    else:
        print(presenter().text(explained.report))
    return _code(not breaks)


def words(chosen: Namespace) -> int:
    """`workbench words WORD`."""
    part = chosen.word.casefold()
    terms = [term for term in read_glossary().values() if part in term.word.casefold()]
    for term in terms:
        print(f"{term.word} ({term.place})", textwrap.indent(term.text, "  "), sep="\n")
    others = [other for other in list_field_terms() if part and part in other.word]
    for other in others:
        print(f"{other.word}: see {other.instead}.")
    if not (terms or others):
        raise UsageError(f"No term contains {chosen.word!r}. `workbench words` lists all terms.")
    return FINE


def schema(chosen: Namespace) -> int:
    """`workbench schema`."""
    print(json.dumps(SCHEMA, indent=1))
    return FINE


def _record(path: str) -> Any:
    """What a file or folder holds: a world says so, or it is a report."""
    record = read_record(path)
    if record is None:
        return record_of(path)
    if isinstance(record, Report | Presented):
        return record
    raise UsageError(
        f"{path} holds a value of type {type(record).__name__}. The commands show only reports "
        "and other Presented objects."
    )


def _code(ok: bool) -> int:
    return FINE if ok else FINDING


FORMAT = 1
_MOST_ROWS = 1_000
_UNITS: Mapping[str, tuple[str, float]] = {"B": ("bytes", 1), "us": ("s", 1e-6)}


def _build_cell(depth: int) -> dict[str, Any]:
    """A value of a table: text, a number, or lists of them within each other."""
    plain = ["string", "number", "boolean", "null"]
    return (
        {"type": [*plain, "array"], "items": _build_cell(depth - 1)} if depth else {"type": plain}
    )


_QUANTITY = {
    "type": "object",
    "required": ["name", "value", "unit", "source"],
    "additionalProperties": False,
    "properties": {
        "name": {"type": "string"},
        "of": {
            "type": "string",
            "description": "the report that it belongs to, if there are several",
        },
        "value": {"type": ["number", "null"], "description": "null: unknown"},
        "unit": {"enum": ["1", "bytes", "s"], "description": "1: a count, or a share from 0 to 1"},
        "source": {
            "enum": ["counted", "measured", "model"],
            "description": "counted in the report, measured (timed), or modelled",
        },
        "evidence": {"type": "array", "items": {"type": "string"}},
        "why": {"type": "string", "description": "why the value is unknown"},
    },
}
_FINDING = {
    "type": "object",
    "required": ["what", "text"],
    "additionalProperties": False,
    "properties": {
        "what": {"type": "string", "description": "one of break, difference, fail, warn, damaged"},
        "text": {"type": "string"},
        "place": {"type": "string", "description": "file:line"},
        "advice": {"type": "string"},
    },
}
_KERNEL = {
    "type": "object",
    "required": ["id", "name", "language", "is_backward", "ops", "lines", "quantities"],
    "additionalProperties": False,
    "description": "a generated kernel or a library call",
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "language": {"enum": ["triton", "cpp", "extern"]},
        "is_backward": {"type": "boolean"},
        "ops": {"type": "array", "items": {"type": "string"}},
        "lines": {"type": "array", "items": {"type": "string"}, "description": "file:line"},
        "quantities": {"type": "array", "items": _QUANTITY},
    },
}
_TABLE = {
    "type": "object",
    "required": ["name", "columns", "rows", "omitted"],
    "additionalProperties": False,
    "description": "a table of one or two profiles; times are in microseconds",
    "properties": {
        "name": {"type": "string"},
        "columns": {"type": "array", "items": {"type": "string"}},
        "rows": {"type": "array", "items": {"type": "array", "items": _build_cell(3)}},
        "omitted": {"type": "number", "description": "number of rows that are not listed"},
    },
}
SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Output of workbench --json",
    "type": "object",
    "required": ["format", "command", "name", "ok", "sentences", "quantities", "findings"],
    "additionalProperties": False,
    "properties": {
        "format": {"const": FORMAT},
        "command": {"enum": [*WITH_JSON, *(c.name for c in list_commands((*WITH_JSON, *PLAIN)))]},
        "name": {"type": "string", "description": "the subject of the command"},
        "ok": {"type": "boolean", "description": "whether the exit code is 0"},
        "sentences": {"type": "array", "items": {"type": "string"}},
        "quantities": {"type": "array", "items": _QUANTITY},
        "findings": {"type": "array", "items": _FINDING},
        "kernels": {"type": "array", "items": _KERNEL, "description": "of the command report"},
        "tables": {"type": "array", "items": _TABLE, "description": "of profiles"},
    },
}
"""The JSON Schema of every document."""


def document(
    command: str,
    name: str,
    *,
    ok: bool,
    sentences: Iterable[str],
    numbers: Iterable[Mapping[str, Any]] = (),
    findings: Iterable[Mapping[str, str]] = (),
    kernels: Iterable[Mapping[str, Any]] | None = None,
    tables: Iterable[Mapping[str, Any]] | None = None,
) -> str:
    """One document as text."""
    content: dict[str, Any] = {
        "format": FORMAT,
        "command": command,
        "name": name,
        "ok": ok,
        "sentences": list(sentences),
        "quantities": list(numbers),
        "findings": [{k: v for k, v in one.items() if v} for one in findings],
    }
    if kernels is not None:
        content["kernels"] = list(kernels)
    if tables is not None:
        content["tables"] = list(tables)
    return json.dumps(content, indent=1, ensure_ascii=False)


def list_tables(tables: Mapping[str, Table[Any]] | None) -> list[dict[str, Any]] | None:
    """The tables that have rows, as JSON; None for a record that gives none."""
    if tables is None:
        return None
    listed = []
    for name, table in tables.items():
        rows = list(zip(*table.columns.values(), strict=True))[:_MOST_ROWS]
        omitted = table.omitted + len(table) - len(rows)
        if len(table):
            columns = [*table.columns]
            listed.append({"name": name, "columns": columns, "rows": rows, "omitted": omitted})
    return listed


def read_numbers(record: Any, of: str = "") -> list[dict[str, Any]]:
    """Every number of a record, `of` which it is where there are several."""
    return [_number(one, of) for one in presenter().numbers(record)]


def _number(one: Quantity, of: str) -> dict[str, Any]:
    fields = {name: getattr(one, name) for name in ("name", "value", "unit", "source")}
    more = {"of": of, "evidence": list(one.evidence), "why": one.why}
    return fields | {key: value for key, value in more.items() if value}


def kernels_of(report: Report) -> Iterator[dict[str, Any]]:
    """Every kernel of a report with what is known of it, in the order of the program."""
    files = {source.id: source.file for source in report.sources}
    for row in report.kernels:
        yield {
            **{name: getattr(row, name) for name in ("id", "name", "language", "is_backward")},
            "ops": list(row.ops),
            "lines": [_place(line, files) for line in row.lines],
            "quantities": [*_numbers_of_kernel(row)],
        }


def _place(line: str, files: Mapping[str, str]) -> str:
    """`L:s0:12` as file and line."""
    _, source, number = line.split(":")
    return f"{files.get(source, source)}:{number}"


def _numbers_of_kernel(row: Kernel) -> Iterator[dict[str, Any]]:
    """What is known of a kernel, calls and time first; times in seconds."""
    by_name = measures(Kernel)
    for name in dict.fromkeys(("calls", "time_us", *by_name)):
        value, measure = getattr(row, name), by_name[name]
        unit, scale = _UNITS.get(measure.unit, ("1", 1))
        if value is not None:
            plain = {"name": name.removesuffix("_us"), "value": value * scale, "unit": unit}
            yield plain | {"source": measure.source}


@contextmanager
def raise_exits() -> Iterator[None]:
    """Let `os._exit` of a program raise `SystemExit`: the exit code of the command is its own."""
    process, end = os.getpid(), os._exit

    def exit(status: int) -> NoReturn:
        if os.getpid() != process:  # a child that the program forked
            end(status)
        raise SystemExit(status)

    os._exit = exit
    try:
        yield
    finally:
        os._exit = end


def called(name: str, inputs: str) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """The function `module:function` and its arguments; raises `UsageError` for what is not there.

    The module is imported, with the current folder on the path, and the arguments are evaluated
    among its names.
    """
    where, _, attribute = name.partition(":")
    if not where or not attribute:
        raise UsageError(f"{name}: write MODULE:FUNCTION or FILE.py:FUNCTION, such as model.py:f.")
    names = _names(where)
    first, *rest = attribute.split(".")
    if first not in names:
        raise UsageError(f"{where} has no {first}.")
    try:
        function = reduce(getattr, rest, names[first])
    except AttributeError as error:
        raise UsageError(f"{where} has no {attribute}: {error}.") from error
    import torch

    def given(*args: Any, **kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return args, kwargs

    try:
        args, kwargs = eval(f"__given({inputs})", {"torch": torch, **names, "__given": given})
    except Exception as error:  # whatever the user's own expression raises
        raise UsageError(f"--inputs {inputs!r}: {describe_error(error)}.") from error
    _check(name, function, args, kwargs)
    return function, args, kwargs


def _check(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise `UsageError` where the call cannot be made at all."""
    if isinstance(function, type) or not callable(function):
        kind = "a class" if isinstance(function, type) else type(function).__name__
        raise UsageError(f"{name} is {kind}: name a function or a module instance.")
    try:
        signature = signature_of(getattr(function, "forward", function))
    except (TypeError, ValueError):  # a builtin
        return
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise UsageError(
            f"{name} takes {signature}: {error}. Pass its arguments with --inputs."
        ) from error


def _names(where: str) -> dict[str, Any]:
    """The names of a module or of a file, which runs; what lies beside it can be imported."""
    is_file = where.endswith(".py")
    if is_file and not Path(where).exists():
        raise UsageError(f"File {where} does not exist.")
    folder = str(Path(where).resolve().parent if is_file else Path.cwd())
    sys.path.insert(0, folder)
    try:
        return runpy.run_path(where) if is_file else vars(importlib.import_module(where))
    except Exception as error:  # whatever the user's own module raises
        if isinstance(error, ModuleNotFoundError) and error.name in _parts(where):
            raise UsageError(f"No module {where}: {error}.") from error
        raise UsageError(f"{where} cannot be imported: {describe_error(error)}.") from error
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def _parts(module: str) -> tuple[str, ...]:
    """A module and the packages that it is in."""
    names = module.split(".")
    return tuple(".".join(names[:end]) for end in range(1, len(names) + 1))
