"""What to change in a program by its profile, the largest saving first.

Chains of kernels that torch.compile could make one: each reads what the one before wrote.

A profile has no addresses: that a kernel reads what the one before it wrote is told by the sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from workbench.number_text import number_text, plural
from workbench.specs import Gpu
from workbench.worlds.profiles.changes.collective_changes import find_collective_changes
from workbench.worlds.profiles.changes.gap_changes import find_gap_changes
from workbench.worlds.profiles.changes.kernel_changes import find_kernel_changes
from workbench.worlds.profiles.changes.profiled_kernels import (
    ProfiledKernel,
    group_by_stream,
    read_kernels,
)
from workbench.worlds.profiles.rows.profile_rows import DeviceEvent, ProfileOpportunity
from workbench.worlds.profiles.rows.run_profile import RunProfile

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
        *find_collective_changes(profile),
    ]
    found = [each for each in found if each.of_us >= _WORTH * profile.total_us]
    return sorted(found, key=lambda each: (-_find_middle(each), -each.of_us))


def _find_middle(change: ProfileOpportunity) -> float:
    """The middle of what a change may save in µs: where nothing is known, all that it concerns."""
    if change.kind == "small batch":  # it saves time for each row, none of a call
        return 0.0
    most_us = change.of_us if change.most_us is None else change.most_us
    return ((change.least_us or 0.0) + most_us) / 2


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
            f"Attention is written as matmul, softmax, matmul ({plural(found, 'time')}). Each "
            "kernel writes all scores to memory for the next one, while a fused kernel keeps them "
            "on chip."
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
        if each.kind == "attention"
        and (each.read.architecture or gpu.arch) != gpu.arch
        and _number(each.read.architecture) < _number(gpu.arch)
    ]
    if not old or not gpu.arch.startswith("sm_") or gpu.major < _HOPPER:
        return
    yield ProfileOpportunity(
        kind="attention",
        title=f"Use an attention kernel for {gpu.architecture}",
        why=f"These kernels were written for {old[0].read.architecture}, an older architecture.",
        code="with torch.nn.attention.sdpa_kernel(SDPBackend.CUDNN_ATTENTION): …",
        of_us=sum(each.row.time_us for each in old),
        kernels=tuple(each.row.id for each in old),
        line=old[0].row.line,
    )


def _number(architecture: str | None) -> int:
    found = re.search(r"\d+", architecture or "")
    return int(found[0]) if found else 10**6


@dataclass
class _Chain:
    """Kernels that ran one after the other, and how often."""

    kernels: tuple[ProfiledKernel, ...]
    calls: int = 0
    us: float = 0.0

    @property
    def is_known(self) -> bool:
        """Whether the bytes of all of it are known."""
        return all(each.work.bytes is not None for each in self.kernels)

    @property
    def moved(self) -> int:
        """Bytes that its kernels move by themselves, one call of each."""
        return sum(each.work.bytes or 0 for each in self.kernels)

    @property
    def _handed(self) -> list[int]:
        """Bytes of each tensor that is handed on."""
        return [each.work.written_bytes or 0 for each in self.kernels[:-1]]

    @property
    def saved(self) -> int:
        """Bytes that one kernel would neither write nor read again, if nothing else reads them."""
        return min(2 * sum(self._handed), self.moved)

    def count_surely_saved(self, cache_bytes: int) -> int:
        """Of these the reads that come from memory: a write stays where others need the tensor."""
        return sum(size for size in self._handed if size > cache_bytes)


def find_chains(
    profile: RunProfile, kernels: Sequence[ProfiledKernel], gpu: Gpu | None
) -> ProfileOpportunity | None:
    """What compiling would fuse, None where nothing eager runs one after the other."""
    chains = list(_group(profile, {each.row.id: each for each in kernels}))
    of_us = sum(chain.us for chain in chains)
    if not chains:
        return None
    known = [chain for chain in chains if chain.is_known]
    least_us = most_us = None
    if gpu is not None and known:
        rate = gpu.bandwidth_gbs * 1e3  # bytes in a µs
        least_us = sum(c.calls * c.count_surely_saved(gpu.l2_bytes) / rate for c in known)
        most_us = sum(max(0.0, c.us - c.calls * (c.moved - c.saved) / rate) for c in known)
        least_us = min(least_us, most_us) or None
    ids = dict.fromkeys(each.row.id for chain in chains for each in chain.kernels)
    launched = sum(chain.calls * (len(chain.kernels) - 1) for chain in chains)
    return ProfileOpportunity(
        kind="fusion",
        title=f"Compile the model: {plural(len(chains), 'chain')} of kernels could fuse",
        why=_explain(known, launched, is_all_known=len(known) == len(chains)),
        code="model = torch.compile(model)",
        of_us=of_us,
        least_us=least_us,
        most_us=most_us,
        kernels=tuple(ids),
    )


def _explain(known: Sequence[_Chain], launched: int, *, is_all_known: bool) -> str:
    said = (
        "Judging by sizes, each kernel reads the previous one's output. Fusion removes "
        f"{plural(launched, 'launch', 'launches')}"
    )
    if not known:
        return f"{said}; the bytes are unknown because shapes were not recorded."
    saved = number_text(sum(chain.calls * chain.saved for chain in known), "bytes")
    of = number_text(sum(chain.calls * chain.moved for chain in known), "bytes")
    more = "" if is_all_known else " (only chains with known sizes)"
    return (
        f"{said} and up to {saved} of {of} of traffic{more}. The range is modelled. The lower end "
        "counts only reads too large for L2, at full bandwidth. The upper end counts all time "
        "above the fused kernel's bound."
    )


def _group(profile: RunProfile, kernels: Mapping[str, ProfiledKernel]) -> Iterator[_Chain]:
    """Chains by the kernels in them, those that take longest first."""
    found: dict[tuple[str, ...], _Chain] = {}
    for run in _list_runs(profile.tables["events"], kernels):
        ids = tuple(event.kernel for event in run)
        chain = found.setdefault(ids, _Chain(tuple(kernels[id] for id in ids)))
        chain.calls += 1
        chain.us += sum(event.duration_us for event in run)
    yield from sorted(found.values(), key=lambda chain: -chain.us)


def _list_runs(
    events: Iterable[DeviceEvent], kernels: Mapping[str, ProfiledKernel]
) -> Iterator[list[DeviceEvent]]:
    """Events of a stream that follow one another and hand on what they wrote."""
    for stream in group_by_stream(events).values():
        run: list[DeviceEvent] = []
        for event in stream:
            kernel = kernels[event.kernel]
            if run and _hands_on(kernels[run[-1].kernel], kernel):
                run.append(event)
                continue
            if len(run) > 1:
                yield run
            run = [event] if _can_fuse(kernel) else []
        if len(run) > 1:
            yield run


def _can_fuse(kernel: ProfiledKernel) -> bool:
    is_eager = kernel.row.kind == "kernel" and not kernel.is_compiled
    return is_eager and kernel.kind in ("elementwise", "reduction", "copy")


def _hands_on(before: ProfiledKernel, after: ProfiledKernel) -> bool:
    """Whether an input of the second may be what the first wrote: it has as many elements.

    Nothing is fused behind a reduction but what is as small as its result.
    """
    if not _can_fuse(after) or before.row.is_backward != after.row.is_backward:
        return False
    written = before.work.written_bytes
    inputs = [tensor for tensor in after.call.all_tensors() if tensor.shape]
    if written is None or not inputs:
        return False
    return any(tensor.numel * tensor.itemsize == written for tensor in inputs)
