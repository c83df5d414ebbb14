from __future__ import annotations

import pytest
import torch
from torch import nn

import workbench as wb
from workbench.worlds.numerics.computing.findings import Ends, list_unlike


@pytest.mark.parametrize(
    ("eager", "program", "said"),
    [
        ([torch.ones(2)], [torch.ones(2)], []),
        ([torch.ones(2), 3], [torch.ones(2), 3], []),
        (
            [torch.ones(2)],
            [torch.ones(3)],
            ["Output is float32 [3]; eager's is float32 [2]."],
        ),
        (
            [torch.ones(2), torch.ones(1)],
            [torch.ones(2).half()],
            [
                "The program returns 1 value; eager returns 2.",
                "Output[0] is float16 [2]; eager's is float32 [2].",
            ],
        ),
        ([torch.ones(2)], [None], ["Output is of type NoneType; eager's is float32 [2]."]),
    ],
)
def test_outputs_of_another_kind_are_named(eager, program, said) -> None:
    assert list(list_unlike(Ends(eager, program))) == said


def test_a_gradient_that_is_nothing_but_rounding_is_not_weighed() -> None:
    """That of a bias in front of a batch norm was said to be 3.8e15 roundings off."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)).train()
    x = torch.randn(2, 3, 8, 8)
    found = wb.numerics(wb.aot_compile(module, (x,)), (x,))
    (bias,) = (row for row in found.outputs if row.output == "gradient of 0.bias")
    assert (bias.own_off, bias.eager_off) == (None, None)
    assert all(row.own_off < 100 for row in found.outputs if row.own_off is not None)


def test_a_file_of_another_function_does_not_give_what_its_reference_gives(tmp_path) -> None:
    x = torch.randn(8, 16)
    wb.aot_compile(nn.Linear(16, 4), (x,), grad=False).save(tmp_path / "f.aot")
    found = wb.numerics(wb.load(tmp_path / "f.aot"), (x,), reference=lambda q: q.sum(-1))
    assert found.sentence.startswith("Output is float32 [8, 4]; eager's is float32 [8].")


class Scores(nn.Module):
    """Logits in 16 bits: capped, scaled, cast, in a mapping beside what is none."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.up, self.head = nn.Linear(32, 64), nn.Linear(64, 48, bias=False)

    def forward(self, x):
        hidden = nn.functional.dropout(torch.relu(self.up(x)), 0.3, training=self.training)
        logits = self.head(hidden)
        capped = torch.tanh(logits / 30.0) * 30.0
        return {"hidden": hidden, "capped": capped, "wide": (logits * 0.5).float()}


def test_logits_are_found_capped_scaled_cast_and_behind_a_dropout_that_is_off() -> None:
    x = torch.randn(2, 7, 32, generator=torch.Generator().manual_seed(0)).bfloat16()
    model = Scores().eval().bfloat16()
    found = wb.numerics(wb.aot_compile(model, (x,), grad=False), (x,))
    hidden, capped, wide = found.outputs
    assert [row.rows for row in found.outputs] == [None, 14, 14]
    assert capped.kl is not None
    assert capped.kl < 1e-3
    assert (hidden.rounded, capped.rounded, wide.rounded) == ("", "", "bfloat16")
    assert 0 < wide.eager_off < 8  # roundings of 16 bits, and not 65536 times as many of 32
    assert (wide.arg_max, wide.noise_arg_max) != (None, None)
    ends = found.frame("stages").set_index("stage").end_off
    assert ends["eager"] == max(row.eager_off for row in found.outputs)
    assert ends["kernels"] == max(row.own_off for row in found.outputs)


def test_complex_outputs_are_weighed() -> None:
    x = torch.randn(4, 9, generator=torch.Generator().manual_seed(0))
    fourier = wb.aot_compile(lambda x: torch.fft.fft(x) * torch.exp(x), (x,), grad=False)
    found = wb.numerics(fourier, (x,))
    assert found.frame("stages").end_off.iloc[0] == found.outputs[0].eager_off > 0


def make_llama(library):
    return library.LlamaForCausalLM(library.LlamaConfig(**SMALL)).bfloat16(), {"use_cache": True}


def make_gemma2(library):
    config = library.Gemma2Config(**SMALL, final_logit_softcapping=30.0, sliding_window=32)
    return library.Gemma2ForCausalLM(config).bfloat16(), {"use_cache": False}


def make_gpt2(library):
    sizes = {"n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 64}
    config = library.GPT2Config(vocab_size=64, bos_token_id=0, eos_token_id=0, **sizes)
    return library.GPT2LMHeadModel(config), {"use_cache": True}


SMALL = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "head_dim": 16,
}


@pytest.mark.slow
@pytest.mark.parametrize("make", [make_llama, make_gemma2, make_gpt2])
def test_logits_of_models_of_transformers_are_found_beside_their_cache(make) -> None:
    import transformers

    torch.manual_seed(0)
    model, kwargs = make(transformers)
    ids = torch.randint(64, (2, 12), generator=torch.Generator().manual_seed(0))
    compiled = wb.aot_compile(model.eval(), (ids,), kwargs, grad=False)
    found = wb.numerics(compiled, (ids,), kwargs)
    logits = [row for row in found.outputs if row.elements == 2 * 12 * 64]
    assert [row.rows for row in logits] == [24]
    others = [row.rows for row in found.outputs if row.elements != 2 * 12 * 64]
    assert others == [None] * (2 if kwargs["use_cache"] else 0)
    assert found.first is None
    if logits[0].differ:
        assert "Of 24 positions none has another largest value, " in found.sentence
