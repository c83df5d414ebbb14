"""`%aot_kernel`: the launch on its line or in its cell, and what becomes of it."""

from __future__ import annotations

import ast
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import line_cell_magic, magics_class
from IPython.core.magic_arguments import magic_arguments

from workbench.cells.call import WrittenCall, evaluate_call, parse_cell, parsed
from workbench.cells.option_magics import (
    CALL,
    NO_VIEW,
    OUTPUT,
    Option,
    OptionMagics,
    list_gpus,
    show_plain_errors,
    with_options,
)
from workbench.errors import UsageError
from workbench.worlds.own_kernels import calls

KERNEL = (
    Option(
        ("-t", "--target"),
        "the target GPU, such as h100 (the default); it is not needed here",
        "GPU",
        list_more=list_gpus,
    ),
    OUTPUT,
    NO_VIEW,
)


@magics_class
class KernelMagics(OptionMagics):
    """`%aot_kernel`, with its help."""

    @magic_arguments()
    @with_options(KERNEL, CALL)
    @line_cell_magic
    def aot_kernel(self, line: str, cell: str | None = None) -> Any:
        """Compile a kernel of Triton or Gluon for a GPU, and show its code line by line.

        The launch is not made. As a cell magic the body runs, which may define the kernel, and its
        last expression is the launch. The result is `_`, or NAME with -o; it can be checked:

            %aot_kernel -t b200 add[(4,)](x, y, out, n, BLOCK=256)
            %%aot_kernel -o k
            k.check(reference=lambda x, y, out, n: x + y)
        """
        with show_plain_errors(self.shell, "%aot_kernel"):
            chosen, rest = self.parse_line(self.aot_kernel, line)
            if cell is not None and rest:
                raise UsageError(
                    f"write the launch at the end of the cell, not after %%aot_kernel: {rest}"
                )
            call = read_launch(self.shell, rest, cell)
            target = chosen.target or "h100"
            handle = calls.kernel(call.function, *call.args, target=target, **call.kwargs)
            bound = self.bind(handle, chosen.output)
            if chosen.no_view:
                return None
            handle.report  # noqa: B018 - compiled here, where an error is one sentence
            return bound


def read_launch(shell: InteractiveShell, text: str, cell: str | None) -> WrittenCall:
    """The parts of a launch, `kernel[grid](x, n, BLOCK=256)`, with the grid among the named ones.

    It is the last expression of a cell, whose body is run, or the text beside the magic. Raises
    `UsageError` when it is none.
    """
    if cell is None:
        name = shell.compile.cache(text, shell.execution_count)
        node = parsed(text, name) if text else None
    else:
        tree, name = parse_cell(shell, cell)
        last = tree.body.pop() if tree.body else None
        node = last.value if isinstance(last, ast.Expr) else None
        exec(compile(tree, name, "exec", shell.compile.flags), shell.user_ns)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Subscript):
        raise UsageError(
            "Write the launch as in Triton, such as `add[(4,)](x, y, out, n, BLOCK=256)`, after "
            "%aot_kernel or as the last line of a cell. It is not launched."
        )
    for name, place in (("grid", "in the brackets"), ("target", "with -t, before the launch")):
        if any(keyword.arg == name for keyword in node.keywords):
            raise UsageError(
                f"Give {name} {place}. Pass a kernel argument with this name by position."
            )
    launch, grid = node.func, ast.keyword("grid", node.func.slice)
    called = ast.Call(launch.value, node.args, [*node.keywords, grid])
    return evaluate_call(shell, ast.copy_location(called, node), ast.unparse(node), name)
