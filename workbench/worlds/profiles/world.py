"""What the world of profiles adds: `wb.read_profile`, a magic and a command."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from workbench.worlds.world import Command, Frame, World

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence

    from workbench.views.kit.shown import Shown
    from workbench.worlds.profiles.magics import ProfileMagics
    from workbench.worlds.profiles.rows.run_profile import RunProfile

_TRACES = (".json", ".json.gz")
_HEAD = 1 << 20  # bytes, which hold the header of a record


class ProfilesWorld(World):
    """Where a device's time went while torch.profiler recorded it, and what to change."""

    name = "profiles"
    title = "Profiles"
    names = MappingProxyType(
        {
            "read_profile": "workbench.worlds.profiles.calls",
            "RunProfile": "workbench.worlds.profiles.rows.run_profile",
        }
    )

    def find_shown(self, kind: str) -> Shown | None:
        """Of one profile, and of two."""
        if kind not in ("ProfileDiff", "RunProfile"):
            return None
        from workbench.worlds.profiles.views.profile_page import SHOWN

        return SHOWN[kind]

    def read_record(self, path: str) -> RunProfile | None:
        """A trace of torch.profiler, a folder with those of ranks, or a profile that was saved."""
        where = Path(path)
        has_traces = where.is_dir() and any(where.glob("*.json*"))
        if path.endswith(_TRACES) or (has_traces and not any(where.glob("*.log*"))):
            from workbench.worlds.profiles.calls import read_profile

            return read_profile(path)
        return _load(path) if path.endswith(".wbr") and _is_saved(where) else None

    def list_commands(self) -> Sequence[Command]:
        """`workbench profile TRACE`."""
        about = "show a torch.profiler trace: kernels, idle time, suggested changes"
        return (Command("profile", about, _add_words, _read),)

    def list_magics(self) -> Sequence[type[ProfileMagics]]:
        """`%aot_profile`."""
        from workbench.worlds.profiles.magics import ProfileMagics

        return (ProfileMagics,)

    def list_frames(self) -> Sequence[Frame]:
        """Those of a profile."""
        from workbench.worlds.profiles.rows.profile_rows import PROFILE_TABLES

        about = "From `wb.read_profile`: the data of a torch.profiler trace."
        tables = PROFILE_TABLES.items()
        return [Frame(f'trace.frame("{name}")', about, row) for name, row in tables]


def _is_saved(path: Path) -> bool:
    from workbench.report.wbr_file import is_profile

    if not path.is_file():
        return False
    with path.open("rb") as file:
        return is_profile(file.read(_HEAD))


def _load(path: str) -> RunProfile:
    from workbench.worlds.profiles.rows.run_profile import RunProfile

    return RunProfile.load(path)


def _add_words(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file", help="a trace (*.json, *.json.gz), a folder with one per rank, or a .wbr"
    )
    parser.add_argument("--gpu", metavar="NAME", help="the GPU, if the trace does not name it")
    parser.add_argument("--save", metavar="PATH", help="also write it as a .wbr file")


def _read(chosen: Namespace) -> Any:
    from workbench.worlds.profiles.calls import read_profile

    saved = chosen.file.endswith(".wbr")
    profile = _load(chosen.file) if saved else read_profile(chosen.file, chosen.gpu)
    if chosen.save:
        profile.save(chosen.save)
    return profile


WORLD = ProfilesWorld()
