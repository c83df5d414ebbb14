"""What the user calls; each function wires the rooms together and holds no logic of its own."""

from __future__ import annotations

from workbench.analysis.sweep.goals import OBJECTIVES as OBJECTIVES
from workbench.analysis.sweep.goals import STRATEGIES as STRATEGIES
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
from workbench.api.running import matrix as matrix
from workbench.api.running import profile as profile
from workbench.api.running import roundtrip as roundtrip
from workbench.api.running import sweep as sweep
from workbench.api.running import verify as verify
from workbench.api.showing import aotinductor_names as aotinductor_names
from workbench.api.showing import diff as diff
from workbench.api.showing import launches as launches
from workbench.api.showing import read_trace as read_trace
from workbench.api.showing import show as show
from workbench.api.showing import target_names as target_names
from workbench.api.showing import targets as targets
from workbench.api.showing import why_recompiled as why_recompiled
from workbench.compiler.contract.choices import GUARD_POLICIES as GUARD_POLICIES
from workbench.compiler.contract.choices import MODES as MODES
from workbench.compiler.contract.choices import TARGETS as TARGETS
