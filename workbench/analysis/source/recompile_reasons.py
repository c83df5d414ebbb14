"""Why an earlier variant did not fit: torch's sentence taken apart."""

from __future__ import annotations

import re
from dataclasses import dataclass

_AGAINST = re.compile(r"^(?P<against>!?[\d/]+): (?P<rest>.*)$", re.DOTALL)
_COMMENT = re.compile(r"\s+#.*$", re.DOTALL)
_MISMATCH = re.compile(
    r"^tensor '(?P<source>.+?)' (?P<what>[\w ]+?) mismatch"
    r"(?: at index (?P<index>\d+))?\. expected (?P<expected>.+?), actual (?P<actual>.+)$"
)
_NEEDS_GRADIENT = re.compile(
    r"^tensor '(?P<source>.+?)' requires_grad mismatch\. expected requires_grad=(?P<expected>[01])"
)
_OBJECT = re.compile(r"^___check_(?:obj|type)_id\((?P<source>.+?), \d+\)")
_CLASS = re.compile(
    r"^expected type of '(?P<source>.+?)' to be a tensor type, ' but found (?P<actual>.+)$"
)
_EQUAL = re.compile(r"^(?P<source>.+?) (?:==|is) (?P<expected>.+)$")
_KINDS = (
    ("grad mode", ("GRAD_MODE", "grad mode", "grad_mode")),
    ("global state", ("GLOBAL_STATE", "___compile_config_hash", "torch_function", "deterministic")),
    ("identity", ("MATCH", " is ")),
    ("length", ("len(",)),
    ("size", (".size()", "stride", "% ", "<=", ">=", " < ", " > ")),
    ("type", ("dtype", "isinstance", "type(")),
)


@dataclass(frozen=True)
class Reason:
    """One guard that failed; `against` is the variant, `kind` as in `SessionRecompile`.

    `tensor` and `dim` are set where a dimension had another size.
    """

    against: str
    guard: str
    kind: str
    source: str = ""
    expected: str = ""
    actual: str = ""
    tensor: str = ""
    dim: int | None = None


def reason_of(text: str) -> Reason:
    """Torch's sentence about one earlier variant, such as `0/0: x.size()[0] == 4  # …`."""
    found = _AGAINST.match(text.strip())
    against, rest = (found["against"], found["rest"]) if found else ("", text.strip())
    guard = _COMMENT.sub("", rest.split("\n")[0]).strip()
    if match := _MISMATCH.match(guard):
        kind = "size" if match["what"] in ("size", "stride", "rank") else "type"
        kind = "grad mode" if "requires_grad" in match["what"] else kind
        at = "" if match["index"] is None else f".size()[{match['index']}]"
        source = match["source"] + (at if match["what"] == "size" else f".{match['what']}")
        dim = int(match["index"]) if kind == "size" and match["index"] is not None else None
        name = "" if dim is None else match["source"]
        return Reason(against, guard, kind, source, match["expected"], match["actual"], name, dim)
    if match := _NEEDS_GRADIENT.match(guard):
        wanted = match["expected"] == "1"
        source = f"{match['source']}.requires_grad"
        return Reason(against, guard, "grad mode", source, str(wanted), str(not wanted))
    if match := _OBJECT.match(guard):  # an address says nothing, and differs from run to run
        shown = f"{match['source']} is the same object"
        return Reason(against, shown, "identity", match["source"])
    if match := _CLASS.match(guard):
        return Reason(against, guard, "type", match["source"], "a tensor", match["actual"])
    kind = next((kind for kind, words in _KINDS if any(word in guard for word in words)), "")
    if equal := _EQUAL.match(guard):
        kind = "type" if equal["expected"] in ("None", "not None") else kind or "value"
        return Reason(against, guard, kind, equal["source"].strip(), equal["expected"].strip())
    return Reason(against, guard, kind or "other")
