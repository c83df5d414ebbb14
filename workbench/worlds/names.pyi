"""The public names of the worlds of this package, for type checkers alone."""

from workbench.worlds.numerics.calls import minify as minify
from workbench.worlds.numerics.calls import numerics as numerics
