"""What to change in attention: written by hand, or by kernels of an older generation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from workbench.analysis.profile_changes.profiled_kernels import ProfiledKernel, group_by_stream
from workbench.number_text import plural
from workbench.report.profile.profile_rows import ProfileOpportunity
from workbench.report.profile.run_profile import RunProfile
from workbench.specs import Gpu

_BETWEEN = 6  # kernels between a product and the softmax: scale, mask, cast, dropout
_PRODUCTS = ("bmm", "baddbmm")
_HOPPER = 9  # compute capability


def find_attention_by_hand(
    profile: RunProfile, kernels: Mapping[str, ProfiledKernel]
) -> ProfileOpportunity | None:
    """Products around a softmax, which write and read all scores; None where there are none."""
    us, ids, found, line = 0.0, dict[str, None](), 0, ""
    for run in group_by_stream(profile.tables["events"]).values():
        names = [kernels[event.kernel].call.base_name for event in run]
        for at, name in enumerate(names):
            part = _find_part(names, at) if name in ("_softmax", "softmax") else None
            if part is not None:
                own = run[part[0] : part[1] + 1]
                us, found = us + sum(event.duration_us for event in own), found + 1
                ids |= dict.fromkeys(event.kernel for event in own)
                line = line or own[0].line
    if not found:
        return None
    return ProfileOpportunity(
        kind="attention",
        title="Use scaled_dot_product_attention",
        why=(
            f"Attention is written as product, softmax and product: {plural(found, 'time')}. Each "
            "writes all scores and the next one reads them; one kernel keeps them on the chip."
        ),
        code="torch.nn.functional.scaled_dot_product_attention(q, k, v)",
        of_us=us,
        kernels=tuple(ids),
        line=line,
    )


def _find_part(names: Sequence[str], at: int) -> tuple[int, int] | None:
    """Where the products around a softmax are."""
    before = range(at - 1, max(-1, at - 2 - _BETWEEN), -1)
    after = range(at + 1, min(len(names), at + 2 + _BETWEEN))
    first = next((place for place in before if names[place] in _PRODUCTS), None)
    last = next((place for place in after if names[place] in _PRODUCTS), None)
    return None if first is None or last is None else (first, last)


def find_old_attention(kernels: Sequence[ProfiledKernel], gpu: Gpu) -> Iterator[ProfileOpportunity]:
    """Attention by kernels that were written for a generation before the device's.

    Only from Hopper on: the kernels of Ampere are those of Ada, too.
    """
    old = [
        each
        for each in kernels
        if each.kind == "attention" and (each.read.architecture or gpu.arch) != gpu.arch
        and _number(each.read.architecture) < _number(gpu.arch)
    ]  # fmt: skip
    if not old or not gpu.arch.startswith("sm_") or gpu.major < _HOPPER:
        return
    yield ProfileOpportunity(
        kind="attention",
        title=f"Use an attention kernel that was written for {gpu.architecture}",
        why=f"These kernels were written for {old[0].read.architecture}, which is an older one.",
        code="with torch.nn.attention.sdpa_kernel(SDPBackend.CUDNN_ATTENTION): …",
        of_us=sum(each.row.time_us for each in old),
        kernels=tuple(each.row.id for each in old),
        line=old[0].row.line,
    )


def _number(architecture: str | None) -> int:
    found = re.search(r"\d+", architecture or "")
    return int(found[0]) if found else 10**6
