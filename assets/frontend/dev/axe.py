"""What axe-core finds in every pane, light and dark: python axe.py [FILE.json]."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from page import page, sample
from playwright.sync_api import sync_playwright
from shots import ARGUMENTS, PANES, show

AXE = Path(__file__).parents[1] / "node_modules" / "axe-core" / "axe.min.js"
RUN = """async () => {
    const found = await axe.run(document, { resultTypes: ["violations"] });
    return found.violations.map((v) => [v.impact, v.id, v.nodes.map((n) => n.html.slice(0, 160))]);
}"""


def main(embedded: str) -> int:
    """Print every violation; how many there are."""
    count = 0
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as tools:
        path = Path(folder) / "page.html"
        path.write_text(page(embedded), "utf-8")
        program = shutil.which("chromium")
        browser = tools.chromium.launch(executable_path=program, args=ARGUMENTS)
        for scheme in ("light", "dark"):
            view = browser.new_page(viewport={"width": 1280, "height": 760}, color_scheme=scheme)
            view.goto(path.as_uri())
            view.add_script_tag(path=AXE)
            for pane in PANES:
                show(view, pane)
                for impact, rule, nodes in view.evaluate(RUN):
                    count += 1
                    print(scheme, pane, impact, rule, len(nodes), *nodes[:3], sep="\n  ")
        browser.close()
    return count


if __name__ == "__main__":
    sys.exit(bool(main(Path(sys.argv[1]).read_text("utf-8") if len(sys.argv) > 1 else sample())))
