"""The same call in other company, or by another program: where the numbers part.

Other rooms import what they need of it from here.
"""

from workbench.worlds.numerics.computing.comparisons.batch_rows import Batch as Batch
from workbench.worlds.numerics.computing.comparisons.batch_rows import compare_rows as compare_rows
from workbench.worlds.numerics.computing.comparisons.batch_rows import find_batch as find_batch
from workbench.worlds.numerics.computing.comparisons.kept_values import KeptCall as KeptCall
from workbench.worlds.numerics.computing.comparisons.kept_values import (
    compare_calls as compare_calls,
)
from workbench.worlds.numerics.computing.comparisons.kept_values import (
    compare_outputs as compare_outputs,
)
from workbench.worlds.numerics.computing.comparisons.kept_values import keep_call as keep_call
from workbench.worlds.numerics.computing.comparisons.kept_values import list_unlike as list_unlike
from workbench.worlds.numerics.computing.comparisons.kept_values import load_call as load_call
