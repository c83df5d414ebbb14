"""A notebook in JupyterLab whose cells are run one by one."""

from __future__ import annotations

import re
from typing import Any

from tests.browser.driving import READY, Lab, watched_page

SETUP = """%load_ext workbench
import torch

def f(x):
    y = torch.relu(x + 1)
    return y.sum(dim=1) * 2

def slow(x):
    for _ in range(150):
        x = torch.softmax(x @ x, dim=1)
    return x

x = torch.randn(64, 64)"""


class Notebook:
    """A notebook whose cells are run one by one."""

    def __init__(self, lab: Lab, context: Any, name: str, *cells: str, before: str = ""):
        self.watched = watched_page(context)
        self.page = self.watched.page
        lab.write(name, before + SETUP, *cells)
        lab.open(self.watched, name, run=False)
        self.page.wait_for_function(READY, timeout=60_000)
        self.run(0)
        self.ended(0)

    def cell(self, index: int) -> Any:
        return self.page.locator(".jp-CodeCell").nth(index)

    def run(self, index: int) -> None:
        self.cell(index).locator(".cm-content").first.click()
        self.page.keyboard.press("Control+Enter")

    def ended(self, index: int) -> None:
        prompt = self.cell(index).locator(".jp-InputPrompt", has_text=re.compile(r"\[\d+\]"))
        prompt.wait_for(timeout=90_000)

    def output(self, index: int) -> str:
        self.run(index)
        self.ended(index)
        return str(self.cell(index).locator(".jp-OutputArea-output").last.inner_text())
