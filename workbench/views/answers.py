"""Short answers as HTML: a check of a file, two cache keys, a recommended setting."""

from __future__ import annotations

import os
from functools import singledispatch
from html import escape

from workbench.analysis.sweep.recommendation import Recommendation
from workbench.artifacts.machine.requirement import Requirement
from workbench.artifacts.preflight.check import SIGNS, Check
from workbench.report.cache_keys import WhyRecompiled
from workbench.views.outputs import output
from workbench.views.units import ABSENT


@singledispatch
def fragment(answer: object) -> str:
    """HTML that a notebook keeps; it needs no style sheet."""
    raise TypeError(f"no fragment of a {type(answer).__name__}")


@fragment.register
def _(check: Check) -> str:
    """The requirements as a table; what fails or warns is in bold."""
    head = "".join(f"<th>{name}</th>" for name in ("", "requirement", "needed", "found", ""))
    rows = "".join(f"<tr>{_cells(row)}</tr>" for row in check.requirements)
    title = f"{os.path.basename(check.path)} {check.verdict}"
    return (
        f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _cells(row: Requirement) -> str:
    sign = f'<span title="{row.verdict}">{SIGNS[row.verdict]}</span>'
    name = escape(row.name) if row.verdict == "pass" else f"<b>{escape(row.name)}</b>"
    texts = (escape(row.needed), escape(row.found), escape(row.advice))
    return "".join(f"<td>{cell}</td>" for cell in (sign, name, *texts))


@fragment.register
def _(why: WhyRecompiled) -> str:
    """The sentence and a table of what differs."""
    head = "".join(f"<th>{escape(n)}</th>" for n in ("", "part", why.a, why.b))
    differing = [row for row in why.rows if row.same is not True]
    rows = "".join(
        f"<tr><td>{escape(row.graph)}</td><td>{escape(row.part)}</td>"
        f"<td>{escape(_shown(row.a))}</td><td>{escape(_shown(row.b))}</td></tr>"
        for row in differing
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<pre>{escape(why.text)}</pre>{table if differing else ''}"


def _shown(value: str | None) -> str:
    return ABSENT if value is None else value


@fragment.register
def _(found: Recommendation) -> str:
    """The sentence and the code; a choice is written such as `^bmm$`, which is no formula."""
    return output(f"<p>{escape(found.sentence)}</p><pre>{escape(found.code)}</pre>")
