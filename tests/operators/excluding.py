"""Which operators are not compared: `python -m tests.operators.excluding` writes the list anew.

It compiles every operator of the database for every variant, which takes an hour.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

from tests.operators import cases


def why_not(name: str, variant: str) -> str | None:
    """Why an operator is not compared, or None."""
    made = cases.case(name, variant)
    if isinstance(made, str):
        return made
    return None if torch_compiles(made) else cases.REFUSED


def torch_compiles(made: cases.Case) -> bool:
    """Whether plain torch takes it as one graph."""
    torch._dynamo.reset()
    try:
        torch.compile(made.operator, fullgraph=True)(*made.args, **made.kwargs)
    except Exception:
        return False
    return True


def text_of(found: dict[str, dict[str, str]]) -> str:
    """The file: for each variant the reasons, for each reason the names."""
    lines = ["# which operators are not compared, and why: see excluding.py"]
    for variant, reasons in found.items():
        lines += ["", f"[{variant}]"]
        for reason in sorted(set(reasons.values())):
            names = sorted(name for name, own in reasons.items() if own == reason)
            lines += [f"{json.dumps(reason)} = [", *(f"  {json.dumps(n)}," for n in names), "]"]
    return "\n".join([*lines, ""])


def main() -> None:
    """Try everything."""
    found: dict[str, dict[str, str]] = {}
    for variant in cases.VARIANTS:
        tried = {name: why_not(name, variant) for name in cases.entries()}
        found[variant] = {name: why for name, why in tried.items() if why is not None}
    Path(__file__).with_name("excluded.toml").write_text(text_of(found))


if __name__ == "__main__":
    main()
