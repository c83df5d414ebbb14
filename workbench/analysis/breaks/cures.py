"""The known fixes of a graph break, and advice where there is none."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.analysis.breaks.broken_statement import (
    BrokenStatement,
    Cure,
    CureKind,
    find_broken_statements,
    find_own_names,
    parsed,
    replaced,
)
from workbench.analysis.breaks.host_calls import COMPILING, is_message, join_dotted
from workbench.analysis.breaks.rewrites import find_rewrites
from workbench.analysis.changes.change import Change, Setting
from workbench.compiler.sources.dynamo_messages import DATA_DECISION, DATA_NUMBER, OWN_CALL
from workbench.report import Break, Report
from workbench.report.rows import REFUSED_CALL, REFUSED_GRAPH

_SCALARS = "capture_scalar_outputs"
_SHAPES = "capture_dynamic_output_shape_ops"
_GRADIENTS = "trace_autograd_ops"
_BACKWARD = "Capture the function's own backward pass as part of its graph."
_NUMBERS = "Capture the values of .item() and the like as symbols."
_OPTIONS: Mapping[str, tuple[str, str]] = {
    "Unsupported Tensor.item() call": (_SCALARS, _NUMBERS),
    "Data dependent operator": (_SCALARS, _NUMBERS),
    "Dynamic shape operator": (
        _SHAPES,
        "Capture operators with data-dependent output sizes, with each size as a symbol.",
    ),
    "Attempted to wrap RNN, GRU, or LSTM": (
        "allow_rnn",
        "Capture RNN, GRU and LSTM step by step: long sequences make long graphs.",
    ),
    "Unsupported Tensor.backward() call": (_GRADIENTS, _BACKWARD),
    "using `torch.autograd.grad` with": (_GRADIENTS, _BACKWARD),
}
_LOGGED = "Let Dynamo skip calls to this method, for every logger and in all compiled code."
_UNSAID = (
    "Let Dynamo skip calls to this function in all compiled code: the line has other "
    "statements too."
)
_SAYING = {"print(": "builtins.print", "warnings.warn(": "warnings.warn"}
_LOGGER = re.compile(r"logging\.Logger method not supported")
_HINTED = re.compile(r"torch\._dynamo\.config\.(\w+)`? ?(?:=|to|set to) ?`?True")
_ASKED_FOR = "Set the Dynamo option that the hint names."
_EXPLICIT = (
    "Keep the call out of the graph explicitly. The break stays at the same cost, but is visible "
    "in the code and independent of Dynamo options."
)
_MOVED = "Move the message after the last operator, where it does not split the graph."
_LEFT_OUT = "Remove the explicit break."
_CALLS = (
    "Attempted to call function marked as skipped",
    "Failed to trace builtin operator",
    "Call to a time function",  # of its own kind since torch 2.15
    "Unsupported method call",
)


@dataclass(frozen=True)
class BreakAdvice:
    """What may remove a graph break.

    `cures` are in the order in which to try them. `words` are a part of a sentence: the first that
    removes the break, or advice if none is known.
    """

    cures: tuple[Cure, ...]
    words: str


def advise(item: Break, report: Report | None) -> BreakAdvice:
    """The fixes of a break, and advice in words.

    Without a report the code around the line is unknown, and fixes are not looked for.
    """
    cures = () if report is None else tuple(find_cures(report, item))
    first = next((one for one in cures if one.kind != "explicit"), None)
    if is_training_step(item):
        return BreakAdvice(cures, _LOSS)
    if first is not None:
        return BreakAdvice(cures, _name_cure(first))
    return BreakAdvice(cures, find_advice(item) if report is not None else _advise_unseen(item))


def _name_cure(cure: Cure) -> str:
    """A fix as the end of a sentence, with its code if that is one line."""
    code = cure.change.code.strip()
    if code.startswith(_UNDER_GUARD) and _is_message_line(code.partition("\n")[2]):
        return _UNDER
    title = f"{cure.title[:1].lower()}{cure.title[1:]}"
    return title if "\n" in code or not code else f"{title}: `{code}`"


def _is_message_line(text: str) -> bool:
    function = _parse_call(text)
    return function is not None and is_message(function)


def _parse_call(text: str) -> ast.expr | None:
    """The function that a line calls without using the result; None for any other line."""
    tree = parsed(text.strip())
    match None if tree is None else tree.body:
        case [ast.Expr(ast.Call(function))]:
            return function
    return None


def _advise_unseen(item: Break) -> str:
    """Advice on a break by its kind and torch's hints, if its code is unknown."""
    if item.kind == OWN_CALL:
        return "leave the call out"
    if item.text.startswith(_MESSAGES) or "print" in item.kind:
        return _UNDER
    if item.kind.startswith("Data-dependent branching"):
        return _CHECK if item.text.startswith("assert") else _EITHER
    return next(_list_plain_hints(item), None) or find_advice(item)


def find_cures(report: Report, item: Break) -> Iterator[Cure]:
    """The known fixes of a break, those that keep most of the graph first."""
    yield from find_rewrites(report, item)
    broken = next(find_broken_statements(report, item), None)
    if broken is not None:
        for cure in (_left_out(item, broken), _moved(item, broken)):
            if cure is not None:
                yield cure
    yield from _options(report, item, broken)
    explicit = None if broken is None else _explicit(item, broken)
    if explicit is not None:
        yield explicit


def _options(report: Report, item: Break, broken: BrokenStatement | None) -> Iterator[Cure]:
    """The Dynamo options that remove a break: those that are known, and those in its hints."""
    by_name = {name: text for kind, (name, text) in _OPTIONS.items() if item.kind.startswith(kind)}
    for hint in item.hints:
        for name in _HINTED.findall(hint):
            by_name.setdefault(name, _ASKED_FOR)
    for name, text in by_name.items():
        yield _option(text, Setting(name, True))
    if broken is None and (function := _said_in(item)) is not None:
        yield _option(_UNSAID, Setting("ignore_logging_functions", function, is_added=True))
    method = _logged(broken) if _LOGGER.match(item.kind) and broken is not None else None
    if method is not None:
        is_older = () < report.environment.torch_release < (2, 13)
        option = "ignore_logger_methods" if is_older else "ignore_logging_functions"
        yield _option(_LOGGED, Setting(option, f"logging.Logger.{method}", is_added=True))


def _option(text: str, setting: Setting) -> Cure:
    return Cure("option", text, Change(settings=(setting,)))


def _said_in(item: Break) -> str | None:
    """The function that prints or warns at a line whose statement cannot be changed by itself."""
    for mark, function in _SAYING.items():
        if mark in item.text and item.kind.startswith(_CALLS):
            return function
    return None


def _logged(broken: BrokenStatement) -> str | None:
    """The method of a logger that a statement calls."""
    match broken.statement:
        case ast.Expr(ast.Call(ast.Attribute(_, method))):
            return method
    return None


def _cure(
    kind: CureKind, text: str, item: Break, broken: BrokenStatement, last: ast.stmt, code: list[str]
) -> Cure:
    """The lines from the broken statement to the end of another one as `code`."""
    end = last.end_lineno or last.lineno
    edit = broken.edit(item.file, broken.statement.lineno, end, code)
    return Cure(kind, text, Change((edit,)))


def _left_out(item: Break, broken: BrokenStatement) -> Cure | None:
    """Removes `torch._dynamo.graph_break()`."""
    if not item.kind.startswith(OWN_CALL) or not isinstance(broken.statement, ast.Expr):
        return None
    code = [] if broken.rest else ["pass"]
    return _cure("rewrite", _LEFT_OUT, item, broken, broken.statement, code)


def _moved(item: Break, broken: BrokenStatement) -> Cure | None:
    """Moves a message to the end of its function, if it reads the same values there."""
    statement, rest = broken.statement, broken.rest
    match statement, rest:
        case ast.Expr(ast.Call(function)), [*between, ast.Return(ast.expr() as value) as last]:
            pass
        case _:
            return None
    names = {node.id for node in ast.walk(broken.tree) if isinstance(node, ast.Name)}
    is_name = isinstance(value, ast.Name)
    if not is_message(function) or (is_name and not between) or "result" in names:
        return None
    if any(isinstance(node, ast.Return) for stmt in between for node in ast.walk(stmt)):
        return None
    if _read(statement) & _written(between):
        return None
    message = ast.unparse(statement)
    lines = [] if not between else textwrap.dedent(_text(broken, between)).split("\n")
    end = (
        [message, ast.unparse(last)]
        if is_name
        else [f"result = {ast.unparse(value)}", message, "return result"]
    )
    return _cure("move", _MOVED, item, broken, last, [*lines, *end])


def _text(broken: BrokenStatement, block: Sequence[ast.stmt]) -> str:
    return "\n".join(broken.lines[block[0].lineno - 1 : block[-1].end_lineno])


def _read(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def _written(block: Sequence[ast.stmt]) -> set[str]:
    """The names that a block gives another value, or changes in place."""
    names: set[str] = set()
    for node in (node for stmt in block for node in ast.walk(stmt)):
        match node:
            case ast.Name(name, ast.Store() | ast.Del()):
                names.add(name)
            case ast.Subscript(value, _, ast.Store()) | ast.Attribute(value, _, ast.Store()):
                names |= {part.id for part in ast.walk(value) if isinstance(part, ast.Name)}
            case ast.Call(ast.Attribute(value, name)) if name.endswith("_"):
                names |= {part.id for part in ast.walk(value) if isinstance(part, ast.Name)}
    return names


def _explicit(item: Break, broken: BrokenStatement) -> Cure | None:
    """The call of a named function, which `torch.compiler.disable` keeps outside."""
    match broken.statement:
        case ast.Expr(ast.Call() as call) | ast.Assign([_], ast.Call() as call):
            pass
        case _:
            return None
    name = join_dotted(call.func)
    if name is None or name.startswith("torch.") or not item.kind.startswith(_CALLS):
        return None
    if name.partition(".")[0] in find_own_names(broken.tree):
        return None
    text = ast.unparse(replaced(broken.statement, call.func, ast.Name(_outside(name), ast.Load())))
    cure = _cure("explicit", _EXPLICIT, item, broken, broken.statement, text.split("\n"))
    above = (f"{_outside(name)} = torch.compiler.disable({name})",)
    return replace(cure, change=replace(cure.change, above=above), outside=name)


def _outside(name: str) -> str:
    return f"{name.replace('.', '_')}_outside"


_ARGUMENT = (
    "compute it before the compiled call and pass it as an argument (pass a number as a tensor: "
    "each new number or string recompiles)"
)
_TEXT = (
    "create it before or after the compiled call and do not pass it in (each new string recompiles)"
)
_AFTER = "return its inputs from the compiled function, and do it after the call"
_ADVICE: tuple[tuple[str, str], ...] = (
    (
        r"\block\b|Lock\(|\.acquire\(|\.release\(|Semaphore|Condition\(|limbo_lock",
        "hold the lock around the compiled call: compiled code cannot take locks",
    ),
    (r"\bThread\(|\.start\(\)|\.join\(\)|Executor|\.submit\(", f"start it outside: {_AFTER}"),
    (
        r"subprocess\.|os\.system\(|Popen\(|os\.popen\(",
        f"run the process outside compiled code: {_ARGUMENT}",
    ),
    (r"\binput\(|getpass\.getpass\(", f"read the input before the call: {_ARGUMENT}"),
    (
        r"torch\.load\(|np\.load\(|numpy\.load\(|load_file\(",
        "load it once before compiling, and pass it as an argument",
    ),
    (
        r"torch\.save\(|np\.save\w*\(|\.write\w*\(|open\([^)]*['\"][wax]|\bdump\(|save_file\(",
        f"write the file outside compiled code: {_AFTER}",
    ),
    (r"\bopen\(|\.read\w*\(", f"read the file before the call: {_ARGUMENT}"),
    (r"uuid|strftime|isoformat|ctime\(", _TEXT),
    (r"\btime\.(?!sleep)\w+\(", "read the clock around the compiled call"),
    (r"datetime|time\.\w+\(", _ARGUMENT),
    (
        r"manual_seed\(|random\.seed\(|default_rng\(|Generator\(|\.shuffle\(|random\.\w+\(|rng\.",
        f"seed the generator and draw the numbers outside compiled code: {_ARGUMENT}",
    ),
    (
        r"\brepr\(|\bstr\(|\bformat\(|\bid\(",
        f"build the string outside compiled code: {_AFTER}",
    ),
    (r"deepcopy\(|copy\.copy\(", "copy each tensor with .detach().clone()"),
    (
        r"^while\b",
        "compile the loop body as its own function and loop in Python, or run a fixed number of "
        "iterations and select finished ones with torch.where",
    ),
    (
        r"^(?:if|elif|for)\b|^assert\b",
        "compile each side as its own function, or compute both sides and choose with torch.where",
    ),
)
_DECIDED = (
    "Data-dependent",
    "Unsupported Tensor.item()",
    "Data dependent",
    "Dynamic shape",
    "Tensor.tolist()",
)
_TENSOR = "keep the value as a tensor, and convert it to a number after the compiled call"
_LOOP = (
    "replace the loop over values with operations on the whole tensor, or compile the code before "
    "and after the loop as separate functions"
)
_OUTSIDE = (
    "move the line out of the compiled function: before the call, with its result as an argument, "
    "or after it, with its inputs as outputs"
)


_NO_ADVICE = re.compile(
    r"file an issue|report an issue|Dynamo bug|may be possible to|not yet (?:fully )?supported"
    r"|fails? in eager|fullgraph=False|^Avoid calling|dont_skip_tracing|^It may"
    r"|^Avoid using the unsupported",
    re.IGNORECASE,
)
_AVOID = re.compile(r"^Avoid calling (?:the function |builtin )?`(?P<name>[\w.]+)`")
_UNDER_GUARD = f"if not {COMPILING}:\n"
_UNDER = f"write the message under `if not {COMPILING}:`, or after the call"
_CHECK = "keep the condition a tensor, as in `assert ~torch.isnan(x).any()`"
_EITHER = "choose between the two branches with torch.where, or with torch.cond if only one may run"
_MESSAGES = ("print(", "logging.", "logger.", "log.", "warnings.warn(")
_DEFINITION = re.compile(r"(?:async )?def |class |@|lambda\b")
_UNCOMPILED = (
    "exclude this function from compilation with torch.compiler.disable, or compile the functions "
    "that it calls"
)


_LOSS = (
    "compile the function that returns the loss, and call zero_grad(), backward() and step() "
    "outside it"
)
_STEP = re.compile(r"\.(?:zero_grad|backward)\(")
_CAUSES: tuple[tuple[str, str], ...] = (
    ("Data-dependent branching", "which branch runs depends on the values of a tensor"),
    ("Data-dependent assertion", "the assertion depends on the values of a tensor"),
    (DATA_DECISION, "which branch runs depends on the values of a tensor"),
    (DATA_NUMBER, "torch needs a number that is known only at run time"),
    ("Unsupported Tensor.item()", "it reads the value of a tensor into Python"),
    ("Tensor.tolist()", "it reads the values of a tensor into Python"),
    ("Data dependent operator", "it reads the value of a tensor into Python"),
    ("Dynamic shape operator", "the size of its result depends on the values of a tensor"),
    ("Attempted to wrap RNN", "Dynamo does not trace RNN, GRU and LSTM by default"),
    ("Dynamo-unsupported Tensor subclass", "Dynamo does not support this tensor subclass"),
    (OWN_CALL, "the program asks for a graph break here"),
)
"""What it is about the line, by the beginning of torch's name for the break."""
_NAMED = re.compile(r"(?:builtin operator|the function|the builtin|method) `(?P<name>[\w.]+)`")


def is_training_step(item: Break) -> bool:
    """Whether what breaks is the backward pass or the optimizer within the compiled function."""
    words = " ".join((item.kind, item.reason, *item.hints))
    return bool(_STEP.search(item.text)) or "Optimizer." in words or "Tensor.backward()" in words


def find_cause(item: Break) -> str:
    """Why torch cannot capture the line, as the end of a sentence in the words of the program."""
    if is_training_step(item):
        return "the compiled function includes the optimizer or the backward pass"
    for kind, cause in _CAUSES:
        if item.kind.startswith(kind):
            return cause
    found = _NAMED.search(item.explanation)
    return f"Dynamo cannot trace {found['name']}" if found else "Dynamo cannot trace this line"


def find_advice(item: Break) -> str:
    """Advice on a break without a known fix that removes it, as a part of a sentence."""
    if item.kind in (REFUSED_CALL, REFUSED_GRAPH) and item.hints:
        return item.hints[0][:1].lower() + item.hints[0][1:].rstrip(".")
    text = item.text.strip()
    if is_training_step(item):
        return _LOSS
    if _DEFINITION.match(text):
        return _UNCOMPILED
    if text.startswith("for ") and item.kind.startswith(_DECIDED):
        return _LOOP
    for pattern, advice in _ADVICE:
        if re.search(pattern, text):
            return advice
    if item.kind.startswith(_DECIDED):
        return _TENSOR
    return _find_torchs_advice(item) or _OUTSIDE


def _find_torchs_advice(item: Break) -> str:
    """The advice of torch's hints, without Dynamo options, which are fixes; "" for nothing."""
    hints = [hint for hint in _list_plain_hints(item) if not _HINTED.search(hint)]
    if hints:
        return hints[0]
    for name in (match["name"] for hint in item.hints if (match := _AVOID.match(hint))):
        if not name.startswith("_") and "._" not in name:
            return f"call {name} before or after the compiled function"
    if _parse_call(item.text) is not None:
        return "move the line before or after the compiled call"
    return next((hint.rstrip(".") for hint in item.hints if _can_follow(hint)), "")


def _list_plain_hints(item: Break) -> Iterator[str]:
    """Torch's hints that can be followed, and hold in any case."""
    return (
        hint.rstrip(".") for hint in item.hints if _can_follow(hint) and not hint.startswith("If ")
    )


def _can_follow(hint: str) -> bool:
    return _NO_ADVICE.search(hint) is None
