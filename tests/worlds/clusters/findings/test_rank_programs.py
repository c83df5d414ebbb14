from __future__ import annotations

from workbench.report import Report, Table, TextWriter, Wrapper
from workbench.worlds.clusters.findings.rank_programs import (
    RankGroup,
    RankProgram,
    group_by_program,
    list_differing_shards,
    rename_groups,
)
from workbench.worlds.clusters.rows import Shard

CALL = "torch.ops._c10d_functional.all_reduce_.default(buf0, 'sum', '{}')"


def program(rank: int, group: str, line: str = CALL) -> RankProgram:
    """A rank whose generated program has one line, with torch's name of the group in it."""
    writer = TextWriter()
    text = writer.add(line.format(group) + "\nprint('3')")
    tables = {"wrappers": Table.of(Wrapper, [Wrapper("w0", "g0", False, text)])}
    report = Report(tables=tables, texts=writer.finish())
    return RankProgram(rank, {"tp": rank}, groups={group: RankGroup("tp", (0, 1))}, report=report)


def test_groups_are_called_as_on_the_mesh_where_they_are_called() -> None:
    renamed = rename_groups(program(0, "3"))
    (text,) = renamed.texts.values()
    assert text == f"{CALL.format('tp')}\nprint('3')"


def test_the_same_code_with_other_names_of_groups_is_the_same() -> None:
    ranks = [program(0, "3"), program(1, "6"), program(2, "3", "extern_kernels.mm(a, b)")]
    reports = {each.rank: rename_groups(each) for each in ranks}
    assert group_by_program(reports) == ((0, 1), (2,))


def test_a_comment_that_names_a_group_makes_no_other_code() -> None:
    comment = (
        "#   %sum_1 : [target=torch.ops._c10d_functional.all_reduce_.default](args = (%x, {0}))"
    )
    line = f"{comment}\n{CALL.replace('{}', '{0}')}"
    ranks = [program(rank, group, line) for rank, group in enumerate("36")]
    reports = {each.rank: rename_groups(each) for each in ranks}
    assert group_by_program(reports) == ((0, 1),)


def test_shards_that_differ_come_by_size() -> None:
    first = [Shard("bias", (13,), "float32", 52), Shard("weight", (13, 100), "float32", 5200)]
    last = [Shard("bias", (9,), "float32", 36), Shard("weight", (9, 100), "float32", 3600)]
    names = [one.name for one, _ in list_differing_shards(first, last) if one]
    assert names == ["weight", "bias"]
    assert list_differing_shards(first[:1], first) == [(None, first[1])]
    assert list_differing_shards(first, first) == []
