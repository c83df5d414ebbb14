"""What each tuned problem has to compute, as the model of `rank_configs` takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from tests.bench.winner_facts import ARCHITECTURES, Config, Winner
from workbench.analysis.kernel_time.inner_loop import InnerLoop
from workbench.analysis.kernel_time.product_times import ProductTile, ProductWork, count_tiles
from workbench.analysis.product_configs.tuned_files import Problem, Tile, TunedWinner
from workbench.specs import Catalogue, Gpu

Facts = Mapping[tuple[str, str, Config], Mapping[str, str]]


def make_tile(facts: Facts, winner: Winner, config: Config) -> ProductTile | None:
    """The configuration as it was compiled; None where it cannot serve this problem.

    A step along K may not be longer than a block of scales.
    """
    gpu = ARCHITECTURES.get(winner.device, winner.device)
    row = facts.get((winner.kind, gpu, config))
    if row is None or not row["loop"] or not int(row["blocks"]):
        return None
    if winner.kind.endswith("blocks") and config.k > winner.scale:
        return None
    loop = InnerLoop(
        int(row["loop"]),
        row["way"],
        int(row["conversions"]),
        int(row["global_loads"]),
        int(row["shared"]),
        int(row["spilled"]),
    )
    sizes = (config.m, config.n, config.k, config.warps, config.stages)
    return ProductTile(*sizes, int(row["blocks"]), loop)


def make_work(winner: Winner, rows: int) -> list[ProductWork]:
    """The product, or both of the experts, for tiles of so many rows."""
    values = winner.kind.split()[1]
    left = 2 if values in ("bf16", "w8a16") else 1
    right = 2 if values == "bf16" else 1
    rate = _rate(Catalogue.built_in()[winner.device], values)
    if winner.kind.startswith("gemm"):
        loaded = winner.n * winner.k * right + winner.m * winner.k * left
        tiles = ceil(winner.m / rows)
        out = 2.0 * winner.m * winner.n
        return [ProductWork(tiles, winner.n, winner.k, loaded, out, left, right, rate)]
    hidden, top = find_model(winner.experts, winner.n)
    means = count_tiles(winner.experts, top, winner.m, rows)
    made = []
    for columns, depth, taken in (
        (2 * winner.n, hidden, winner.m),
        (hidden, winner.n, winner.m * top),
    ):
        loaded = means[1] * columns * depth * right + taken * depth * left
        out = 2.0 * winner.m * top * columns
        made.append(ProductWork(means[0], columns, depth, loaded, out, left, right, rate))
    return made


def _rate(gpu: Gpu, values: str) -> float:
    wanted = {"bf16": "bf16", "w8a16": "bf16", "int8": "int8"}.get(values, "fp8")
    return gpu.matrix.of(wanted) or gpu.matrix.of("int8") or 1.0


def find_model(experts: int, n: int) -> tuple[int, int]:
    """Hidden size and experts of a token in the published model that has such experts.

    The files of winners do not name them: Mixtral, DBRX, Llama 4, Qwen2 and Qwen3, DeepSeek-V2 and
    -V3, Kimi K2 (which share theirs with DeepSeek-V3); else what is usual.
    """
    match experts:
        case 1:
            return 4096, 1
        case 8:
            return (6144 if n in (2048, 4096, 8192, 16384, 32768) else 4096), 2
        case 16 if n in (1344, 2688, 5376, 10752):
            return 6144, 4
        case 16 if n in (1024, 2048, 4096, 8192):
            return 5120, 1
        case 64:
            return (3584, 8) if n in (320, 640, 1280, 2560) else (2048, 6)
        case 128:
            return (5120, 1) if n == 1024 else (2048, 8)
        case 160 | 161:
            return 5120, 6
        case 512:
            return 2048, 10
        case _ if experts >= 250:
            return 7168, 8
        case _:
            return 4096, 2 if experts <= 32 else 8


def list_candidates(winners: Sequence[Winner]) -> dict[tuple[str, str], list[Config]]:
    """By device and kind every configuration that ever won there."""
    found: dict[tuple[str, str], set[Config]] = {}
    for winner in winners:
        found.setdefault((winner.device, winner.kind), set()).add(winner.config)
    return {key: sorted(configs) for key, configs in found.items()}


def to_tile(config: Config) -> Tile:
    """A configuration as a prior takes it."""
    return Tile(config.m, config.n, config.k, config.warps, config.stages)


def to_tuned(winner: Winner) -> TunedWinner:
    """A winner as a prior takes it."""
    name = Catalogue.built_in()[winner.device].device_name
    values = winner.kind.split()[1]
    problem = Problem(values, winner.m, winner.n, winner.k, winner.experts)
    return TunedWinner(name.replace(" ", "_"), problem, to_tile(winner.config))
