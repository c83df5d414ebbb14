"""What the Numerics pane shows: where compiled code departs from eager, why, its cure and price.

See `document.py`. Distances are in roundings (eps) of the dtype of the value, at the scale of its
tensor; `INFINITE` stands for one without end. Ids: `deviation.3` is a deviation.
"""

from __future__ import annotations

from typing import TypedDict

from workbench.views.wire.advice_messages import ProposedChange


class StageBar(TypedDict):
    """What a stage departs by itself at the most; None where nothing does.

    `eager_off` and `noise` are those of the same value. `said` stands beside the bar, `words` say
    all of it, `row` is the id of the deviation.
    """

    stage: str
    own_off: float | None
    eager_off: float | None
    noise: float | None
    said: str
    words: str
    row: str | None


class Deviation(TypedDict):
    """One value that a part computes otherwise than eager from the same inputs.

    `cone` are the nodes that are computed for it, `never_rounded` those whose values eager rounds
    and the part does not; ids. `lowerings` say what lowered its operators. The histograms count
    elements by units in the last place. `cures` are the ids of the changes that may take it away,
    `write` the Python that writes the part alone.
    """

    id: str
    stage: str
    kernel: str | None
    part: str
    node: str
    value: str
    line: str | None
    place: str
    cause: str
    detail: str
    verdict: str
    dtype: str
    elements: int
    differ: float | None
    max_ulp: int | None
    eager_off: float | None
    own_off: float | None
    noise: float | None
    cone: list[str]
    lowerings: list[str]
    never_rounded: list[str]
    histogram: list[tuple[str, int]]
    exact_histogram: list[tuple[str, int]]
    option: str
    cures: list[str]
    write: str


class NumericsFound(TypedDict):
    """What was found: the sentence, five questions with their answers, a bar for each stage.

    `first` is the id of the deviation that the answers are about, `cure` that of its cure.
    """

    sentence: str
    answers: list[tuple[str, str]]
    first: str | None
    cure: str | None
    stages: list[StageBar]
    cures: list[ProposedChange]


class Document(TypedDict):
    """What the world adds to the document of a report; None where numbers were not compared."""

    numerics: NumericsFound | None
    deviations: list[Deviation]
