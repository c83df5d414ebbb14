"""The committed table of the wild zoo: a row for each model, with a cell for each column."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[2] / "docs" / "pages" / "about" / "models.md"
BEGIN, END = "<!-- wild: written by make test-wild -->", "<!-- wild: end -->"
WIDTH = 108
VERDICTS = {
    "right": "compiled, saved, loaded in a fresh process (h100: verified), agrees with eager",
    "breaks": "torch does not capture it as one graph; its breaks are listed and explained",
    "torch": "plain torch.compile fails or differs from eager as well",
    "not compared": "eager itself gives another result at each call",
    "not made": "the recipe makes no model of it, or eager does not run it",
    "over time": "stopped at the limit of time for one model",
    "ours": "torch.compile does it and we do not",
    "failed": "does not compile for the virtual GPU",
    "differs": "the generated program of the virtual GPU differs from eager",
}
"""Every verdict with what it says."""

WORDS = {
    "breaks": "with graph breaks",
    "torch": "failing in plain torch too",
    "not compared": "nondeterministic in eager",
    "not made": "without a working version",
    "over time": "over the time limit",
    "ours": "failing only with us",
    "failed": "not compiled",
    "differs": "with a wrong result",
    "not run": "not run yet",
}
"""The verdicts other than "right" in the sentence of the page."""


def load() -> dict[str, Any]:
    """The table as it is in the file; an empty one where there is none."""
    if not PATH.exists():
        return {"models": {}}
    found: dict[str, Any] = json.loads(PATH.read_text())
    return found


def begin(versions: Mapping[str, str], asked: Mapping[str, int]) -> None:
    """Write which versions the table is of and how many models each column asks about."""
    with alone():
        write({**versions, "asked": dict(asked), "models": load()["models"]})


def put(column: str, name: str, cell: Mapping[str, Any]) -> None:
    """Write one cell with the day."""
    day = datetime.date.today().isoformat()
    with alone():
        table = load()
        models = table["models"]
        models.setdefault(name, {})[column] = {**cell, "date": day}
        write({**table, "models": dict(sorted(models.items()))})


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Keeps the runs of other columns from writing meanwhile."""
    with PATH.parent.joinpath("record.py").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write(table: Mapping[str, Any]) -> None:
    """Replace the file as a whole: a reader never sees half of it."""
    made = PATH.with_suffix(".new")
    made.write_text(text(table))
    made.replace(PATH)


def text(table: Mapping[str, Any]) -> str:
    """The table as JSON with a line for each cell."""
    head = [f"{json.dumps(key)}: {json.dumps(table[key])}," for key in table if key != "models"]
    rows = [
        f"{json.dumps(name)}: {{\n"
        + ",\n".join(
            f" {json.dumps(column)}: {json.dumps(cell, ensure_ascii=False)}"
            for column, cell in row.items()
        )
        + "\n}"
        for name, row in table["models"].items()
    ]
    return "\n".join(["{", *head, '"models": {', ",\n".join(rows), "}}", ""])


def cells(table: Mapping[str, Any], column: str) -> dict[str, dict[str, Any]]:
    """The cells of a column by model."""
    return {name: row[column] for name, row in table["models"].items() if column in row}


def counts(table: Mapping[str, Any], column: str) -> Counter[str]:
    """How many models got each verdict in a column, the most frequent first."""
    return Counter(cell["verdict"] for cell in cells(table, column).values())


def sentence(table: Mapping[str, Any]) -> str:
    """What the page says about the table, with every verdict that is in it."""
    return (
        f"transformers {table['transformers']} has {table['asked']['inference']} kinds of causal "
        f"language models. One recipe builds a tiny version of each. On torch {table['torch']}, "
        f"{right(table, 'inference')} of {table['asked']['inference']} compile, load in a fresh "
        f"process and agree with eager{rest(table, 'inference')}. With gradients, "
        f"{right(table, 'gradients')} of {table['asked']['gradients']} do"
        f"{rest(table, 'gradients')}. For a virtual H100, {right(table, 'h100')} of "
        f"{table['asked']['h100']} compile and pass `verify`{rest(table, 'h100')}."
    )


def paragraph(table: Mapping[str, Any]) -> str:
    """The sentence in lines, with where to read more."""
    words = f"{sentence(table)} `tests/wild/results.json` has the figures or the reason for each."
    return textwrap.fill(words, WIDTH, break_long_words=False, break_on_hyphens=False)


def on_page(text: str) -> str:
    """What stands on the page between the two marks."""
    return text.split(BEGIN)[1].split(END)[0].strip()


def write_page(table: Mapping[str, Any]) -> None:
    """Put the sentence into the page."""
    text = PAGE.read_text()
    PAGE.write_text(text.replace(on_page(text), paragraph(table)))


def right(table: Mapping[str, Any], column: str) -> int:
    """How many models of a column agree."""
    return counts(table, column)["right"]


def rest(table: Mapping[str, Any], column: str) -> str:
    """What became of the other models of a column, in brackets."""
    found = counts(table, column)
    found["not run"] = table["asked"][column] - found.total()
    parts = [f"{found[name]} {WORDS[name]}" for name in WORDS if found[name]]
    return f" ({', '.join(parts)})" if parts else ""
