"""axe-core in a page: what it finds in a whole page or in one view, with all rules or a few."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parents[2] / "assets/frontend/node_modules/axe-core/axe.min.js"
COLOURS = ("color-contrast",)
"""The rules whose answer is another one in the other theme."""
Found = tuple[str, str, list[str]]
# without `preload` axe does not fetch style sheets, which a page from disk may not read
RUN = """async ([inside, rules]) => {
    const place = inside === null ? document : { fromShadowDom: inside };
    const found = await axe.run(place, {
        resultTypes: ["violations"], preload: false, ...(rules && { runOnly: rules }),
    });
    return found.violations.map((v) => [v.impact, v.id, v.nodes.map((n) => n.html.slice(0, 160))]);
}"""


def violations(page: Any, *, rules: Sequence[str] | None = None) -> list[Found]:
    """What axe-core finds on a page: impact, rule and parts of the page."""
    return _run(page, None, rules)


def serious(page: Any, *inside: str, rules: Sequence[str] | None = None) -> list[Found]:
    """What is serious or critical in the element `inside`, a selector for each shadow root."""
    bad = ("serious", "critical")
    return [found for found in _run(page, list(inside), rules) if found[0] in bad]


def _run(page: Any, inside: list[str] | None, rules: Sequence[str] | None) -> list[Found]:
    if not PROGRAM.is_file():
        pytest.skip("axe-core is not installed: it comes with the front end's packages, by Node.js")
    if not page.evaluate("() => 'axe' in window"):
        page.add_script_tag(path=PROGRAM)
    return [tuple(row) for row in page.evaluate(RUN, [inside, rules])]
