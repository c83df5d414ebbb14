"""What to do about a graph break that no change of a few lines takes away."""

from __future__ import annotations

import re

from workbench.report import Break

_ARGUMENT = (
    "make it before the compiled call and pass it in as an argument, a number as a tensor: a new "
    "number or text is compiled for again"
)
_TEXT = (
    "make it before the compiled call or after it, and do not pass it in: each new text is "
    "compiled for again"
)
_AFTER = "return what it takes from the compiled function, and do it after the call"
_ADVICE: tuple[tuple[str, str], ...] = (
    (
        r"\block\b|Lock\(|\.acquire\(|\.release\(|Semaphore|Condition\(|limbo_lock",
        "hold the lock around the compiled call: compiled code takes none",
    ),
    (r"\bThread\(|\.start\(\)|\.join\(\)|Executor|\.submit\(", f"start it outside: {_AFTER}"),
    (
        r"subprocess\.|os\.system\(|Popen\(|os\.popen\(",
        f"run the program outside of compiled code: {_ARGUMENT}",
    ),
    (r"\binput\(|getpass\.getpass\(", f"ask before the call: {_ARGUMENT}"),
    (
        r"torch\.load\(|np\.load\(|numpy\.load\(|load_file\(",
        "load it once, before the function is compiled, and pass it in as an argument",
    ),
    (
        r"torch\.save\(|np\.save\w*\(|\.write\w*\(|open\([^)]*['\"][wax]|\bdump\(|save_file\(",
        f"write it outside of compiled code: {_AFTER}",
    ),
    (r"\bopen\(|\.read\w*\(", f"read it before the call: {_ARGUMENT}"),
    (r"uuid|strftime|isoformat|ctime\(", _TEXT),
    (r"\btime\.(?!sleep)\w+\(", "read the clock around the compiled call, which is what it times"),
    (r"datetime|time\.\w+\(", _ARGUMENT),
    (
        r"manual_seed\(|random\.seed\(|default_rng\(|Generator\(|\.shuffle\(|random\.\w+\(|rng\.",
        f"seed and draw outside of compiled code: {_ARGUMENT}",
    ),
    (
        r"\brepr\(|\bstr\(|\bformat\(|\bid\(",
        f"make the text outside of compiled code: {_AFTER}",
    ),
    (r"deepcopy\(|copy\.copy\(", "copy each tensor with .detach().clone()"),
    (
        r"^while\b",
        "compile the body of the loop as a function of its own and leave the loop to Python, or "
        "let the loop run a fixed number of times and keep what is done with torch.where",
    ),
    (
        r"^(?:if|elif|for)\b|^assert\b",
        "compile what stands on each side of it as a function of its own, or compute both sides "
        "and choose with torch.where",
    ),
)
_DECIDED = (
    "Data-dependent", "Unsupported Tensor.item()", "Data dependent", "Dynamic shape",
    "Tensor.tolist()",
)  # fmt: skip
_TENSOR = (
    "keep the value a tensor as far as it is computed with, and take the number out of it after "
    "the compiled call"
)
_LOOP = (
    "compute with the whole tensor in place of a loop over its values, or compile what stands "
    "before the loop and after it as functions of their own"
)
_OUTSIDE = (
    "move the line out of the compiled function: before the call, with what it gives as an "
    "argument, or after it, with what it takes as an output"
)


def find_advice(item: Break) -> str:
    """What takes a break away where no cure is known that does, as a part of a sentence."""
    text = item.text.strip()
    if text.startswith("for ") and item.kind.startswith(_DECIDED):
        return _LOOP
    for pattern, advice in _ADVICE:
        if re.search(pattern, text):
            return advice
    return _TENSOR if item.kind.startswith(_DECIDED) else _OUTSIDE
