"""The whole way without a browser: `python -m workbench.demo [folder]`, `--gpu` for an 8B model."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_STARTED = time.perf_counter()  # before torch, whose import is a phase of the demonstration

import torch  # noqa: E402

import workbench as wb  # noqa: E402

_TOLERANCE = 1e-5
LLAMA: Mapping[str, Mapping[str, int]] = {
    "8B": {
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
    },
    "70B": {
        "hidden_size": 8192,
        "intermediate_size": 28672,
        "num_hidden_layers": 80,
        "num_attention_heads": 64,
    },
}
"""Sizes of Llama 3: the `config.json` of each model as published, what both share is in `llama`."""


class Phases:
    """Seconds between marks of one clock, so that the phases add up to the whole."""

    def __init__(
        self, clock: Callable[[], float] = time.perf_counter, started: float | None = None
    ) -> None:
        self._clock = clock
        self._last = clock() if started is None else started
        self.seconds: dict[str, float] = {}

    def ended(self, name: str) -> float:
        """Count the time since the last mark to phase `name`; its seconds."""
        now = self._clock()
        seconds, self._last = now - self._last, now
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        return seconds

    def __str__(self) -> str:
        rows = {**self.seconds, "together": sum(self.seconds.values())}
        return "\n".join(f"{seconds:6.1f} s  {name}" for name, seconds in rows.items())


def build_small_gpt2() -> Any:
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


def llama(
    size: str = "8B", layers: int | None = None, *, cache: bool = False, once: bool = False
) -> Any:
    """Llama 3 in bfloat16 on the `meta` device, so without weights; all its layers unless fewer.

    With `once` torch compiles one layer for all of them.
    """
    import transformers

    logging: Any = transformers.logging
    logging.set_verbosity_error()
    changed = {} if layers is None else {"num_hidden_layers": layers}
    models: Any = transformers
    config = models.LlamaConfig(
        vocab_size=128256,
        num_key_value_heads=8,
        max_position_embeddings=8192,
        rope_theta=500000.0,
        rms_norm_eps=1e-5,
        use_cache=cache,
        **{**LLAMA[size], **changed},
    )
    with torch.device("meta"):
        model: Any = models.LlamaForCausalLM(config).to(torch.bfloat16).eval()
    if once:
        compile_once(model.model.layers)
    return model


def compile_once(layers: Any) -> None:
    """Have torch compile equal layers once: their class gets a forward that is marked so."""
    original = type(layers[0])

    class Layer(original):  # type: ignore[valid-type,misc]
        @torch.compiler.nested_compile_region
        def forward(self, /, *args: Any, **kwargs: Any) -> Any:
            return super().forward(*args, **kwargs)

    for layer in layers:
        layer.__class__ = Layer


def main() -> None:
    """Compile, verify, save, load in a fresh process, write the report."""
    parser = argparse.ArgumentParser(prog="python -m workbench.demo", description=main.__doc__)
    parser.add_argument("folder", nargs="?", default="out", help="where the files go")
    parser.add_argument("--gpu", action="store_true", help="Llama-3-8B for an H100; needs no GPU")
    parser.add_argument("--load", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    folder = Path(chosen.folder)
    if chosen.load:
        load(folder)
        return
    folder.mkdir(parents=True, exist_ok=True)
    if chosen.gpu:
        compile_for_h100(folder)
        return
    phases = Phases(started=_STARTED)
    phases.ended("import torch")
    compile_and_save(folder, phases)
    print("\nIn a fresh process:", flush=True)
    command = [sys.executable, "-m", "workbench.demo", "--load", str(folder)]
    subprocess.run(command, check=True)
    phases.ended("fresh process: import torch, load, call, compare")
    print(f"\nWall time by phase, after interpreter start:\n{phases}")
    print(f"\nThe report: {(folder / 'report.html').resolve()}")


def compile_and_save(folder: Path, phases: Phases) -> None:
    """The first process."""
    model = build_small_gpt2()
    phases.ended("import transformers, build the model")
    tokens = torch.randint(0, 1000, (2, 64))
    print("Compiling a 2-layer GPT-2 ...", flush=True)
    compiled = wb.aot_compile(model, (tokens,), grad=False)
    print(f"  {phases.ended('compile'):.1f} s\n")
    print(wb.show(compiled))
    phases.ended("show the report as text")
    print(f"\nCompared with eager: {wb.verify(compiled, (tokens,))!r}")
    phases.ended("verify against the model")
    path = folder / "gpt2.aot"
    digest = compiled.save(path, weights="inside")
    print(f"Saved {path}, {path.stat().st_size / 1e6:.1f} MB, weights included\n  {digest}")
    phases.ended("save with the weights inside")
    with torch.no_grad():
        torch.save({"tokens": tokens, "logits": model(tokens).logits}, folder / "expected.pt")
    phases.ended("call the model, keep its result")
    compiled.report.to_html(folder / "report.html")
    phases.ended("write the report's page")


def compile_for_h100(folder: Path) -> None:
    """A model of 8 billion parameters for a virtual GPU; nothing is run."""
    start = time.perf_counter()
    model = llama("8B")
    billions = sum(parameter.numel() for parameter in model.parameters()) / 1e9
    tokens = torch.zeros(1, 2048, dtype=torch.long, device="meta")
    print(f"Compiling Llama-3-8B ({billions:.1f} billion parameters, no weights) for an H100 ...")
    compiled = wb.aot_compile(model, (), {"input_ids": tokens}, target="h100", grad=False)
    print(f"  {time.perf_counter() - start:.1f} s, including the start of a compiler process\n")
    print(wb.show(compiled))
    print(f"\n{wb.launches(compiled)!r}")
    compiled.report.to_html(folder / "llama_h100.html")
    print(f"\nThe report: {(folder / 'llama_h100.html').resolve()}")


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
    print(f"  largest difference from eager: {difference:.1e}")
    try:
        torch.testing.assert_close(logits, expected["logits"], rtol=0, atol=_TOLERANCE)
    except AssertionError as error:
        sys.exit(f"  the artifact is wrong: {error}")


if __name__ == "__main__":
    main()
