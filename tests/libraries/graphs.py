"""Eight graph networks of PyG, one of each kind of layer: its models, and stacks of layers."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.libraries.case import Case, named
from tests.libraries.installed import use

NODES, EDGES, BEFORE, WIDTH, AFTER = 12, 30, 8, 16, 4


def gcn() -> Case:
    return _graph(_library().GCN(BEFORE, WIDTH, 2, AFTER))


def sage() -> Case:
    return _graph(_library().GraphSAGE(BEFORE, WIDTH, 2, AFTER), learns=True)


def gin() -> Case:
    return _graph(_library().GIN(BEFORE, WIDTH, 2, AFTER))


def gat() -> Case:
    return _graph(_library().GAT(BEFORE, WIDTH, 2, AFTER, heads=2))


def edge_cnn() -> Case:
    return _graph(_library().EdgeCNN(BEFORE, WIDTH, 2, AFTER))


def pna() -> Case:
    degrees = torch.tensor([0, 2, 4, 4, 2])
    aggregators, scalers = ["mean", "min", "max", "std"], ["identity", "amplification"]
    model = _library().PNA(
        BEFORE, WIDTH, 2, AFTER, aggregators=aggregators, scalers=scalers, deg=degrees
    )
    return _graph(model)


class Relations(nn.Module):
    """Two layers with weights of each relation, and the mean of the nodes of a graph."""

    def __init__(self, library: Any) -> None:
        super().__init__()
        self.first = library.RGCNConv(BEFORE, WIDTH, num_relations=3, num_bases=2)
        self.second = library.RGCNConv(WIDTH, AFTER, num_relations=3)
        self.pool = library.MeanAggregation()

    def forward(
        self, x: torch.Tensor, edge_index: torch.Tensor, kinds: torch.Tensor, graph: torch.Tensor
    ) -> torch.Tensor:
        x = self.first(x, edge_index, kinds).relu()
        pooled: torch.Tensor = self.pool(self.second(x, edge_index, kinds), graph, dim_size=2)
        return pooled


def relations() -> Case:
    case = _graph(Relations(_library()))
    kinds = torch.randint(0, 3, (EDGES,))
    graph = torch.arange(NODES) // (NODES // 2)
    return case._replace(inputs={**case.inputs, "kinds": kinds, "graph": graph})


class Attention(nn.Module):
    """A layer of attention over edges with features, with a norm of the whole graph."""

    def __init__(self, library: Any) -> None:
        super().__init__()
        self.attention = library.TransformerConv(BEFORE, WIDTH, heads=2, edge_dim=3)
        self.norm = library.GraphNorm(2 * WIDTH)
        self.head = library.Linear(2 * WIDTH, AFTER)

    def forward(
        self, x: torch.Tensor, edge_index: torch.Tensor, edge_attr: torch.Tensor
    ) -> torch.Tensor:
        result: torch.Tensor = self.head(self.norm(self.attention(x, edge_index, edge_attr)).relu())
        return result


def attention() -> Case:
    case = _graph(Attention(_library()))
    return case._replace(inputs={**case.inputs, "edge_attr": torch.randn(EDGES, 3)})


def _graph(model: nn.Module, learns: bool = False) -> Case:
    edges = torch.randint(0, NODES, (2, EDGES))
    return Case(model, {"x": torch.randn(NODES, BEFORE), "edge_index": edges}, learns)


def _library() -> Any:
    use()
    import torch_geometric.nn  # takes seconds, which a test without a graph does not spend

    return torch_geometric.nn


BUILDERS = named("torch_geometric", gcn, sage, gin, gat, edge_cnn, pna, relations, attention)
