"""Logs of several ranks, one beside the other."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import workbench as wb
from workbench.errors import UsageError
from workbench.worlds.logs.reading.kernel_code import parse_program
from workbench.worlds.logs.reading.log_report import _strip
from workbench.worlds.logs.reading.logged_collectives import list_graph_collectives, tell_results

NO_END = (
    "Torch does not mark the end of a log: if a log was cut off, the later compiles of that "
    "process are unknown."
)
LOGS = Path(__file__).parents[3] / "records" / "traces"


def test_the_ranks_of_a_run_are_compared_by_their_logs() -> None:
    found = wb.read_trace(LOGS / "unlike").ranks()
    assert found.sentences == (
        "Rank 1 deadlocks in 1/0 (gathered) unless rank 0 starts an all-gather of 512 B of all "
        "ranks elsewhere: rank 0 does not start one in 1/0 (gathered), after 1 collective that "
        "both ranks start.",
        "1/0 (gathered) has 2 different programs: rank 0; rank 1.",
        "Rank 1 compiled 2/0 (rounded), rank 0 did not.",
        NO_END,
    )
    compiles = found.frame()
    assert list(compiles.compile_id) == ["0/0", "1/0", "2/0"]
    assert list(compiles.programs) == [((0, 1),), ((0,), (1,)), ((1,),)]
    assert list(found.frame("order").collectives) == [1, 1]
    assert "Rank 1 deadlocks in 1/0 (gathered) unless" in repr(found)
    assert "Rank 1 deadlocks in 1/0 (gathered) unless" in (found._repr_html_() or "")
    with pytest.raises(UsageError, match="table 'shards': pass 'compiles' or 'order'"):
        found.frame("shards")


def test_the_collectives_of_programs_in_logs_are_rows() -> None:
    rows = wb.read_trace(LOGS / "unlike").logs["rank 1"].collectives
    assert [(row.op, row.bytes, row.dtype, row.group) for row in rows] == [
        ("all_reduce", 256, "float32", "0"),
        ("all_reduce", 256, "float32", "0"),
        ("all_gather", 2 * 256, "float32", "0"),
    ]
    kernels = {kernel.id: kernel.name for kernel in wb.read_trace(LOGS / "unlike").kernels}
    last = list(wb.read_trace(LOGS / "unlike").collectives)[-1]
    assert (last.group_size, last.est_us) == (2, None)
    assert "all_gather_into_tensor" in kernels[last.kernel or ""]
    assert "wait_tensor" in kernels[last.wait_kernel or ""]
    assert last.why == "a log does not have the ranks of the group"


@pytest.mark.parametrize(("device", "is_same"), [("cuda:1", True), ("cuda:0", False)])
def test_ranks_on_devices_of_their_own_have_the_same_program(device: str, is_same: bool) -> None:
    """Also where their groups have other names; not where one moves what the other keeps."""
    code = (
        "def call(args):\n    with torch.cuda._DeviceGuard({0}):\n"
        "        raw_stream{0} = get_raw_stream({0})\n"
        "        torch.ops._c10d_functional.all_reduce_.default(buf0, 'sum', '{1}')\n"
        "        buf1 = buf0.to('{2}')\n    return (buf1, )"
    )
    texts = [code.format(0, "1", "cuda:0"), code.format(1, "2", device)]
    assert (_strip(texts[0]) == _strip(texts[1])) is is_same


def test_all_programs_of_a_compile_are_compared(log: Callable[[str], Path]) -> None:
    """As those that DDP's buckets split a graph into: one rank has one more, the last is alike."""
    folder = log("unlike")
    file = next(folder.glob("*rank_0*"))
    records = re.split(r"^(?=V\d{4} )", file.read_text(), flags=re.MULTILINE)
    place = next(n for n, each in enumerate(records) if '"inductor_output_code"' in each)
    file.write_text("".join([*records[:place], records[place], *records[place:]]))
    (first, *_) = wb.read_trace(folder).ranks().compiles
    assert first.programs == ((0,), (1,))


@pytest.mark.parametrize(("cut", "is_sure"), [('"frame_id": 1', True), ('"compilation_m', False)])
def test_what_a_log_that_is_cut_off_lacks_is_not_known(
    log: Callable[[str], Path], cut: str, is_sure: bool
) -> None:
    """Its rank was said not to have compiled what is cut off; what ends before that is compared."""
    folder = log("unlike")
    file = next(folder.glob("*rank_0*"))
    text = file.read_text()
    file.write_text(text[: text.rindex(cut)])
    found = wb.read_trace(folder).ranks()
    assert (found.compiles[-1].without, found.compiles[-1].unknown) == ((), (0,))
    said = " ".join(found.sentences)
    assert "The log of rank 0 is incomplete: the log ends within a record" in said
    assert "It is unknown whether rank 0 compiled 2/0 (rounded)." in said
    assert "did not" not in said
    assert bool(found.hangs) is is_sure
    assert ("Not compared: the collectives of ranks 0 and 1 in 1/0 (gathered)" in said) != is_sure
    assert found.is_same is (False if is_sure else None)


def test_logs_that_end_between_two_compiles_are_only_as_sure_as_they_reach(
    log: Callable[[str], Path],
) -> None:
    """Both processes were stopped there: no record is cut, and no compile lacks its end."""
    folder = log("unlike")
    for file in folder.glob("*rank_*"):
        records = re.split(r"(?m)^(?=V)", file.read_text())
        first = next(at for at, each in enumerate(records) if '"frame_id": 1' in each)
        file.write_text("".join(records[:first]))
    found = wb.read_trace(folder).ranks()
    assert found.lacks == {}
    assert found.sentences[0] == (
        "Ranks 0 and 1 compiled the same 1 program, as far as their logs show."
    )
    assert found.sentences[-1] == NO_END


GRAPH = """
class GraphModule(torch.nn.Module):
    def forward(self, L_x_: "f32[4, 4][4, 1]cpu"):
        l_x_ = L_x_
        tensor: "f32[4, 4][4, 1]cpu" = torch.ops._c10d_functional.all_reduce(l_x_, 'sum', '0')
        y: "f32[4, 4][4, 1]cpu" = torch.ops._c10d_functional.wait_tensor(tensor);  tensor = None
        t: "bf16[4, 4][4, 1]cpu" = torch.ops.aten.to.dtype(y, torch.bfloat16)
        g: "bf16[8, 4]" = torch.ops._c10d_functional.all_gather_into_tensor.default(t, 2, '3')
        return (g,)
"""


def test_a_graph_tells_what_it_starts() -> None:
    rows = list(list_graph_collectives(GRAPH, is_backward=False))
    assert [(row.op, row.bytes, row.dtype, row.group) for row in rows] == [
        ("all_reduce", 64, "float32", "0"),
        ("all_gather", 64, "bfloat16", "3"),
    ]


def test_a_log_of_one_rank_is_refused() -> None:
    with pytest.raises(UsageError, match=r"of at least two ranks, but the logs read here .1."):
        wb.read_trace(LOGS / "recompiles.log.gz").ranks()


def test_sessions_of_logs_tell_what_the_caches_answered() -> None:
    compiles = wb.read_trace(LOGS / "unlike").session().frame("compiles")
    assert set(compiles.cache) == {"FX graph miss, AOTAutograd miss"}


CHAIN = """
def call(args):
    arg0_1, = args
    args.clear()
    {check}assert_size_stride(arg0_1, (8, 16), (16, 1), 'input')
    buf0 = empty_strided_cpu((8, 16), (16, 1), torch.bfloat16)
    buf1 = torch.ops._c10d_functional.reduce_scatter_tensor.default(buf0, 'sum', 4, '0')
    {check}assert_size_stride(buf1, (2, 16), (16, 1), 'torch.ops._c10d_functional')
    torch.ops._c10d_functional.wait_tensor.default(buf1)
    buf2 = torch.ops._c10d_functional.all_gather_into_tensor.default(buf1, 4, '0')
    {check}assert_size_stride(buf2, (8, 16), (16, 1), 'torch.ops._c10d_functional')
    torch.ops._c10d_functional.wait_tensor.default(buf2)
    torch.ops._c10d_functional.all_reduce_.default(buf2, 'sum', '0')
    torch.ops._c10d_functional.wait_tensor.default(buf2)
    buf3 = torch.ops._c10d_functional.all_to_all_single.default(buf2, [2, 6], [4, 4], '0')
    {check}assert_size_stride(buf3, (8, 16), (16, 1), 'torch.ops._c10d_functional')
    torch.ops._c10d_functional.wait_tensor.default(buf3)
    buf4 = torch.ops._c10d_functional.all_gather_into_tensor.default(buf3, 4, '0')
    return (buf4, )
"""


@pytest.mark.parametrize("is_checked", [True, False])
def test_what_is_made_from_results_of_collectives_has_their_size(is_checked: bool) -> None:
    """As seen: of an all-gather of what a reduce-scatter gave no bytes were known."""
    program = parse_program(CHAIN.format(check="" if is_checked else "# "))
    buffers = {one.name: one for one in program.buffers}
    tell_results(program.kernels, buffers, {})
    sizes = [None if (one := buffers.get(f"buf{n}")) is None else one.bytes() for n in range(4)]
    last = 8 * 16 * 2 if is_checked else None  # of an all-to-all its rows are not followed
    assert sizes == [8 * 16 * 2, 2 * 16 * 2, 8 * 16 * 2, last]
    assert buffers["buf3"].dtype == "bfloat16"
