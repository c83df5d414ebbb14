"""A profile that was written is the same when it is read; a damaged one says so."""

from __future__ import annotations

import pytest

from tests.made_profile import follow, make_profile, run
from workbench.errors import ArtifactError
from workbench.worlds.profiles.rows.run_profile import read_content, to_bytes

MM, ADD = run("a", "gemm", "aten::mm", (4, 4)), run("b", "add", "aten::add", (4, 4))


def test_a_profile_is_read_as_it_was_written() -> None:
    profile = make_profile(kernels=[MM, ADD], events=follow([MM, ADD], 3))
    header, tables = read_content(to_bytes(profile.header, profile.tables), "p.wbr")
    assert header == profile.header
    assert {name: list(table) for name, table in tables.items()} == {
        name: list(table) for name, table in profile.tables.items()
    }


def test_events_of_a_kernel_that_the_file_lacks_are_damage() -> None:
    profile = make_profile(kernels=[MM], events=follow([MM, ADD], 3))
    _, tables = read_content(to_bytes(profile.header, profile.tables), "p.wbr")
    assert [row.id for row in tables["kernels"]] == ["a"]
    with pytest.raises(ArtifactError, match="its events use the missing kernel 'b'"):
        tables["events"]
