"""`%aot_profile`: a trace that is read and shown."""

from __future__ import annotations

from typing import Any

from IPython.core.magic import line_magic, magics_class
from IPython.core.magic_arguments import magic_arguments

from workbench.cells.call import read_path
from workbench.cells.option_magics import (
    NO_VIEW,
    OUTPUT,
    PATH,
    Option,
    OptionMagics,
    show_plain_errors,
    with_options,
)
from workbench.worlds.profiles import calls

PROFILE = (
    Option(("--gpu",), "a name from wb.targets(), if the trace has no GPU name", "NAME"),
    OUTPUT,
    NO_VIEW,
)


@magics_class
class ProfileMagics(OptionMagics):
    """`%aot_profile`, with its help."""

    @magic_arguments()
    @with_options(PROFILE, PATH)
    @line_magic
    def aot_profile(self, line: str) -> Any:
        """Show a torch.profiler trace: kernels, idle time, suggested changes; nothing is executed.

        A file of export_chrome_trace, or a folder with one per rank:

            %aot_profile trace.json.gz
            %aot_profile traces --gpu mi300x -o p
        """
        with show_plain_errors(self.shell, "%aot_profile"):
            chosen, path = self.parse_line(self.aot_profile, line)
            trace = read_path(path, "%aot_profile", "trace.json.gz")
            profile = calls.read_profile(trace, chosen.gpu)
            bound = self.bind(profile, chosen.output)
            return None if chosen.no_view else bound
