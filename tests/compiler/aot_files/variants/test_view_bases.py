"""A variant of any size that was recorded of a view fits a tensor that is none."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

import workbench as wb
from tests.variant_samples import scored
from workbench.compiler.aot_files.variants.recorded_variants import ViewBases, find_needless_parts
from workbench.errors import ArtifactError

SIZE, BASE = "L['x'].size()[0]", "L['x']._base.size()[0]"


@pytest.mark.parametrize(
    ("parts", "needless"),
    [
        ([f"2 <= {SIZE}", f"2 <= {BASE}"], {1}),
        ([f"2 <= {SIZE}"], set()),
        ([f"{BASE} == {SIZE}", f"2 <= {BASE}"], set()),  # tied to what is read
        ([f"{BASE} == L['x']._base.stride()[1]", f"2 <= {SIZE}"], {0}),
        ([f"2 <= {BASE}", f"2 <= {BASE.replace('x', 'y')}", f"{BASE} == {SIZE}"], {1}),
    ],
)
def test_only_what_speaks_of_bases_alone_is_left_out(parts: list[str], needless: set[int]) -> None:
    assert find_needless_parts(parts) == needless


def test_code_that_reads_a_base_is_refused() -> None:
    bases = ViewBases()
    code = compile("x._base.size()", "reads", "eval")
    bases.require_unread("f", [code])  # nothing was left out
    bases._dropped[BASE] = None
    with pytest.raises(ArtifactError, match=r"f cannot be saved .* x\.clone\(\)"):
        bases.require_unread("f", [code])


@pytest.mark.slow
def test_a_tensor_that_is_no_view_finds_its_variant(tmp_path: Path) -> None:
    def viewed(rows: int) -> torch.Tensor:
        return torch.linspace(-2, 2, rows * 8).reshape(rows, 8)

    with torch.no_grad():
        recorded = wb.variants(scored, [(viewed(4),), (viewed(6),)])
        assert f"2 <= {BASE}" in recorded.frame("guards").name.to_list()
        recorded.save(tmp_path / "f.aotv")
        loaded = wb.load(tmp_path / "f.aotv", scored, on_miss="error")
        for x in (viewed(5), viewed(5).clone(), torch.ones(9, 8)[:7]):
            torch.testing.assert_close(loaded(x), scored(x))
        loaded.close()
