"""What a log says of the run as a whole, and what it cannot say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from workbench import __version__
from workbench.compiler.sources.dynamo_messages import explain_own_error, parse_data_break
from workbench.compiler.sources.size_symbols import SizeSymbols, find_undecided, in_words
from workbench.report import Capability, Environment, Outcome, Request
from workbench.worlds.logs.reading.content import LogContent
from workbench.worlds.logs.reading.dynamo_texts import export_stops, functions, read_sizes, threads
from workbench.worlds.logs.reading.source_places import LogPlaces, named

_NEVER = "a trace log has no {}: compile with wb.aot_compile to record them"
_NO_NODES = (
    "the log has no graph nodes for some generated kernels, so their lines are unknown; record it "
    "again with INDUCTOR_PROVENANCE=1"
)
_QUOTED = (
    "source files are missing or have changed: lines that the log does not quote are shown as ⋮"
)
_LANES = "a log has no threads: overlapping phases are on separate lanes"
_NO_PARTS = "the parts of cache keys are not read from logs"
_FOREIGN = "C++ programs are not split into kernels"
_SIZES = "bytes count whole buffers, and are missing if the log has no dtype"
_OPTIONS = (
    *("max_autotune", "max_autotune_gemm", "coordinate_descent_tuning", "freezing", "cpp_wrapper"),
    *("triton.cudagraphs", "fallback_random", "deterministic"),
)
_IN = re.compile(r"# File: .+?:\d+ in (\w+), code: ")
_ARGUMENT = re.compile(r"L\['(\w+)'\]")
_DEVICE = re.compile(r"type='(\w+)'(?:, index=(\d+))?")


def list_capabilities(
    contents: Sequence[LogContent], is_unexplained: bool, is_foreign: bool, is_quoted: bool
) -> Iterator[Capability]:
    """What a log can hold, and why some of it is not in this one.

    `is_unexplained`: some generated kernels have no nodes. `is_foreign`: some programs are not in
    Python. `is_quoted`: sources are put together from quoted lines.
    """
    has_codes = any(content.codes for content in contents)
    for name, is_there, reason in (
        ("graphs", any(c.graphs for c in contents), "the log has no graph"),
        ("breaks", True, None),
        ("guards", any(c.guards for c in contents), "the log has no guards"),
        ("phases", any(c.marks for c in contents), "the log has no timers"),
        ("kernels", has_codes, "the log has no generated code"),
        ("cache", True, None),
    ):
        yield Capability(name, is_there, None if is_there else reason)
    for name, what in (
        ("scheduler_nodes", "scheduler nodes"),
        ("fusion", "fusion decisions"),
        ("kernel_lines", "line maps of kernels"),
        ("autotune", "autotuner timings"),
        ("cuda_graphs", "CUDA graph partitions"),
    ):
        yield Capability(name, False, _NEVER.format(what))
    notes = (
        ("cache_parts", True, _NO_PARTS),
        ("kernel nodes", is_unexplained, _NO_NODES),
        ("kernels in C++ programs", is_foreign, _FOREIGN),
        ("source files", is_quoted, _QUOTED),
        ("threads", any(content.marks for content in contents), _LANES),
        ("traffic", has_codes, _SIZES),
    )
    for name, is_lost, reason in notes:
        if is_lost:
            yield Capability(name, False, reason)


def environment(contents: Sequence[LogContent], places: Sequence[LogPlaces]) -> Environment:
    """What the logs say of the machine; processor and platform are in none."""
    metrics = [row for content in contents for _, row in content.metrics]
    python = next((str(r["python_version"]) for r in metrics if r.get("python_version")), "")
    triton = next((str(r["triton_version"]) for r in metrics if r.get("triton_version")), None)
    guards = next((c.guards[0].text() for c in contents if c.guards), "")
    return Environment(
        workbench=__version__,
        python=python.partition(" ")[0] or next((p.python for p in places if p.python), ""),
        torch=next((c.torch for c in contents if c.torch), ""),
        triton=triton,
        threads=threads(guards),
    )


def request(contents: Sequence[LogContent]) -> Request:
    """What was compiled, as far as the logs say; notes name what was skipped in them."""
    names = dict.fromkeys(named(name) for name in functions(contents).values() if name)
    names = names or dict.fromkeys(_captured(contents))
    shown = list(names)[:3]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    is_training = any(p.name == "aot_joint_graph" for c in contents for p in c.graphs)
    return Request(
        name=", ".join(shown) + more,
        kind="trace",
        options=_options(contents),
        target=_target(contents),
        grad=is_training,
        guards="as compiled",
        capture="trace log",
        dynamic_shapes=_symbols(contents),
        inputs=tuple(_inputs(contents)),
        notes=tuple(_notes(contents)),
    )


def _captured(contents: Sequence[LogContent]) -> Iterator[str]:
    """The function of the first graph: compilations ahead of time write no name."""
    for content in contents:
        for piece in content.graphs[:1]:
            match = _IN.search(piece.text())
            if match is not None:
                yield named(match[1])


def _notes(contents: Sequence[LogContent]) -> Iterator[str]:
    for content in contents:
        where = f"{content.label}: " if content.label else ""
        yield from (where + sentence for sentence in tell_losses(content))
        if content.unknown:
            kinds = ", ".join(sorted(content.unknown))
            yield f"{where}unknown kinds of records, in report.extra: {kinds}"
        yield from (where + sentence for sentence in _endings(content))


def tell_losses(content: LogContent) -> Iterator[str]:
    """What a log lacks, in words: what was passed over, and the compiles that do not end in it."""
    yield from content.damage.sentences()
    if unfinished := list_unfinished(content):
        name = named(functions([content]).get((content.label, unfinished[0]), ""))
        yield f"the log ends before {_listed(unfinished)} of {name} finished"


def list_unfinished(content: LogContent) -> list[str]:
    """The ids of the compiles that begin in a log and do not end in it."""
    ended = {compile_id for compile_id, _ in content.metrics}
    return [compile_id for compile_id in content.starts if compile_id not in ended]


def _endings(content: LogContent) -> Iterator[str]:
    """Compilations that Dynamo gave up without an error."""
    failed = {piece.compile_id for piece in content.failures()}
    given_up: dict[str, list[str]] = {}
    for compile_id, row in content.metrics:
        if row.get("fail_type") and compile_id is not None and compile_id not in failed:
            given_up.setdefault(named(str(row.get("co_name", ""))), []).append(str(compile_id))
    for name, ids in given_up.items():
        yield f"Dynamo skipped {name} in {_listed(ids)}"


def _listed(ids: list[str]) -> str:
    more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
    return f"compilation {ids[0]}{more}"


def _target(contents: Sequence[LogContent]) -> str:
    devices = {str(t.get("device")) for content in contents for t in content.tensors.values()}
    kinds = {match[1] for match in map(_DEVICE.search, devices) if match}
    return next((kind for kind in sorted(kinds) if kind != "cpu"), "cpu")


def _inputs(contents: Sequence[LogContent]) -> Iterator[str]:
    """The tensors that the first compilation took as arguments."""
    seen: set[str] = set()
    for content in contents[:1]:
        first = next((compile_id for compile_id, _, _ in content.sources), None)
        for compile_id, key, source in content.sources:
            name, tensor = _ARGUMENT.fullmatch(source), content.tensors.get(key)
            is_new = compile_id == first and source not in seen
            seen.add(source)
            if is_new and name is not None and tensor is not None:
                device = _DEVICE.search(str(tensor["device"]))
                where = ":".join(part for part in device.groups() if part) if device else "cpu"
                dtype = str(tensor["dtype"]).removeprefix("torch.")
                yield f"{name[1]}: {dtype} {tensor['size']} on {where}"


def _symbols(contents: Sequence[LogContent]) -> str | None:
    """The sizes that were left open, with where they come from and what they may be."""
    symbols = dict.fromkeys(
        f"{meta['symbol']} = {in_words(meta['source'])} in {meta['vr']}"
        for content in contents
        for kind, _, meta in content.symbols
        if kind == "create_symbol"
    )
    shown = "; ".join(list(symbols)[:8])
    more = f"; {len(symbols) - 8} more" if len(symbols) > 8 else ""
    return shown + more or None


def _options(contents: Sequence[LogContent]) -> tuple[tuple[str, str], ...]:
    """Inductor's options that are off by default."""
    rows = (row for content in contents for _, row in content.metrics)
    text = next((row["inductor_config"] for row in rows if row.get("inductor_config")), None)
    try:
        config: Any = orjson.loads(text) if isinstance(text, str) else {}
    except ValueError:
        config = {}
    config = config if isinstance(config, dict) else {}
    return tuple((name, "True") for name in _OPTIONS if config.get(name) is True)


def _without_switches(sizes: SizeSymbols, reason: str, compile_id: str | None) -> str:
    """The reason in terms of the inputs' sizes; of what depends on data the condition alone."""
    undecided = find_undecided(reason)
    return sizes.named(parse_data_break(*undecided).reason if undecided else reason, compile_id)


def outcome(contents: Sequence[LogContent]) -> Outcome:
    """Failed when a compilation raised: which, in which function, and the error."""
    names = functions(contents)
    lines, steps = [], []
    for content, places in ((c, LogPlaces(c.strings.values())) for c in contents):
        reasons = {compile_id: row for compile_id, row in content.metrics if row.get("fail_type")}
        for piece in content.failures():
            compile_id = piece.compile_id or "?"
            row = reasons.get(piece.compile_id, {})
            function = named(names.get((content.label, compile_id), ""))
            where = f"{content.label} {compile_id}".strip()
            steps.append(f"{where} ({function})" if function else where)
            reason = str(row.get("fail_reason") or piece.text().rstrip().rpartition("\n")[2])
            reason = _without_switches(read_sizes(content, places), reason, piece.compile_id)
            own = explain_own_error(reason)
            text = own or f"{row.get('fail_type', 'error')}: {places.shared(reason)}"
            lines.append(f"{steps[-1]}: {text}")
        for stop in export_stops(content, places):
            steps.append(f"{content.label} export".strip())
            lines.append(f"{steps[-1]}: {stop.text}")
    if not steps:
        return Outcome()
    if len(steps) == 1:  # which one it was is said by the step
        lines = [line.removeprefix(f"{steps[0]}: ") for line in lines]
    return Outcome(False, "compilation " + ", ".join(steps), "\n\n".join(lines))
