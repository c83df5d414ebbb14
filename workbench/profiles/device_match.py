"""Which GPU of the catalogue a trace was taken on, by what it says of its device."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.errors import UsageError
from workbench.settings import Settings
from workbench.specs import Catalogue, Gpu

_VIRTUAL = re.compile(r" VF$")  # a virtual function: the whole device, as a guest sees it
_MEMORY = 0.1  # what a device reports is a little less than the vendor says


@dataclass(frozen=True)
class Device:
    """What a trace calls its device, the GPU that this is, and a remark.

    Where that is not known, `gpu` is None, and `likely` a name of `targets()` if one seems likely.
    """

    name: str
    gpu: Gpu | None
    note: str = ""
    likely: str = ""


def find_gpu(name: str) -> Gpu:
    """A GPU by its name in `targets()`."""
    return Catalogue.of_user(Settings.from_environment().data_folder)[name]


def find_device(head: Mapping[str, Any], number: int | None, asked: str | None) -> Device:
    """The device of a trace; `number` is that of its kernels, `asked` a name of `targets()`.

    Raises `UsageError` where `asked` is no GPU; the message names the likeliest.
    """
    gpus = Catalogue.of_user(Settings.from_environment().data_folder)
    said = _find_properties(head, number)
    name = said.get("name") if isinstance(said.get("name"), str) else ""
    own = _find_by_name(gpus, str(name))
    likely = own or _guess(gpus, said, str(name))
    if asked is not None:
        taken = _take_asked(gpus, asked, str(name), likely)
        # what another GPU has is no part of the one that was asked for
        return taken if taken.note else replace(taken, note=_tell_part(said, taken.gpu))
    if own is not None:
        return Device(str(name), own, _tell_part(said, own))
    what = f"The GPU {name!r} has no description here" if name else "The trace names no GPU"
    hint = f"; it is likely the {likely.title}: pass gpu={likely.name!r}" if likely else ""
    note = f"{what}{hint or ': pass gpu=, a name of wb.targets()'}."
    return Device(str(name), None, note, likely.name if likely else "")


def _tell_part(said: Mapping[str, Any], gpu: Gpu | None) -> str:
    """That the trace is of a part of a GPU, as MIG gives it; bounds are those of the whole."""
    sms = said.get("numSms")
    if gpu is None or not isinstance(sms, int) or not 0 < sms < gpu.sms:
        return ""
    return (
        f"The device of the trace has {sms} of the {gpu.sms} multiprocessors of the {gpu.title}, "
        "as a part of one has (MIG): bounds and modelled times are those of the whole, too short."
    )


def tell_devices(head: Mapping[str, Any], numbers: Sequence[int], number: int) -> str:
    """That there is work of several devices, and whose bounds are told; empty for one."""
    if len(numbers) < 2:
        return ""
    names = [str(_find_properties(head, each).get("name") or "no name") for each in numbers]
    listed = ", ".join(f"{each}: {name}" for each, name in zip(numbers, names, strict=True))
    which = (
        f", bounds and modelled times are those of device {number}" if len(set(names)) > 1 else ""
    )
    return (
        f"Work of {len(numbers)} devices ({listed}) is in one file: busy is when any of them "
        f"worked{which}."
    )


def _take_asked(gpus: Catalogue, asked: str, name: str, likely: Gpu | None) -> Device:
    if asked not in gpus:
        hint = f" The trace was likely taken on gpu={likely.name!r}." if likely else ""
        try:
            gpus[asked]
        except UsageError as error:
            raise UsageError(f"{error}{hint}") from None
    gpu = gpus[asked]
    is_other = likely is not None and likely.name != gpu.name
    note = (
        f"The trace says {name or likely.title!r}; gpu={asked!r} was taken."
        if is_other and likely
        else ""
    )
    return Device(name, gpu, note)


def _find_properties(head: Mapping[str, Any], number: int | None) -> Mapping[str, Any]:
    """What the trace says of its device of this number, else of its first."""
    listed = head.get("deviceProperties")
    known = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    own = [each for each in known if each.get("id") == number]
    return next(iter(own or known), {})


def _find_by_name(gpus: Catalogue, name: str) -> Gpu | None:
    wanted = _VIRTUAL.sub("", name).casefold()
    return next((gpu for gpu in gpus if gpu.device_name.casefold() == wanted), None)


def _guess(gpus: Catalogue, said: Mapping[str, Any], name: str) -> Gpu | None:
    """The GPU with as many multiprocessors and as much memory, else of the most similar name."""
    memory, sms = said.get("totalGlobalMem"), said.get("numSms")
    if isinstance(memory, int | float) and isinstance(sms, int):
        fits = [
            gpu for gpu in gpus if gpu.sms == sms and abs(memory / gpu.dram_bytes - 1) < _MEMORY
        ]
        if len(fits) == 1:
            return fits[0]
    names = {gpu.device_name: gpu for gpu in gpus}
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.75) if name else []
    return names[near[0]] if near else None
