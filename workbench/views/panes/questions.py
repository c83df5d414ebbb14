"""The five questions of the view: each tab shows its answer, and each pane joins one question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.views.panes.pane import Content, Pane
from workbench.views.wire import report_messages as wire


@dataclass(frozen=True)
class Question:
    """A tab of the view: its id, its title, and what it says while no pane has an answer."""

    id: str
    title: str
    unanswered: str


QUESTIONS = (
    Question("time", "How long, and what helps?", "not estimated"),
    Question("fit", "Does it fit?", "not counted"),
    Question("right", "Is it right?", "not checked"),
    Question("breaks", "What breaks or recompiles?", "not captured"),
    Question("ship", "Can I ship it?", "not saved"),
)
_WORST_FIRST: Sequence[wire.Tone] = ("break", "fallback")


def list_questions(shown: Sequence[tuple[Pane, Content]]) -> list[wire.Question]:
    """The questions with their answers and their panes, in the order of the tabs."""
    return [
        _ask(question, [(pane, content) for pane, content in shown if pane.question == question.id])
        for question in QUESTIONS
    ]


def _ask(question: Question, own: Sequence[tuple[Pane, Content]]) -> wire.Question:
    answers = [content.answer for _, content in own if content.answer is not None]
    tones = [tone for _, tone in answers]
    worst = next((tones.index(tone) for tone in _WORST_FIRST if tone in tones), 0)
    words, tone = answers[worst] if answers else (question.unanswered, "plain")
    full = [pane.id for pane, content in own if content.empty is None or pane.is_home]
    return {
        "id": question.id,
        "title": question.title,
        "answer": words,
        "tone": tone,
        "is_answered": bool(answers),
        "panes": [*full, *(pane.id for pane, _ in own if pane.id not in full)],
    }
