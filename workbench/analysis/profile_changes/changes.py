"""What to change in a program by its profile, the largest saving first."""

from __future__ import annotations

from workbench.analysis.profile_changes.attention_changes import (
    find_attention_by_hand,
    find_old_attention,
)
from workbench.analysis.profile_changes.chains import find_chains
from workbench.analysis.profile_changes.gap_changes import find_gap_changes
from workbench.analysis.profile_changes.kernel_changes import find_kernel_changes
from workbench.analysis.profile_changes.profiled_kernels import read_kernels
from workbench.report.profile.profile_rows import ProfileOpportunity
from workbench.report.profile.run_profile import RunProfile
from workbench.specs import Gpu

_WORTH = 0.005  # of the whole: less is not worth a sentence


def find_changes(profile: RunProfile, gpu: Gpu | None) -> list[ProfileOpportunity]:
    """Every change that a rule finds; the middle of its range decides, then what it concerns.

    Of several ranks they are of the one that the totals are of. Without the specification of its
    GPU those are left out that need its rates.
    """
    is_whole = not profile.tables["gaps"].omitted  # of all ranks: whose they are is not known
    profile = profile.of_own_rank()
    kernels = read_kernels(profile, gpu)
    by_hand = find_attention_by_hand(profile, {each.row.id: each for each in kernels})
    chains = find_chains(profile, kernels, gpu)
    found = [
        *([chains] if chains else []),
        *([by_hand] if by_hand else []),
        *(find_old_attention(kernels, gpu) if gpu else []),
        *find_kernel_changes(kernels, gpu, profile.busy_us),
        *find_gap_changes(profile, is_whole=is_whole),
    ]
    found = [each for each in found if each.of_us >= _WORTH * profile.total_us]
    return sorted(found, key=lambda each: (-_find_middle(each), -each.of_us))


def _find_middle(change: ProfileOpportunity) -> float:
    """The middle of what a change may save in µs: where nothing is known, all that it concerns."""
    if change.kind == "small batch":  # it saves time for each row, none of a call
        return 0.0
    most_us = change.of_us if change.most_us is None else change.most_us
    return ((change.least_us or 0.0) + most_us) / 2
