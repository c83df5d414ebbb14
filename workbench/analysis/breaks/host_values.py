"""Values that Python reads or copies outside the graph: files, strings, settings, tensors."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from workbench.analysis.breaks.broken_statement import (
    BrokenStatement,
    Rewrite,
    change_of,
    find_own_names,
    parse_expression,
    replace_expression,
)
from workbench.analysis.breaks.host_calls import COMPILING, find_calls, join_dotted
from workbench.analysis.breaks.python_draws import write_operator

_ONCE_TITLE = "Read it once, at compile time"
_ONCE = (
    "The value is read at compile time and stays the same if the file or setting changes. Use it "
    "only for values that never change while the program runs."
)
_OPERATOR_TITLE = "Read the number inside a custom operator"
_OPERATOR = "As before, the number is read on every call, now by a custom operator."
_UNUSED_TITLE = "Keep the unused value out of compiled code"
_UNUSED = "{} is not used here; eager still computes it."
_COPY_TITLE = "Copy the tensor with torch"
_DEEP = "`.detach().clone()` has the same values in its own memory, like the copy."
_SHALLOW = "`.detach()` has the same values in the same memory, like the copy."
_MODULES = {
    *("json", "pickle", "hashlib", "re", "platform", "socket", "getpass", "base64", "zlib"),
    *("struct", "locale", "glob", "tomllib", "toml", "yaml", "csv", "configparser", "pathlib"),
    *("inspect", "importlib.metadata", "os.path", "textwrap", "string", "ast", "shutil"),
}
_READERS = {
    *("open", "Path", "os.listdir", "os.getcwd", "os.getpid", "os.stat", "os.getenv", "os.scandir"),
    *("os.cpu_count", "os.uname", "os.environ.get", "sys.getsizeof", "uuid.getnode"),
}
_WRITING = {
    *("dump", "write", "write_text", "write_bytes", "writelines", "mkdir", "touch", "unlink"),
    *("rename", "replace_file", "rmtree", "copyfile", "copy", "copytree", "move", "chmod"),
    *("rmdir", "sendall", "send", "connect", "bind", "writerow", "writerows", "symlink_to"),
}
_WITHOUT_EFFECT = {
    *("uuid.uuid1", "uuid.uuid4", "uuid.uuid5", "pickle.dumps", "json.dumps", "id", "repr"),
    *("time.strftime", "time.ctime", "time.localtime", "time.gmtime", "threading.get_ident"),
    *("threading.current_thread", "sys.getsizeof", "torch.cuda.memory_allocated"),
}
_ROOTS = frozenset(name.partition(".")[0] for name in (*_MODULES, *_READERS))
_BUILTINS = {
    *("float", "int", "str", "bool", "len", "sum", "min", "max", "sorted", "list", "dict", "tuple"),
    *("set", "round", "abs", "any", "all", "range", "zip", "enumerate", "open", "bytes"),
}
_CONVERTED: Mapping[str, str] = {"float": "", "int": ", dtype=torch.int64"}
_SIMPLE = {"str", "int", "float", "bool", "Path", "pathlib.Path"}


def rewrite_unused(broken: BrokenStatement) -> Iterator[Rewrite]:
    """Make a value that nothing reads only where nothing is compiled."""
    match broken.statement:
        case ast.Assign([ast.Name(name)], ast.Call(function)) as statement:
            pass
        case _:
            return
    called = ast.unparse(function)  # also such as uuid.uuid4().bytes.hex
    is_read = any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
        for node in ast.walk(broken.tree)
    )
    if is_read or not any(
        called == harmless or called.startswith(f"{harmless}(") for harmless in _WITHOUT_EFFECT
    ):
        return
    text = textwrap.indent(ast.unparse(statement), "    ")
    code = f"if not {COMPILING}:\n{text}"
    yield change_of(_UNUSED_TITLE, _UNUSED.format(name), statement, code)


def copy_changes(broken: BrokenStatement) -> Iterator[Rewrite]:
    """`.detach().clone()` and `.detach()` for `copy.deepcopy` and `copy.copy` of a tensor."""
    for node, copied in find_calls(broken.statement, _copied):
        why, method = (
            (_DEEP, "detach().clone()") if copied == "deepcopy" else (_SHALLOW, "detach()")
        )
        value = ast.unparse(node.args[0])
        is_name = isinstance(node.args[0], ast.Name | ast.Attribute | ast.Subscript | ast.Call)
        new = parse_expression(f"{value if is_name else f'({value})'}.{method}")
        rewrite = replace_expression(_COPY_TITLE, why, broken.statement, node, new)
        if rewrite is not None:
            yield rewrite
        return


def _copied(call: ast.Call) -> str | None:
    name = join_dotted(call.func) or ""
    is_alone = len(call.args) == 1 and not call.keywords
    is_copy = name in ("copy.deepcopy", "deepcopy", "copy.copy")
    return name.rpartition(".")[2] if is_alone and is_copy else None


def read_changes(broken: BrokenStatement) -> Iterator[Rewrite]:
    """A function that Dynamo calls while it compiles, or an operator that reads a number."""
    statement, known = broken.statement, _Known(broken.tree)
    match statement:
        case ast.With() if (names := known.read_in(statement)) is not None:
            body = ast.unparse(statement)
            name = f"read_{names[0]}"
            result = ", ".join(names)
            inside = f"{body}\nreturn {result}"
            code = f"{result} = {name}()"
            yield change_of(_ONCE_TITLE, _ONCE, statement, code, above=_once(name, (), inside))
            return
    outermost = known.outermost(statement)
    if outermost is None:
        return
    read, arguments = outermost
    text = ast.unparse(read)
    name = f"read_{re.sub(r'[^0-9A-Za-z]+', '_', text).strip('_')[:32].strip('_')}"
    call = parse_expression(f"{name}({', '.join(arguments)})")
    match read:
        case ast.Call(ast.Name("float" | "int" as kind)) if not arguments:
            dtype = _CONVERTED[kind]
            above = write_operator(name, f"torch.tensor({text}{dtype})", f"(){dtype}")
            rewrite = replace_expression(_OPERATOR_TITLE, _OPERATOR, statement, read, call, above)
            if rewrite is not None:
                yield rewrite
    above = _once(name, arguments, f"return {text}")
    rewrite = replace_expression(_ONCE_TITLE, _ONCE, statement, read, call, above)
    if rewrite is not None:
        yield rewrite


def _once(name: str, arguments: Sequence[str], body: str) -> tuple[str, ...]:
    """A function whose result Dynamo takes for a constant."""
    return (
        "@torch.compiler.assume_constant_result",
        f"def {name}({', '.join(arguments)}):",
        *textwrap.indent(body, "    ").split("\n"),
    )


class _Known:
    """What the code of a function may read while it is compiled: nothing that a tensor decides."""

    def __init__(self, tree: ast.Module):
        self._own = find_own_names(tree)
        self._simple = {
            node.arg
            for node in ast.walk(tree)
            if isinstance(node, ast.arg) and node.annotation is not None
            if ast.unparse(node.annotation) in _SIMPLE
        }

    def outermost(self, statement: ast.stmt) -> tuple[ast.expr, tuple[str, ...]] | None:
        """The largest expression of a statement that only reads, with the arguments it takes."""
        if hasattr(statement, "body") and not isinstance(statement, ast.If | ast.For):
            return None
        waiting: list[ast.AST] = [statement]
        while waiting:
            node = waiting.pop(0)
            if isinstance(node, ast.expr) and self._only_reads(node):
                names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
                return node, tuple(sorted(names & self._simple))
            body = getattr(node, "body", None) if isinstance(node, ast.stmt) else None
            inner = [] if not isinstance(body, list) else [*body, *getattr(node, "orelse", ())]
            waiting += [child for child in ast.iter_child_nodes(node) if child not in inner]
        return None

    def _only_reads(self, node: ast.expr) -> bool:
        """Whether an expression holds a call that reads, and nothing that is not known."""
        reads = [part for part in ast.walk(node) if isinstance(part, ast.Call) and _is_read(part)]
        return bool(reads) and self._is_known(node, is_argument=False)

    def _is_known(self, node: ast.AST, *, is_argument: bool) -> bool:
        match node:
            case ast.Name(name):
                is_global = name not in self._own and (is_argument or name in _ROOTS)
                return is_global or name in self._simple or name in _BUILTINS
            case ast.Call(function, args, keywords):
                if _is_write(node):
                    return False
                whole = [*args, *(keyword.value for keyword in keywords)]
                inner = is_argument or _is_read(node)
                return self._is_known(function, is_argument=is_argument) and all(
                    self._is_known(argument, is_argument=inner) for argument in whole
                )
            case ast.Lambda() | ast.Await() | ast.Yield() | ast.YieldFrom() | ast.NamedExpr():
                return False
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return False
            case ast.expr():
                children = (n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr))
                return all(self._is_known(child, is_argument=is_argument) for child in children)
        return True

    def read_in(self, statement: ast.With) -> list[str] | None:
        """The names that a `with open(…)` gives values, where it only reads; None for others."""
        opened = [
            (item.context_expr, item.optional_vars)
            for item in statement.items
            if isinstance(item.context_expr, ast.Call)
        ]
        if len(opened) != len(statement.items) or not all(self._only_reads(e) for e, _ in opened):
            return None
        files = {name.id for _, name in opened if isinstance(name, ast.Name)}
        names: list[str] = []
        for stmt in statement.body:
            match stmt:
                case ast.Assign([ast.Name(name)], value):
                    read = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
                    outer = read - files - {*names}
                    is_known = not (outer & self._own) and not any(
                        isinstance(node, ast.Call) and _is_write(node) for node in ast.walk(value)
                    )
                    if not is_known or not outer <= _BUILTINS | _ROOTS:
                        return None
                    names.append(name)
                case _:
                    return None
        return list(dict.fromkeys(names)) or None


def _is_read(call: ast.Call) -> bool:
    """Whether a call reads a file, a text or a setting, by its name."""
    name = join_dotted(call.func) or ""
    owner = name.rpartition(".")[0]
    if name == "open":
        return not _is_write(call)
    return (owner in _MODULES or name in _READERS) and not _is_write(call)


def _is_write(call: ast.Call) -> bool:
    """Whether a call writes, by its name or by the mode of `open`."""
    name = join_dotted(call.func) or ""
    last = call.func.attr if isinstance(call.func, ast.Attribute) else name
    if last == "open":
        modes = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "mode")]
        texts = [str(mode.value) if isinstance(mode, ast.Constant) else "" for mode in modes]
        return not all(text.startswith("r") and "+" not in text for text in texts)
    return last in _WRITING
