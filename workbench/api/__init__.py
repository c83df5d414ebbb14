"""What the user calls; each function wires the rooms together and holds no logic of its own."""

from __future__ import annotations

from workbench.analysis.goals import OBJECTIVES as OBJECTIVES
from workbench.analysis.goals import STRATEGIES as STRATEGIES
from workbench.api.compiling import aot_compile as aot_compile
from workbench.api.compiling import compile_async as compile_async
from workbench.api.compiling import explain as explain
from workbench.api.compiling import package as package
from workbench.api.compiling import recompile as recompile
from workbench.api.compiling import warm_up as warm_up
from workbench.api.files import check as check
from workbench.api.files import inspect as inspect
from workbench.api.files import load as load
from workbench.api.files import machine as machine
from workbench.api.files import sign as sign
from workbench.api.files import trust as trust
from workbench.api.files import trust_key as trust_key
from workbench.api.looking import aotinductor_names as aotinductor_names
from workbench.api.looking import diff as diff
from workbench.api.looking import launches as launches
from workbench.api.looking import read_trace as read_trace
from workbench.api.looking import show as show
from workbench.api.looking import target_names as target_names
from workbench.api.looking import targets as targets
from workbench.api.looking import why_recompiled as why_recompiled
from workbench.api.measuring import matrix as matrix
from workbench.api.measuring import profile as profile
from workbench.api.measuring import roundtrip as roundtrip
from workbench.api.measuring import sweep as sweep
from workbench.api.measuring import verify as verify
from workbench.compiler.choices import GUARD_POLICIES as GUARD_POLICIES
from workbench.compiler.choices import MODES as MODES
from workbench.compiler.choices import TARGETS as TARGETS
