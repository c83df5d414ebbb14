"""The reference for random numbers is Philox as its authors published it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from workbench.compiler.interpreter.device_operators import draw_integers, draw_philox, random
from workbench.compiler.interpreter.random_draws import Drawing, read_drawing


def test_the_published_answer() -> None:
    words = draw_philox(0, np.zeros(1, dtype=np.int64))
    assert [int(word[0]) for word in words] == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


def test_numbers_depend_on_the_seed_and_the_position() -> None:
    first, second = (random((4, 1000), torch.tensor(seed), "rand") for seed in (1, 2))
    assert torch.equal(first, random((4000,), torch.tensor(1), "rand").reshape(4, 1000))
    assert not torch.equal(first, second)
    assert 0 <= first.min() <= first.max() < 1
    assert abs(float(first.mean()) - 0.5) < 0.02


@pytest.mark.parametrize("mode", ["rand", "randn"])
def test_a_draw_is_for_one_element_or_for_four(mode: str) -> None:
    four = random((8,), torch.tensor(5), mode, each=4)
    assert torch.equal(random((2,), torch.tensor(5), mode), four[::4])


NODE = "call_function[target=torch.ops.prims.inductor_random.default]([4], %seed, rand)"
KERNEL = """#   %{node} : Tensor "f32[4]"[num_users=1] = {target}
{name} = async_compile.triton('{name}', '''
def {name}(out):
    tmp0 = {drawn}(seed, at)
''', device_str='cuda')

"""
FOUR = KERNEL.format(target=NODE, node="flat", name="triton_poi_0", drawn="triton_helpers.rand4x")
ONE = KERNEL.format(target=NODE, node="rows", name="triton_per_1", drawn="tl.randn")


def test_how_a_program_draws_is_read_from_its_kernels() -> None:
    assert read_drawing(FOUR) == Drawing(frozenset({"flat"}), 4)
    assert read_drawing(ONE) == Drawing(frozenset(), 1)
    assert (
        read_drawing(ONE + FOUR) == read_drawing(FOUR + ONE) == Drawing(frozenset({"flat"}), None)
    )
    assert read_drawing("def call(args): ...") == Drawing()


def test_normal_numbers_and_integers() -> None:
    normal = random((20000,), torch.tensor(3), "randn")
    assert abs(float(normal.mean())) < 0.03
    assert abs(float(normal.std()) - 1) < 0.03
    drawn = draw_integers(-2, 3, (1000,), torch.tensor(4))
    assert set(drawn.tolist()) == {-2, -1, 0, 1, 2}
