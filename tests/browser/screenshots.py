"""Pictures of every pane, light and dark, wide and narrow: `make screenshots`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

import workbench as wb
from tests.browser.driving import running_chromium
from tests.browser.panes import addresses, show
from workbench.handles.cross_compiled import CrossCompiled
from workbench.report import Report
from workbench.worlds.sweeps.sweep import Sweep

DTYPES = [torch.float32, torch.bfloat16]
ROOT = Path(__file__).parents[2]
SIZES = ((1280, 760), (800, 620))


def halves(x: torch.Tensor) -> torch.Tensor:
    """A function with graph breaks."""
    y = torch.relu(x) * 2
    if y.sum() > 3:
        y = y - 1
    print("between")
    return y.softmax(-1) @ x.t()


def scores(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """A function with a reduction of each row and one of each column."""
    y = torch.nn.functional.layer_norm(x, (x.shape[-1],), weight)
    return torch.softmax(torch.nn.functional.gelu(y) + y.sum(0), dim=-1)


def mean_apart(x: torch.Tensor) -> torch.Tensor:
    """A function of which one line runs on the CPU."""
    y = torch.relu(x) * 2
    z = y.mean(dim=(1, 2)).cpu().cos().to(x.device)
    return torch.softmax(y, dim=-1) + z[:, None, None]


def reports() -> Iterator[tuple[str, Report]]:
    """What the pictures show: two records, breaks, a training step that was measured."""
    yield "block", Report.load(ROOT / "tests" / "records" / "block.wbr")
    yield "h100", Report.load(ROOT / "tests" / "records" / "norm_h100.wbr")
    yield "breaks", wb.explain(halves, (torch.rand(8, 8),)).report
    model = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, dropout=0.0)
    x = torch.rand(4, 32, 64)
    compiled = wb.aot_compile(model, (x,), grad=True)
    compiled.profile(x)
    wb.roundtrip(compiled, (x,), ways=("eager", "ours"))
    yield "encoder", compiled.report
    yield "gpu", gpu_report()
    yield (
        "cudagraphs",
        wb.aot_compile(mean_apart, (x,), target="h100", mode="reduce-overhead").report,
    )


def gpu_report() -> Report:
    """Kernels for a virtual GPU, on several others, and one of them in a static sweep."""
    compiled = wb.aot_compile(scores, (torch.rand(512, 1024), torch.rand(1024)), target="h100")
    assert isinstance(compiled, CrossCompiled)
    matrix = wb.matrix(compiled, targets=["t4", "a100", "h100", "b200", "mi300x"]).report
    ranked = compiled.rank_configs("k0", warps=(4, 8), stages=(1,)).report.ranked_configs
    return replace(matrix, tables={**matrix.tables, "ranked_configs": ranked})


def swept() -> Sweep:
    """Two modes, two dtypes and three sizes of a function, measured here; one setting fails."""
    return wb.sweep(
        torch.nn.functional.gelu,
        lambda rows: (torch.rand(rows, 512),),
        over={"mode": ["default", "max-autotune"], "dtype": DTYPES, "rows": [8, 256, 4096]},
        measure_s=0.5,
        atol=1e-6,
    )


def pages(browser: Any) -> Iterator[tuple[Any, str]]:
    """A new page, light and dark, wide and narrow, with the end of its pictures' names."""
    for scheme in ("light", "dark"):
        for width, height in SIZES:
            size = {"width": width, "height": height}
            context = browser.new_context(viewport=size, color_scheme=scheme)
            yield context.new_page(), f"{scheme}-{width}.png"
            context.close()


def sweep_pictures(found: Sweep, address: Path, browser: Any, folder: Path) -> None:
    """Every pane of the page of a sweep."""
    found.to_html(address)
    for page, end in pages(browser):
        page.goto(address.as_uri())
        for tab in page.get_by_role("tab").all():
            tab.click()
            pane = (tab.get_attribute("id") or "").rpartition("-")[2]
            page.screenshot(path=folder / f"sweep-{pane}-{end}")


def pictures(name: str, report: Report, address: Path, browser: Any, folder: Path) -> None:
    """Every pane of the page of a report."""
    report.to_html(address)
    for page, end in pages(browser):
        for pane, place in addresses(report, address.as_uri()).items():
            show(page, place)
            page.screenshot(path=folder / f"{name}-{pane}-{end}")


def main(folder: Path) -> None:
    """Write the pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as saved, running_chromium() as browser:
        sweep_pictures(swept(), Path(saved) / "sweep.html", browser, folder)
        for name, report in reports():
            pictures(name, report, Path(saved) / f"{name}.html", browser, folder)
    print(f"{len(list(folder.glob('*.png')))} pictures are in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/screenshots"))
