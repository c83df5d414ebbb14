"""The whole way without a browser: `python -m workbench.demo [folder]`."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

import workbench as wb

_TOLERANCE = 1e-5


def small_gpt2() -> Any:
    """A GPT-2 with random weights: 2 layers, 64 wide, 1,000 words."""
    import transformers

    logging: Any = transformers.logging
    logging.set_verbosity_error()
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        n_layer=2, n_head=4, n_embd=64, vocab_size=1000, n_positions=128, use_cache=False
    )
    model: Any = transformers.GPT2LMHeadModel(config)
    return model.eval()


def main() -> None:
    """Compile, verify, save, load in a fresh process, write the report."""
    parser = argparse.ArgumentParser(prog="python -m workbench.demo", description=main.__doc__)
    parser.add_argument("folder", nargs="?", default="out", help="where the files go")
    parser.add_argument("--load", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    folder = Path(chosen.folder)
    if chosen.load:
        load(folder)
        return
    folder.mkdir(parents=True, exist_ok=True)
    compile_and_save(folder)
    print("\nIn a fresh process:")
    command = [sys.executable, "-m", "workbench.demo", "--load", str(folder)]
    subprocess.run(command, check=True)
    print(f"\nThe report: {(folder / 'report.html').resolve()}")


def compile_and_save(folder: Path) -> None:
    """The first process."""
    model = small_gpt2()
    tokens = torch.randint(0, 1000, (2, 64))
    print("Compiling a GPT-2 of 2 layers ...", flush=True)
    start = time.perf_counter()
    compiled = wb.aot_compile(model, (tokens,), grad=False)
    print(f"  {time.perf_counter() - start:.1f} s\n")
    print(wb.show(compiled))
    print(f"\nAgainst the model itself: {wb.verify(compiled, (tokens,))!r}")
    path = folder / "gpt2.aot"
    digest = compiled.save(path, weights="inside")
    print(f"Saved {path}, {path.stat().st_size / 1e6:.1f} MB, weights included\n  {digest}")
    with torch.no_grad():
        torch.save({"tokens": tokens, "logits": model(tokens).logits}, folder / "expected.pt")
    compiled.report.to_html(folder / "report.html")


def load(folder: Path) -> None:
    """The second process: neither the model nor a compiler is there."""
    expected = torch.load(folder / "expected.pt")
    start = time.perf_counter()
    compiled = wb.load(folder / "gpt2.aot")
    loaded = time.perf_counter()
    logits = compiled(expected["tokens"]).logits
    called = time.perf_counter()
    difference = (logits - expected["logits"]).abs().max().item()
    print(f"  load {loaded - start:.2f} s, first call {called - loaded:.2f} s")
    print(f"  largest difference from the model: {difference:.1e}")
    try:
        torch.testing.assert_close(logits, expected["logits"], rtol=0, atol=_TOLERANCE)
    except AssertionError as error:
        sys.exit(f"  the artifact is wrong: {error}")


if __name__ == "__main__":
    main()
