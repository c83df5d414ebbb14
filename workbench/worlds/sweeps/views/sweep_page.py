"""A sweep as charts, as a page that has them, and as the summary that a notebook keeps."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.errors import UsageError, suggest
from workbench.number_text import format_us
from workbench.report.paired import SURE, compute_median_interval
from workbench.report.table import Table as Rows
from workbench.report.trials import Trial
from workbench.views.answers.alternatives_text import list_codes, summarize_rivals
from workbench.views.kit.blocks import (
    Beside,
    Block,
    Chart,
    Code,
    Document,
    OnPage,
    Sentence,
    Table,
    write_text,
)
from workbench.views.kit.sheet import (
    FAINT,
    KERNEL_COLOURS,
    PALE,
    HeatCell,
    HeatMap,
    HeatRow,
    compute_shades,
    draw_heat_map,
    sheet,
)
from workbench.views.kit.shown import Shown
from workbench.views.tables.column import Column
from workbench.views.wire.codec import SMALL, pack
from workbench.views.words.record_words import short
from workbench.worlds.sweeps.recommendation import Recommendation
from workbench.worlds.sweeps.sweep import CHARTS, Sweep
from workbench.worlds.sweeps.views import spots, strands
from workbench.worlds.sweeps.views.messages import SweepDocument, SweepRow
from workbench.worlds.sweeps.views.sweep_document import (
    choose_metric,
    document,
    list_spots,
    timed,
    words_of,
)
from workbench.worlds.sweeps.views.sweep_tables import FIGURES, choices, frame, report_of, write

if TYPE_CHECKING:
    from anywidget import AnyWidget
    from matplotlib.figure import Figure

_CHOICES = (
    Column("Operation", "op", "code"),
    Column("Choice", "choice", "code"),
    Column("Kind", "kind"),
    Column("Time", "time", "right"),
    Column("Against the best", "against_best", "ratio"),
    Column("Verdict", "verdict"),
)
_PAIRS = 3
_CHARTS = ("pareto", "heat", "parallel", "distribution")
_MORE_IS_BETTER = {"speedup", "speedup_low", "speedup_high"}
_MOST = 40  # rows of a chart of distributions


def build_blocks(sweep: Sweep) -> Document:
    """The answer and the table; on a page the charts, the best row inside."""
    shown = document(sweep)
    blocks: list[Block] = [Sentence(words) for words in (shown["facts"], *shown["notes"]) if words]
    blocks.append(Sentence(shown["sentence"], "strong"))
    if shown["code"]:
        blocks.append(Code(shown["code"]))
    blocks += [
        _build_settings(shown),
        OnPage(lambda: _list_charts(sweep)),
        OnPage(lambda: _list_inside(sweep)),
    ]
    return Document(
        f"Sweep of {shown['name']}", blocks, pack=lambda _: pack({"sweep": shown}, SMALL)
    )


def _list_charts(sweep: Sweep) -> Iterator[Chart]:
    """The charts as pictures; those for which nothing was measured are left out."""
    for chart in _CHARTS:
        try:
            figure = plot(sweep, chart)
        except UsageError:  # what the table says already
            continue
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=110, bbox_inches="tight")
        address = f"data:image/png;base64,{b64encode(buffer.getvalue()).decode()}"
        yield Chart(f"{chart} chart", address)


def _list_inside(sweep: Sweep) -> Iterator[Block]:
    """The choices of the best row that has any, its winners beside the runners-up."""
    ordered = sorted(sweep.trials, key=lambda t: (-(t.speedup or 0.0), t.call_us or 0.0))
    for trial in ordered:
        report = report_of(sweep, trial)
        if report is not None and (len(report.autotune) or len(report.ranked_configs)):
            rows = [_choice(row) for row in choices(sweep, [trial]).to_dict("records")]
            title = f"Inside the kernels of {trial.title}"
            yield Table(title, _CHOICES, rows, ".choices()")
            for rivals in report.rivals()[:_PAIRS]:
                yield Sentence(summarize_rivals(rivals))
                yield Beside(list_codes(rivals))
            return


def _choice(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A choice with its time in words; what is missing in a DataFrame is not a number."""
    time, ratio = row["time_us"], row["against_best"]
    words = format_us(time) if isinstance(time, float) and time == time else None
    if words is not None and row["is_model"]:
        words += " (model)"
    return {
        **row,
        "time": words,
        "against_best": ratio if isinstance(ratio, float) and ratio == ratio else None,
        "verdict": "chosen" if row["chosen"] else row["why"] or "",
    }


def _build_settings(shown: SweepDocument) -> Table:
    columns = [
        *(Column(axis["name"], f"axis{n}", "right") for n, axis in enumerate(shown["axes"])),
        *(Column(f["title"], f"figure{n}", "right") for n, f in enumerate(shown["figures"])),
        Column("Note", "remark", "prose"),
    ]
    place = [figure["id"] for figure in shown["figures"]].index("speedup")
    ordered = sorted(shown["rows"], key=lambda row: -(row["figures"][place] or 0.0))
    rows = [_row(row) for row in ordered]
    return Table("Configurations", columns, rows, ".frame()", omitted=shown["more"])


def _row(row: SweepRow) -> dict[str, Any]:
    axes = {f"axis{n}": value or "–" for n, value in enumerate(row["settings"])}
    return {**axes, **{f"figure{n}": w for n, w in enumerate(row["words"])}, **row}


def plot(sweep: Sweep, chart: str, **choice: Any) -> Figure:
    """One chart; see `Sweep.plot`."""
    if chart not in CHARTS:
        raise UsageError(
            f"Unknown chart {chart!r}. Choose one of: {', '.join(CHARTS)}.{suggest(chart, CHARTS)}"
        )
    if not timed(sweep) and "metric" not in choice:
        raise UsageError(
            "Nothing to draw: no configuration was measured. See the column reason of .frame()."
        )
    if chart == "heat":
        return draw_heat_map(build_heat_map(sweep, **choice))
    draw = {"parallel": parallel, "pareto": pareto, "distribution": rounds}[chart]
    return draw(sweep, **choice)


def build_heat_map(
    sweep: Sweep, x: str | None = None, y: str | None = None, metric: str | None = None
) -> HeatMap:
    """One metric over two axes, darker: further from the best; of several rows the best."""
    metric = metric or choose_metric(sweep)
    if metric not in FIGURES:
        raise UsageError(f"Unknown metric {metric!r}. Choose one of: {', '.join(FIGURES)}.")
    longest = sorted(sweep.axes, key=lambda name: -len(sweep.axes[name]))
    across = _axis(sweep, x or longest[0])
    rest = [name for name in longest if name != across]
    down = _axis(sweep, y or (rest[0] if rest else across))
    columns = sweep.axes[across]
    rows = sweep.axes[down] if down != across else ("",)
    pick = max if metric in _MORE_IS_BETTER else min
    best: dict[tuple[str, str], float] = {}
    for trial in sweep.trials:
        value, place = getattr(trial, metric), dict(trial.settings)
        if value is None or across not in place or down not in place:
            continue
        key = (place[down] if down != across else "", place[across])
        best[key] = pick(best.get(key, value), value)
    flat = tuple(best.get((row, column)) for row in rows for column in columns)
    shade = iter(compute_shades(flat, more_is_better=metric in _MORE_IS_BETTER))
    cells = [HeatCell(next(shade), words_of(metric, value)) for value in flat]
    width = len(columns)
    return HeatMap(
        title=f"{sweep.name}: {metric}",
        columns=tuple(f"{across}={value}" for value in columns),
        rows=tuple(
            HeatRow(row or across, tuple(cells[n * width : (n + 1) * width]))
            for n, row in enumerate(rows)
        ),
        caption="darker is further from the best; each cell shows its best configuration",
        corner=down if down != across else "",
    )


def _axis(sweep: Sweep, name: str) -> str:
    if name not in sweep.axes:
        raise UsageError(f"Unknown axis {name!r}. Choose one of: {', '.join(sweep.axes)}.")
    return name


def pareto(sweep: Sweep) -> Figure:
    """Speed-up against compile time, one compilation per configuration.

    Filled is what no other setting of its size beats in both; a row that is too noisy to say beats
    none.
    """
    is_ratio = choose_metric(sweep) == "speedup"
    what = "speed-up over eager" if is_ratio else "calls per ms (modelled)"
    return spots.draw(
        list_spots(sweep),
        title=f"{sweep.name}: {what} against compile time",
        x="compile time (s), one compilation per configuration",
        y=what,
    )


def parallel(sweep: Sweep) -> Figure:
    """Every axis and the metric side by side, a line for each row."""
    metric, rows = choose_metric(sweep), timed(sweep)
    values = [float(getattr(trial, metric) or 0.0) for trial in rows]
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    rails = [
        strands.Rail(name, tuple(zip(_spread(len(texts)), texts, strict=True)))
        for name, texts in sweep.axes.items()
    ]
    places = {(rail.name, text): place for rail in rails for place, text in rail.ticks}
    ends = ((0.0, words_of(metric, low)), (1.0, words_of(metric, high)))
    rails.append(strands.Rail(metric, ends if high > low else ends[:1]))
    drawn = []
    for trial, value in zip(rows, values, strict=True):
        height = (value - low) / span
        settings = dict(trial.settings)
        own = [places.get((name, settings.get(name, "")), 0.5) for name in sweep.axes]
        good = height if metric in _MORE_IS_BETTER else 1 - height
        drawn.append(strands.Strand((*own, height), good))
    return strands.draw(rails, drawn, f"{sweep.name}: {metric} by configuration")


def _spread(count: int) -> Sequence[float]:
    return [0.5] if count == 1 else [n / (count - 1) for n in range(count)]


def rounds(sweep: Sweep) -> Figure:
    """A forest plot for each size of the inputs: rounds over those of the original, the median."""
    rows = [(trial, trial.relative) for trial in timed(sweep)]
    rows = [(trial, values) for trial, values in rows if values]
    if not rows:
        raise UsageError("Nothing to draw: times are modelled, so there are no rounds.")
    rows.sort(key=lambda row: compute_median_interval(row[1]).median)
    shown = rows[:_MOST]
    lines = list(_forest(sweep, shown))
    with sheet(0.9 + 0.28 * len(lines)) as (drawn, axes):
        for number, (_, values) in enumerate(lines):
            if not values:
                continue
            span = compute_median_interval(values, SURE)
            axes.plot(values, [number] * len(values), "|", color=PALE, markersize=9, zorder=1)
            axes.plot([span.low, span.high], [number] * 2, color=KERNEL_COLOURS[0], linewidth=3)
            axes.plot(span.median, number, "o", color=KERNEL_COLOURS[0], markersize=5)
        axes.axvline(1.0, color=FAINT, linewidth=0.8, linestyle=":")
        axes.set_yticks(range(len(lines)), [short(name, 48) for name, _ in lines])
        for label, (_, values) in zip(axes.get_yticklabels(), lines, strict=True):
            label.set_fontweight("normal" if values else "bold")
        axes.invert_yaxis()
        axes.set_xlabel("time relative to eager, with the 99.9 % interval of the median")
        more = f" ({_MOST} of {len(rows)})" if len(rows) > _MOST else ""
        axes.set_title(f"{sweep.name}: rounds of each configuration{more}")
    return drawn


def _forest(
    sweep: Sweep, rows: Sequence[tuple[Trial, Sequence[float]]]
) -> Iterator[tuple[str, Sequence[float]]]:
    """A line for each size of the inputs, without values, and one for each setting under it."""
    groups: dict[tuple[str, ...], list[tuple[Trial, Sequence[float]]]] = {}
    for trial, values in rows:
        place = dict(trial.settings)
        size = tuple(f"{name}={place[name]}" for name in sweep.sizes if name in place)
        groups.setdefault(size, []).append((trial, values))
    ranks = {f"{n}={v}": at for n, values in sweep.axes.items() for at, v in enumerate(values)}
    for size in sorted(groups, key=lambda size: [ranks.get(part, 0) for part in size]):
        if size:
            yield ", ".join(size), ()
        for trial, values in groups[size]:
            own = [
                f"{name}={value}"
                for name, value in trial.settings
                if name not in sweep.sizes and len(sweep.axes.get(name, ())) != 1
            ]
            yield ", ".join(own) or "as it is", values


def _view(sweep: Sweep) -> AnyWidget:
    from workbench.worlds.sweeps.views.sweep_view import SweepView

    return SweepView(sweep)


def _build_recommendation(choice: Recommendation) -> Document:
    """The sentence and the code."""
    return Document("", [Sentence(choice.sentence), Code(choice.code)])


def _list_sentences(sweep: Sweep) -> tuple[str, ...]:
    """Which setting to take, after how all have ended."""
    return tuple(filter(None, (repr(sweep), document(sweep)["sentence"])))


def _refuse_comparison(a: Any, b: Any, names: tuple[str, str] | None) -> Any:
    """Raise `UsageError`: rows are compared."""
    raise UsageError("Sweeps cannot be compared. Compare two rows of a sweep: sweep.diff(0, 1).")


SHOWN = {
    "Recommendation": Shown(document=_build_recommendation),
    "Sweep": Shown(
        document=build_blocks,
        sentences=_list_sentences,
        frame=frame,
        plot=plot,
        export=write,
        view=_view,
        tables=lambda sweep: {"trials": Rows.of(Trial, sweep.trials)},
        terminal=lambda sweep: write_text(build_blocks(sweep)),
        compare=_refuse_comparison,
    ),
}
