"""The GPUs that can be a target as DataFrames."""

from __future__ import annotations

from typing import Any

import pandas

from workbench.specs import DTYPES, Catalogue, Gpu

_PARTS = ("matrix", "vector")


def targets_frame(gpus: Catalogue) -> pandas.DataFrame:
    """A row for each GPU: its limits, its memory, and its peak dense rates in TFLOPS (TOPS)."""
    rows = [gpu.values() for gpu in gpus]
    rates = [f"{part}.{dtype}" for part in _PARTS for dtype in DTYPES]
    plain = [column for column in rows[0] if column not in rates] if rows else []
    used = [rate for rate in rates if any(row[rate] is not None for row in rows)]
    columns = {column: _series([row[column] for row in rows]) for column in [*plain, *used]}
    names = {rate: f"{rate.replace('.', '_')}_tflops" for rate in used}
    return pandas.DataFrame(columns).rename(columns=names)


def target_frame(gpu: Gpu) -> pandas.DataFrame:
    """A row for each number that is known of one GPU, with the document it is from."""
    rows = [
        {"field": key, "value": value, "source": gpu.sources[key]}
        for key, value in gpu.values().items()
        if value is not None and key in gpu.sources
    ]
    return pandas.DataFrame(rows, columns=["field", "value", "source"])


def _series(values: list[Any]) -> pandas.Series[Any]:
    """Whole numbers stay whole where some are missing."""
    known = [value for value in values if value is not None]
    is_whole = bool(known) and all(type(value) is int for value in known)
    return pandas.Series(values, dtype="Int64" if is_whole else None)
