"""Every model of the libraries by `library/name`, and what a call of one gives."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

from tests.libraries import diffusion, graphs, images, measures, symmetries
from tests.libraries.case import Case

BUILDERS: Mapping[str, Callable[[], Case]] = {
    **images.BUILDERS,
    **diffusion.BUILDERS,
    **graphs.BUILDERS,
    **measures.BUILDERS,
    **symmetries.BUILDERS,
}
SMALL = 0.1


def build(name: str) -> Case:
    """The same model with the same weights and inputs in every process."""
    torch.manual_seed(0)
    case = BUILDERS[name]()
    case.model.eval()
    for parameter in case.model.parameters():
        if (
            parameter.abs().max() < SMALL
        ):  # a layer that starts at zero would hide what is before it
            nn.init.normal_(parameter, std=SMALL)
    return case


def result(call: Callable[..., Any], case: Case) -> dict[str, Any]:
    """What a call gives, how it leaves inputs and modules, and gradients where they are wanted.

    A metric keeps what it saw: another result needs another case.
    """
    inputs = copy.deepcopy(dict(case.inputs))
    with torch.set_grad_enabled(case.learns):
        output = call(**inputs)
    found = {"output": output, "inputs": inputs, "state": state(case.model)}
    if not case.learns:
        return found
    output.square().mean().backward()
    learned = {name: p.grad for name, p in case.model.named_parameters() if p.requires_grad}
    assert any(gradient is not None for gradient in learned.values())
    return {**found, "gradients": learned}


def state(model: nn.Module) -> dict[str, torch.Tensor]:
    """The buffers of a model, and the tensors that are plain attributes of its modules."""
    plain = {
        f"{where}.{name}": value
        for where, module in model.named_modules()
        for name, value in vars(module).items()
        if isinstance(value, torch.Tensor)
    }
    return {name: value.clone() for name, value in (*model.named_buffers(), *plain.items())}
