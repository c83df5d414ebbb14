"""What the world of numbers adds: tables, a pane, two actions, `wb.numerics` and `wb.minify`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.worlds.world import World

if TYPE_CHECKING:
    from workbench.tasks.live_action import LiveAction
    from workbench.views.kit.live_actions import ShownAction
    from workbench.views.kit.shown import Shown
    from workbench.views.panes.pane import Pane
    from workbench.views.tables.column import Column


class NumericsWorld(World):
    """Where compiled code departs from eager in its numbers, why, and what would change it."""

    name = "numerics"
    title = "Numbers"
    names = dict.fromkeys(("minify", "numerics"), "workbench.worlds.numerics.calls")
    kept = ("numerics",)
    shareable = ("numerics", "numerics_stages", "numerics_outputs", "numerics_cures")

    def list_tables(self) -> Mapping[str, tuple[type, str]]:
        """Deviations, stages, outputs, and the options that were tried."""
        from workbench.worlds.numerics.rows import (
            Deviation,
            NumericsCure,
            NumericsOutput,
            NumericsStage,
        )

        return {
            "numerics": (
                Deviation,
                "Values that a part computes differently from eager, if requested.",
            ),
            "numerics_stages": (
                NumericsStage,
                "The numerical error of the outputs after each stage.",
            ),
            "numerics_outputs": (
                NumericsOutput,
                "The outputs of the call and of eager, against float64.",
            ),
            "numerics_cures": (
                NumericsCure,
                "Options that change the numerics, if they were tried.",
            ),
        }

    def find_shown(self, kind: str) -> Shown | None:
        """Of the numbers of one call, and of two programs."""
        if kind not in ("Numerics", "ProgramsApart"):
            return None
        from workbench.worlds.numerics.views.numerics_document import SHOWN

        return SHOWN[kind]

    def list_panes(self) -> Sequence[Pane]:
        """The pane Numerics."""
        from workbench.worlds.numerics.views.numerics_pane import PANE

        return (PANE,)

    def list_columns(self) -> Mapping[str, Sequence[Column]]:
        """Those of the deviations."""
        from workbench.worlds.numerics.views.numerics_pane import COLUMNS

        return COLUMNS

    def list_actions(self) -> Mapping[str, ShownAction]:
        """To compare with eager, and to try an option."""
        from workbench.worlds.numerics.views.numerics_pane import ACTIONS

        return ACTIONS

    def list_starters(self, handle: Any) -> Sequence[LiveAction]:
        """The same of a call that is alive; a kernel by itself says why it has neither."""
        from workbench.handles.base.compiled_base import CompiledBase
        from workbench.tasks.live_action import LiveAction
        from workbench.worlds.numerics.questions import live_numerics
        from workbench.worlds.numerics.views.numerics_pane import NO_TWIN

        if not isinstance(handle, CompiledBase):
            return (LiveAction("numerics", live_numerics.refuse_kernel, NO_TWIN),)
        return (
            LiveAction(
                "numerics",
                lambda: live_numerics.start_comparison(handle),
                live_numerics.explain_no_comparison(handle),
                cost=live_numerics.describe_comparison(handle),
            ),
            LiveAction("numerics-cure", lambda cure: live_numerics.start_cure(handle, cure)),
        )

    def explain_difference(
        self,
        compiled: Any,
        call: tuple[tuple[Any, ...], Mapping[str, Any]],
        cause: str,
        wrong: set[str],
    ) -> str:
        """With the part of the program that computes the difference."""
        from workbench.worlds.numerics.questions.live_numerics import say_cause

        args, kwargs = call
        return say_cause(compiled, args, dict(kwargs), cause, wrong)


WORLD = NumericsWorld()
