"""The public names of the worlds of this package, for type checkers alone."""

from workbench.worlds.clusters.calls import overlap_estimator as overlap_estimator
from workbench.worlds.clusters.calls import ranks as ranks
from workbench.worlds.clusters.calls import scaling as scaling
from workbench.worlds.clusters.calls import virtual_cluster as virtual_cluster
from workbench.worlds.expectations.calls import expect as expect
from workbench.worlds.logs.calls import read_trace as read_trace
from workbench.worlds.logs.calls import read_tritonparse as read_tritonparse
from workbench.worlds.numerics.calls import minify as minify
from workbench.worlds.numerics.calls import numerics as numerics
from workbench.worlds.own_kernels.calls import kernel as kernel
from workbench.worlds.profiles.calls import read_profile as read_profile
from workbench.worlds.profiles.rows.run_profile import RunProfile as RunProfile
from workbench.worlds.sessions.calls import session as session
from workbench.worlds.sessions.rows.session_record import Session as Session
from workbench.worlds.sweeps.calls import sweep as sweep
from workbench.worlds.sweeps.sweep import Sweep as Sweep
