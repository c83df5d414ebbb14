"""What to change so that a function is not compiled again, by what its earlier variant wanted."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from workbench.analysis.source.recompile_reasons import PARAMETER, Reason, read_reason
from workbench.report.program.record_rows import ProgramRecompile, Trial
from workbench.worlds.sessions.rows.session_rows import place

DTYPES = {
    "Float": "float32",
    "Double": "float64",
    "Half": "float16",
    "BFloat16": "bfloat16",
    "Int": "int32",
    "Long": "int64",
    "Short": "int16",
    "Char": "int8",
    "Byte": "uint8",
    "Bool": "bool",
    "ComplexFloat": "complex64",
    "ComplexDouble": "complex128",
}
"""Names of dtypes in torch's guards."""
_WIDTHS = (
    *("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32"),
    *("float64", "complex64", "complex128"),
)
_SIZE = re.compile(r"^(?P<tensor>.+)\.size\(\)\[(?P<dim>\d+)\]$")
_IS_SIZE_1 = re.compile(r"^2 <= \S+$")
_AT_LEAST = re.compile(r"^(?:[3-9]|\d\d+) <= \S+$")
_KEY = re.compile(r"\w+")
_STRIDE = re.compile(r"\.stride(?:\(\)\[\d+\])?$")
_TENSOR_OF = re.compile(r"\.(?:size|stride)(?:\(\)\[\d+\])?$")
_EQUAL_SIZES = re.compile(r"\.size\(\)\[\d+\] == \S+\.size\(\)\[\d+\]$")
_IS_PASSED_ON = re.compile(r"\w+\[.*\]=")
_GROUP = re.compile(r"param_groups\[\d+\]\['(?P<name>\w+)'\]")
_GLOBAL = re.compile(r"^G\['(?P<name>\w+)'\](?P<rest>.*)$")
_CACHE = re.compile(
    r"past_key_values?\b|\b(?:key|value)_cache\b|\.layers\[\d+\]\.(?:keys|values)\b"
)
_MARK = "torch._dynamo.maybe_mark_dynamic({}, {})"
_UNBACKED = "torch._dynamo.decorators.mark_unbacked({}, {})"
_BUT = re.compile(r"(?:But|Yet) (?P<said>the outputs [^.]*)\.")
GOOD = ("cures", "helps")
"""Verdicts of a change that is given as a cure."""
DYNAMIC = "dynamic=True"
SCALARS = "capture_scalar_outputs"
UNSPECIALIZED = "allow_unspec_int_on_nn_module"
_PASSED = "{0} = torch.tensor({0})"
_PASSED_WIDE = "{0} = torch.tensor({0}, dtype=torch.float64)"
_MOST = 4
"""Lines that a sentence shows: more are like them."""
_MANY = 3
"""Recompiles by one cause that nobody expects any more, whatever each of them is for."""
_EXPECTED = re.compile(r"\bexpected(?: once)?[:,] ")
_WITH_STACK = re.compile(r"(?:: |, or pass )`[^;]*___stack[^;]*")


@dataclass(frozen=True)
class Fix:
    """What to do, in words that a sentence ends with.

    `code` are the lines of it that stand before each call, in the names of the function's
    arguments. `is_expected`: whether nothing is wrong with the recompile.
    """

    text: str
    code: tuple[str, ...] = ()
    is_expected: bool = False


def find_recompile_cure(rows: Sequence[ProgramRecompile]) -> Fix:
    """The cure of the recompiles of one function by one kind of guard, the nearest variants' rows.

    A guard that was not the first to fail is cured too, so that following this is enough.
    """
    reasons = list(_reasons(rows))
    first, *others = [_of_kind(reason, reasons, rows) for reason in _one_of_each_kind(reasons)]
    cures = [first, *(cure for cure in others if not cure.is_expected)]
    # what the line of a break gave has no name to write code with
    lines = (line for cure in cures for line in cure.code if "___stack" not in line)
    code = tuple(dict.fromkeys(lines))
    texts = list(dict.fromkeys(_WITH_STACK.sub("", cure.text) for cure in cures))
    made = Fix("; and ".join(texts), code, all(cure.is_expected for cure in cures))
    if made.is_expected and len({row.compile_id for row in rows}) >= _MANY:
        made = replace(made, text=_EXPECTED.sub("", made.text), is_expected=False)
    others_texts = [cure.text for cure in cures if not cure.code]
    judged = _judge(made, "; and ".join(dict.fromkeys(others_texts)), read_trials(rows))
    return _name_for_caller(judged, rows[-1])


def _name_for_caller(cure: Fix, row: ProgramRecompile) -> Fix:
    """The cure of a wrapper with `*args`, often of a library, in the names of its caller."""
    passed = [each for each in row.called_as if _IS_PASSED_ON.match(each)]
    lines = {each: write_for_caller(each, row) for each in cure.code} if passed else {}
    if not lines or None in lines.values():
        return cure
    text = cure.text
    for own, theirs in lines.items():
        text = text.replace(own, theirs or own)
    file, line, code = row.called_by
    return replace(cure, text=f"{text} (the call is `{code.strip()}`, {place(file, line)})")


def write_for_caller(code: str, row: ProgramRecompile) -> str | None:
    """A line of a cure in the caller's names; None where it has no plain name for one of them."""
    named = dict(each.split("=", 1) for each in row.called_as)
    renamed = _Renamer(named)
    tree = renamed.visit(ast.parse(code))
    return None if renamed.unknown else ast.unparse(tree)


class _Renamer(ast.NodeTransformer):
    """Writes arguments of a function, `x` or `args[0]`, as what a call passes for them."""

    def __init__(self, named: Mapping[str, str]) -> None:
        self._named = named
        self.unknown: list[str] = []

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        theirs = self._named.get(ast.unparse(node))
        return self.generic_visit(node) if theirs is None else ast.Name(theirs, node.ctx)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id == "torch":
            return node
        if node.id not in self._named:
            self.unknown.append(node.id)
            return node
        return ast.Name(self._named[node.id], node.ctx)


def read_trials(rows: Sequence[ProgramRecompile]) -> Mapping[str, Trial]:
    """What came of the changes that were tried, by their lines."""
    return {trial[0]: trial for row in rows for trial in row.tried}


def was_tried(cure: Fix, rows: Sequence[ProgramRecompile]) -> bool:
    """Whether a trial on copies of the calls stands behind a cure, or its text says that none does.

    Where changes of the same cause were tried, their verdicts chose the text.
    """
    verdicts = {trial[1] for trial in read_trials(rows).values()}
    return "tried" in cure.text or not verdicts.isdisjoint(_KNOWN)


def _judge(cure: Fix, rest: str, results: Mapping[str, Trial]) -> Fix:
    """A cure as it was tried on copies of the calls; one that was not says so.

    `rest` are the words of it that ask for no lines.
    """
    if not cure.code:
        return cure
    _, verdict, checked = results.get("\n".join(cure.code), ("", "", ""))
    if verdict in GOOD:
        return replace(cure, text=f"{cure.text}{_tell_but(checked)}")
    if verdict in ("", "not checked"):
        return replace(cure, text=f"{cure.text}. This was not tried")
    if rest:  # lines beside it, that alone are no cure
        return Fix(rest)
    lines = _shown(cure.code)
    if _UNBACKED.partition("{")[0] in lines:
        what = "does not help" if verdict == "no help" else "does not compile here"
        return Fix(f"the sizes 0 and 1 get their own variants: mark_unbacked {what}")
    why = "it does not help" if verdict == "no help" else _uncapitalized(checked).rstrip(".")
    return Fix(f"each value gets its own variant: {lines} was tried on copies, but {why}")


def _tell_but(checked: str) -> str:
    """What a trial says that outputs are besides, as the end of a sentence."""
    match = _BUT.search(checked)
    return f"; {match['said']}" if match is not None else ""


def _uncapitalized(text: str) -> str:
    return f"{text[:1].lower()}{text[1:]}"


def _reasons(rows: Sequence[ProgramRecompile]) -> Iterator[Reason]:
    """What every row says, then what else did not hold; the last row's own first."""
    for row in reversed(rows):
        yield Reason(row.against, row.guard, row.kind, row.source, row.expected, row.actual)
    for row in rows:
        yield from (read_reason(guard) for guard in row.also)


def _one_of_each_kind(reasons: Sequence[Reason]) -> list[Reason]:
    """The reasons whose cures differ; what is only another object is told by what it holds.

    A call with other arguments, as of decoding after the prefill, has other sizes too.
    """
    by_kind: dict[object, Reason] = {}
    ranked = {reason.source.removesuffix(".rank") for reason in reasons if reason.kind == "rank"}
    for reason in reasons:
        of_rank = _TENSOR_OF.sub("", reason.source) in ranked
        if reason.kind in ("size", "stride") and of_rank:  # other dimensions have others of these
            continue
        first = next(iter(by_kind.values()), reason)
        is_of_cache = reason.kind == "value" and _CACHE.search(reason.source)
        is_follower = reason.kind in ("identity", "global state", "other") or (
            first.kind == "length" and reason.kind == "size"
        )
        if by_kind and (is_follower or is_of_cache):
            continue
        key = (reason.kind, reason.source) if reason.kind in ("value", "type") else reason.kind
        by_kind.setdefault(key, reason)
    return list(by_kind.values())[:_MOST]


def _of_kind(first: Reason, reasons: Sequence[Reason], rows: Sequence[ProgramRecompile]) -> Fix:
    kind = first.kind
    own = [first, *(each for each in reasons if each.kind == kind and each is not first)]
    fixed_by = next((row.fixed_by for row in rows if row.fixed_by and _fixes(row, first)), "")
    if kind in _OF_ALL:
        return _OF_ALL[kind]
    if kind in _OF_FIRST:
        return _OF_FIRST[kind](first, rows)
    if kind in _OF_OWN:
        return _OF_OWN[kind](own, rows)
    if kind == "size":
        return _of_sizes(own, rows, fixed_by)
    if kind == "value":
        return _of_value(first, fixed_by, read_trials(rows))
    return Fix("keep the guarded value the same in every call")


def _fixes(row: ProgramRecompile, reason: Reason) -> bool:
    """Whether that a variant is fixed says something of a reason: 0 and 1 are always apart."""
    is_own = row.kind == reason.kind and (row.kind == "size" or row.source == reason.source)
    return is_own and (row.fixed_by != "the code" or row.actual not in ("0", "1"))


def _of_sizes(own: Sequence[Reason], rows: Sequence[ProgramRecompile], fixed_by: str) -> Fix:
    sizes = [
        (match["tensor"], int(match["dim"]), reason)
        for reason in own
        if (match := _SIZE.match(reason.source)) is not None
    ]
    if any(PARAMETER in reason.guard for reason in own):
        return Fix("set torch._dynamo.config.force_parameter_static_shapes = False")
    if any("(" in tensor for tensor, _, _ in sizes):  # an array of numpy, that no mark holds on to
        return Fix("compile with dynamic=True, or pad inputs to a few fixed sizes")
    if any(_CACHE.search(tensor) for tensor, _, _ in sizes):
        return Fix(
            "use one static cache length for all calls: "
            "past_key_values=transformers.StaticCache(config=model.config, max_cache_len=…), sized "
            "for the longest call; call reset() before each call"
        )
    if fixed_by == "dynamic=False":
        return Fix("compile it without dynamic=False, or pad inputs to a few fixed sizes")
    if any(row.resumed_at for row in rows):  # what is marked is an input of the whole function
        return Fix("compile with dynamic=True, or remove the graph break before it")
    last = next((row for row in rows if row.is_last_batch), None)
    if last is not None:
        usual = f"{last.actual} of {last.expected}"
        return Fix(
            f"the cause is the last, incomplete batch of the DataLoader ({usual}): pass it "
            f"drop_last=True, or {_marked(sizes)[0]}",
            _marked(sizes)[1],
        )
    if fixed_by:
        return Fix(
            "the code needs the size as a constant (a loop over it, int()), so each size gets its "
            "own variant: pad inputs to a few fixed sizes"
        )
    if sizes and all(_is_branch(reason) for _, _, reason in sizes):
        return _of_answers(sizes[0][2])
    asked = {tensor for tensor, _, reason in sizes if _is_branch(reason)}
    text, code = _marked([each for each in sizes if not _is_branch(each[2])], asked)
    smaller = [row for row in rows if _is_less(row.actual, row.expected)]
    if len(rows) == len(smaller) == 1 and rows[0].source.endswith(".size()[0]"):
        text = (
            "pass drop_last=True to the DataLoader if that was the last batch of an epoch, or "
            f"{text}"
        )
    return Fix(text, code)


def _of_answers(reason: Reason) -> Fix:
    """Of what the code asks of sizes, or two of them share, no mark changes anything."""
    if _EQUAL_SIZES.search(reason.guard):
        text = "expected once: these sizes were equal before, and the new variant lets them differ"
    else:
        text = (
            "expected: the code branches on the size, and each branch gets its own variant, "
            "compiled once"
        )
    return Fix(text, (), True)


def _is_branch(reason: Reason) -> bool:
    """Whether a guard on a size is an answer that the code asked for, not the size itself."""
    is_size_1 = _IS_SIZE_1.match(reason.guard) is not None or reason.actual in ("0", "1")
    is_asked = _AT_LEAST.match(reason.guard) is not None
    return is_asked or not (is_size_1 or reason.guard.startswith("tensor '"))


def _is_less(a: str, b: str) -> bool:
    return a.isdigit() and b.isdigit() and int(a) < int(b)


def _marked(
    sizes: Sequence[tuple[str, int, Reason]], asked: Collection[str] = ()
) -> tuple[str, tuple[str, ...]]:
    """The marks of every size that changed, in words and as code.

    Marked alone, one of several inputs that share a size is fixed by the others. 0 and 1 are
    compiled apart whatever is marked as dynamic; what is unbacked may be these too, unless code
    asks for sizes of it, as it does of the tensors `asked`.
    """
    is_unbacked = not asked and any(
        _IS_SIZE_1.match(each.guard) or {each.expected, each.actual} & {"0", "1"}
        for _, _, each in sizes
    )
    mark = _UNBACKED if is_unbacked else _MARK
    code = tuple(dict.fromkeys(mark.format(tensor, dim) for tensor, dim, _ in sizes))
    each = "mark every changing size before each call"
    if is_unbacked:
        return (
            f"{each}, also for 0 and 1: {_shown(code)} (fails if the code branches on the size, as "
            "batch norm does; then expect a variant for 1)",
            code,
        )
    also = "; each branch on the size still gets its own variant" if asked else ""
    return f"{each}: {_shown(code)}. Or pad the inputs to a few fixed sizes{also}", code


def _shown(code: Sequence[str]) -> str:
    more = len(code) - _MOST
    shown = ", ".join(f"`{line}`" for line in code[:_MOST])
    return f"{shown} and {more} more" if more > 0 else shown


def _of_value(reason: Reason, fixed_by: str, results: Mapping[str, Trial]) -> Fix:
    source, expected = reason.source, reason.expected
    if source.endswith(".training") or source == "training":
        return Fix(
            "expected: a variant for training and one for evaluation, each compiled once", (), True
        )
    if match := _GROUP.search(source):
        return _of_optimizer(match["name"])
    if not (_is_number(expected) and _is_number(_now(reason))):
        return Fix(
            "expected: each value gets its own variant, compiled once (with many values, keep it "
            "out of the compiled function)",
            (),
            True,
        )
    if not re.fullmatch(r"[\w.\[\]']+", source):  # arithmetic
        return Fix(
            "expected: the code branches on the number, and each branch gets its own variant, "
            "compiled once",
            (),
            True,
        )
    if match := _GLOBAL.match(source):
        name = match["name"] + match["rest"]
        return Fix(f"keep it as a tensor wherever it is set: `{name} = torch.tensor(…)`")
    if fixed_by == "dynamic=False":
        return Fix("compile it without dynamic=False")
    if re.fullmatch(r"[\w.]+\.\w+", source):
        return _of_attribute(source, results)
    if source.isidentifier():
        return _of_passed(reason, fixed_by, results)
    return Fix(_NEEDED if fixed_by else f"{_ANY_VALUE}. This was not tried")


_ANY_VALUE = "compile with dynamic=True, which accepts any value from the first call on"
_NEEDED = (
    "the code needs the number as a constant (for example in a loop), so each number gets its own "
    "variant: use few numbers"
)


def write_tensor(source: str) -> tuple[str, ...]:
    """The lines that pass a number as a tensor, the plain one first."""
    return _PASSED.format(source), _PASSED_WIDE.format(source)


def _of_passed(reason: Reason, fixed_by: str, results: Mapping[str, Trial]) -> Fix:
    """A number that is an argument: as a tensor, or with dynamic=True, as trying them showed."""
    source = reason.source
    lines = write_tensor(source)
    verdicts = {name: trial[1] for name, trial in results.items()}
    known = [name for name in (*lines, DYNAMIC) if verdicts.get(name, "not checked") in _KNOWN]
    as_tensor = f"pass `torch.tensor({source})`"
    if not known:
        if fixed_by:
            if not _is_float(reason):
                return Fix(_NEEDED)
            return Fix(
                f"{as_tensor} if the code only computes with it, which was not tried; if it needs "
                "the number as a constant, use few numbers"
            )
        return Fix(
            f"{_ANY_VALUE}, or {as_tensor} if the code only computes with it; neither was tried"
        )
    line = next((line for line in lines if verdicts.get(line) == "cures"), None)
    captured = next((one for one in lines if verdicts.get(f"{one}\n{SCALARS}") == "cures"), None)
    if verdicts.get(DYNAMIC) == "cures":
        also = "" if line is None else f", or {as_tensor} if the code only computes with it"
        return Fix(f"{_ANY_VALUE}{also}")
    if line is not None:
        return Fix(f"pass it as a tensor, one variant for all values: `{line}`", (line,))
    if captured is not None:
        return Fix(
            f"pass it as a tensor, one variant for all values: `{captured}`, with "
            f"torch._dynamo.config.{SCALARS} = True"
        )
    if verdicts.get(DYNAMIC) == "helps":
        return Fix(
            "compile with dynamic=True, which needs only one variant for each branch on the number"
        )
    return Fix(_NEEDED)


_KNOWN = ("cures", "helps", "no help", "refused")


def _is_float(reason: Reason) -> bool:
    return any("." in value or "e" in value for value in (reason.expected, reason.actual))


def _of_attribute(source: str, results: Mapping[str, Trial]) -> Fix:
    """A number that an object holds, which torch takes as a constant of the code."""
    holder, _, name = source.rpartition(".")
    verdicts = {name: trial[1] for name, trial in results.items()}
    if verdicts.get(source) in ("no help", "refused"):
        if verdicts.get(UNSPECIALIZED) in GOOD:
            return Fix(
                f"set torch._dynamo.config.{UNSPECIALIZED} = True before the first call: the code "
                "branches on the number"
            )
        if verdicts.get(UNSPECIALIZED) in ("no help", "refused"):
            return Fix(f"{_NEEDED}, or update the number outside the compiled function")
    return Fix(
        f"if the code only computes with {source}, make it a tensor where it is set, `{source} = "
        f"torch.tensor(…)` (in a module, register a buffer: `{holder}.register_buffer({name!r}, "
        "torch.tensor(…))`); if a loop or a size needs it, each number gets its own variant"
    )


def _now(reason: Reason) -> str:
    return reason.actual or reason.expected


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?", text) is not None


def _of_optimizer(name: str) -> Fix:
    if name == "lr":
        return Fix("pass the optimizer's learning rate as a tensor, `lr=torch.tensor(…)`")
    if name in ("betas", "momentum"):
        them = "them" if name == "betas" else "it"
        return Fix(
            f"keep the optimizer's {name} constant: pass `cycle_momentum=False` to schedulers "
            f"that change {them} by default (OneCycleLR, CyclicLR)"
        )
    return Fix(f"keep the optimizer's {name} constant from the first step on")


def _keep_written(
    names: Collection[str], rows: Sequence[ProgramRecompile], cure: Fix, at_source: str
) -> Fix:
    """A cure that passes copies of these inputs, unless the code writes to what was passed.

    A copy takes the writes then, and the caller's tensor stays as it was.
    """
    known = [row.writes for row in rows]
    written = {name for each in known if each is not None for name in each}
    own = [name for name in names if any(_is_part(name, other) for other in written)]
    if own:
        shown = " and ".join(f"`{name}`" for name in own)
        return Fix(f"the code writes to {shown}, and a copy would lose these writes: {at_source}")
    if any(each is None for each in known):
        shown = " and ".join(f"`{name}`" for name in names)
        only = f", but only if the call does not write to {shown} (unknown)"
        return Fix(f"{cure.text}{only}")
    return cure


def _is_part(name: str, other: str) -> bool:
    """Whether one of two names is the other, or a part of it."""
    long, short = sorted((name, other), key=len, reverse=True)
    return long == short or long.startswith((f"{short}[", f"{short}."))


def _of_strides(own: Sequence[Reason], rows: Sequence[ProgramRecompile]) -> Fix:
    names = dict.fromkeys(_STRIDE.sub("", reason.source) for reason in own)
    code = tuple(f"{name} = {name}.contiguous()" for name in names)
    cure = Fix(f"always pass it with the same memory layout: {_shown(code)}", code)
    return _keep_written(names, rows, cure, "create it with one memory layout")


def _of_aliasing(reason: Reason, rows: Sequence[ProgramRecompile]) -> Fix:
    both = [name.strip(" '\"") for name in reason.source.split(",")]
    other = (reason.expected or both[-1]).strip("'\"")
    code = (f"{other} = {other}.clone()",)
    cure = Fix(f"pass distinct tensors: {_shown(code)}", code)
    apart = "expect another variant for calls that pass the same tensor for both"
    # whichever of both is written to, the other has to show it
    return _keep_written([*dict.fromkeys((*both, other))], rows, cure, apart)


def _of_type(own: Sequence[Reason], rows: Sequence[ProgramRecompile]) -> Fix:
    """What differs first; that a parameter has another dtype says that the model was cast."""
    source, expected, actual = own[0].source, own[0].expected, own[0].actual
    if source.endswith(".grad") and expected == "not None":
        return Fix(
            "expected if a step leaves some gradients None; `zero_grad(set_to_none=False)` keeps "
            "zeros there, and one variant",
            (),
            True,
        )
    if source.endswith(".grad"):
        return Fix(
            "expected once: the first step has no gradients yet "
            "(with `zero_grad(set_to_none=True)` before each call, no call has any)",
            (),
            True,
        )
    if source.endswith(".dtype"):
        name, wanted = source.removesuffix(".dtype"), _find_widest(own)
        if any("." in each.source.removesuffix(".dtype") for each in own):
            return Fix(
                "expected once, when a model is cast: cast it before its first call", (), True
            )
        code = (f"{name} = {name}.to(torch.{wanted})",)
        cure = Fix(f"pass it with one dtype: {_shown(code)}", code)
        return _keep_written([name], rows, cure, "create it with one dtype")
    if expected == "a tensor" and re.search(r"'(?:int|float|bool)'", actual):
        code = (f"{source} = torch.as_tensor({source})",)
        return Fix(f"pass a tensor in every call: {_shown(code)}", code)
    if is_of_inference(expected, actual):
        return Fix(
            "expected: tensors created under torch.inference_mode get their own variant; "
            "torch.no_grad() creates ordinary ones",
            (),
            True,
        )
    if source.endswith("dispatch key set"):
        return Fix(
            "expected: a different device, layout or transform (such as vmap) gets its own variant",
            (),
            True,
        )
    if "None" in (expected, "not None") or "NoneType" in actual:
        return Fix(
            "expected: calls with and without it are two variants, each compiled once", (), True
        )
    if source.endswith(".device"):
        return Fix("pass it on one device, or expect a compile for each")
    return Fix("expected: each class gets its own variant, compiled once", (), True)


def _find_widest(own: Sequence[Reason]) -> str:
    """Of the dtypes that the first input had the one that loses nothing of the others."""
    of_first = [reason for reason in own if reason.source == own[0].source]
    names = [DTYPES.get(dtype, dtype) for r in of_first for dtype in (r.expected, r.actual)]
    return max(names, key=lambda name: _WIDTHS.index(name) if name in _WIDTHS else -1)


def is_of_inference(expected: str, actual: str) -> bool:
    """Whether one of two dispatch key sets is that of a tensor made under inference mode."""
    differing = set(_KEY.findall(expected)) ^ set(_KEY.findall(actual))
    return "ADInplaceOrView" in differing and all(
        key == "ADInplaceOrView" or key.startswith("Autograd") for key in differing
    )


def _of_grad_mode(own: Sequence[Reason], rows: Sequence[ProgramRecompile]) -> Fix:
    inputs = {
        reason.source.removesuffix(".requires_grad"): reason.expected
        for reason in own
        if reason.source.endswith(".requires_grad")
    }
    if inputs and not any("GLOBAL_STATE" in reason.guard for reason in own):
        if all("." in name for name in inputs):
            return Fix(
                "expected once, when parameters are frozen or unfrozen; freeze them before the "
                "first call",
                (),
                True,
            )
        code = tuple(
            f"{name} = {name}.requires_grad_()"
            for name, expected in inputs.items()
            if expected == "True" and "." not in name
        )
        if not code:  # detach() would take away the gradient that this call is made for
            return Fix(
                "expected: calls with and without gradients are two variants, each compiled once",
                (),
                True,
            )
        return Fix(
            f"pass inputs that require gradients in every call: {_shown(code)}",
            code,
        )
    both = "one grad mode"
    if any("autocast" in reason.guard for reason in own):
        both += " and under one autocast"
    return Fix(
        "expected: training and evaluation each get a variant, compiled once; to get only one, "
        f"always call it in {both}",
        (),
        True,
    )


def _of_identity(reason: Reason, rows: Sequence[ProgramRecompile]) -> Fix:
    if reason.guard.startswith("Cache line invalidated"):
        return Fix(
            "expected: torch drops a variant when the object that it was compiled for is freed, so "
            "keep that object alive as long as the function",
            (),
            True,
        )
    if reason.actual:
        return Fix("expected: each value gets its own variant, compiled once", (), True)
    return Fix(
        "use one object for all calls: a redefined object, such as a function in a rerun cell, "
        "causes a recompile"
    )


def _of_length(reason: Reason, rows: Sequence[ProgramRecompile]) -> Fix:
    if "self.state" in reason.source or "self.state" in reason.guard:
        return Fix(
            "expected once: the optimizer's first step creates its state, which later steps reuse",
            (),
            True,
        )
    if "self.param_groups" in reason.source:
        return Fix("add every parameter group before the first step")
    if "dict.keys(" in reason.guard:
        return Fix("pass the same keys in the same order in every call")
    held = reason.source.removeprefix("len(").removesuffix(")")
    if "." in held and held.split(".")[0] not in ("args", "kwargs"):
        return Fix(
            f"keep {held} at one length: change it outside the compiled function, or keep its "
            "entries in one tensor of fixed size"
        )
    return Fix(
        "pass the same number of arguments and entries in every call, or compile one function for "
        "each kind of call, such as prefill and decode"
    )


def _of_global_state(reason: Reason, rows: Sequence[ProgramRecompile]) -> Fix:
    guard = reason.guard
    if "autocast" in guard:
        return Fix(
            "call it under one autocast mode, or expect a variant for each, compiled once",
            (),
            True,
        )
    if "mode_stack" in guard or "CURRENT_DEVICE" in guard or "torch_function" in guard:
        return Fix("enter `with torch.device(…)` and other torch modes around all calls or none")
    return Fix("set it once, before the first call")


_OF_ALL: Mapping[str, Fix] = {
    "rank": Fix(
        "expected: each number of dimensions gets its own variant, compiled once", (), True
    ),
    "backend": Fix(
        "keep the function that torch.compile returned and call it; a different backend, mode or "
        "set of options gets its own variant, compiled once"
    ),
}
"""Cures by kind of guard, whatever it looks at."""
_OF_FIRST: Mapping[str, Callable[[Reason, Sequence[ProgramRecompile]], Fix]] = {
    "aliasing": _of_aliasing,
    "identity": _of_identity,
    "length": _of_length,
    "global state": _of_global_state,
}
"""By kind, of the guard that failed first."""
_OF_OWN: Mapping[str, Callable[[Sequence[Reason], Sequence[ProgramRecompile]], Fix]] = {
    "stride": _of_strides,
    "type": _of_type,
    "grad mode": _of_grad_mode,
}
"""By kind, of all guards of the kind that failed."""
