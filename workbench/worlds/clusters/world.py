"""What the world of clusters adds: ranks that need not be there, their hooks, the pane Streams."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from workbench.worlds.world import Frame, World

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from workbench.compiler.request.compile_request import CompileRequest
    from workbench.handles.base.compiled_base import CompiledBase
    from workbench.views.kit.card import Card
    from workbench.views.kit.shown import Shown
    from workbench.views.panes.pane import Pane
    from workbench.worlds.clusters.hooks.hook_collectives import Hooked
    from workbench.worlds.clusters.running.verification import RankVerification


class ClustersWorld(World):
    """Ranks of clusters that need not be there: compiled, compared, verified, scaled."""

    name = "clusters"
    title = "Clusters"
    names = MappingProxyType(
        dict.fromkeys(
            ("overlap_estimator", "ranks", "scaling", "virtual_cluster"),
            "workbench.worlds.clusters.calls",
        )
    )

    def find_shown(self, kind: str) -> Shown | None:
        """Of several ranks, and of a step on several meshes."""
        if kind == "Ranks":
            from workbench.worlds.clusters.views import rank_answers

            return rank_answers.SHOWN[kind]
        if kind == "Scaling":
            from workbench.worlds.clusters.views import scaling_answer

            return scaling_answer.SHOWN[kind]
        return None

    def list_panes(self) -> Sequence[Pane]:
        """The pane Streams."""
        from workbench.worlds.clusters.views.streams_pane import PANE

        return (PANE,)

    def list_cards(self) -> Mapping[str, Sequence[Card]]:
        """Of a collective."""
        from workbench.worlds.clusters.views.streams_pane import CARDS

        return CARDS

    def read_hooks(self, request: CompileRequest) -> Hooked | None:
        """Those of DistributedDataParallel and of `fully_shard`."""
        from workbench.worlds.clusters.hooks.hook_collectives import read_hooks

        return read_hooks(request)

    def verify_ranks(
        self,
        compiled: CompiledBase,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        **wanted: Any,
    ) -> RankVerification:
        """Every rank of a small virtual cluster in this process."""
        from workbench.worlds.clusters.running.verification import verify_ranks

        return verify_ranks(compiled, args, kwargs, **wanted)

    def list_frames(self) -> Sequence[Frame]:
        """Of ranks and of meshes."""
        from workbench.report.collectives.collective_rows import CollectiveOrder
        from workbench.worlds.clusters.rows import RankRow, ScalingRow, Shard

        return (
            Frame("scaling.frame()", "A row for each mesh of `wb.scaling`.", ScalingRow),
            Frame("ranks.frame()", "A row for each rank that `wb.ranks` compiled.", RankRow),
            Frame(
                'ranks.frame("shards")',
                "The shards of each rank; the column `rank` comes first.",
                Shard,
            ),
            Frame(
                'ranks.frame("order")',
                "The collectives of the compiled ranks, group by group.",
                CollectiveOrder,
            ),
        )


WORLD = ClustersWorld()
