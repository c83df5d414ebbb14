"""Compiles kernels of a log again: needs Triton alone, so that any release of it can run this file.

    PYTHON tests/bench/compiled_again.py < kernels.jsonl > answers.jsonl

Each line is a kernel: its source, signature, constants, attributes, options, target and the log's
own texts. Each answer has the texts that this Triton makes of the source, and what its stages make
of the log's texts, or why it cannot be made. Nothing is launched, no GPU is needed. The sources are
run: take logs that you trust.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

STAGES = ("ttir", "ttgir", "llir", "ptx")


def compile_again(kernel: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The texts from the source, and from each text of the log."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    target = GPUTarget(*kernel["target"])
    constants = {ast.literal_eval(key): value for key, value in kernel["constants"].items()}
    attributes = {ast.literal_eval(key): value for key, value in kernel["attributes"].items()}
    function = getattr(load_module(kernel, folder), kernel["name"])
    source = ASTSource(function, kernel["signature"], constants, attributes)
    made = triton.compile(source, target=target, options=kernel["options"])
    return {
        "version": triton.__version__,
        "texts": {stage: made.asm[stage] for stage in STAGES},
        "options": sorted(made.metadata._fields),
        "later": dict(make_later(kernel, target, folder)),
    }


def load_module(kernel: dict[str, Any], folder: Path) -> Any:
    """The function in a file of its own, on the lines where the log has it."""
    head = "import triton\nimport triton.language as tl\n"
    blank = "\n" * max(kernel["first_line"] - 1 - head.count("\n"), 0)
    file = folder / kernel["file"]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(head + blank + kernel["source"] + "\n")
    spec = importlib.util.spec_from_file_location(file.parent.name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def make_later(kernel: dict[str, Any], target: Any, folder: Path) -> Any:
    """What a single stage makes of the log's text before it: TTGIR to LLVM IR, LLVM IR to PTX."""
    from triton._C.libtriton import ir, llvm
    from triton.compiler.compiler import make_backend

    llvm.init_targets()
    backend = make_backend(target)
    options = backend.parse_options(kernel["options"])
    metadata = {"target": target, "name": kernel["name"], **options.__dict__}
    metadata["shared"] = kernel["shared"]
    texts = kernel["texts"]
    with contextlib.suppress(Exception):  # a text of a release that this one cannot read
        context = ir.context()
        ir.load_dialects(context)
        backend.load_dialects(context)
        file = folder / "kernel.ttgir"
        file.write_text(texts["ttgir"])
        module = ir.parse_mlir_module(str(file), context)
        module.context = context
        yield "llir", backend.make_llir(module, dict(metadata), options, kernel["target"][1])
    with contextlib.suppress(Exception):
        ptx = backend.make_ptx(texts["llir"], dict(metadata), options, kernel["target"][1])
        yield "ptx", ptx


def main() -> None:
    """Answer each kernel on standard input."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = str(Path(folder) / "cache")
        for number, line in enumerate(sys.stdin):
            try:
                answer = compile_again(json.loads(line), Path(folder) / str(number))
            except Exception as error:  # of Triton, or of a source that needs more than is there
                import triton

                answer = {
                    "version": triton.__version__,
                    "error": f"{type(error).__name__}: {str(error).splitlines()[-1]}",
                }
            print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
