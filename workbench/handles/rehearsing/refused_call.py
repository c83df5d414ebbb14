"""Whether a call that torch refuses while it captures it fails without the compiler, too."""

from __future__ import annotations

import torch

from workbench.compiler.call_state.call_leaves import copy_all_inputs
from workbench.compiler.calls.paths import Path, leaves
from workbench.compiler.internals import torch_private as tp
from workbench.compiler.internals.dynamo_state import preserved
from workbench.compiler.measuring.silence import silent
from workbench.compiler.request.compile_request import CompileRequest
from workbench.errors import RefusedCall, UsageError
from workbench.handles.repeating.outcomes import restore_unchanged


def try_without_compiler(request: CompileRequest, refused: RefusedCall) -> RefusedCall:
    """Run the call once in eager, on copies, and return the error with the outcome.

    The call does not run if an input or weight has no data, as on the meta device.
    """
    name, reason, where, eager = refused.parts
    tried = RefusedCall(name, reason, where, eager or _run(request))
    tried.report = refused.report
    return tried


def _run(request: CompileRequest) -> str:
    """What became of it: "fails", or the device on which it runs; empty where nothing was run."""
    held = [leaf for _, leaf in leaves(request.inputs, Path("call"))]
    if isinstance(request.target, torch.nn.Module):
        held += [*request.target.parameters(), *request.target.buffers()]
    tensors = [leaf for leaf in held if isinstance(leaf, torch.Tensor)]
    fake = tp.FAKE_TENSOR.get()
    if any(isinstance(tensor, fake) or tensor.is_meta for tensor in tensors):
        return ""
    try:
        args, kwargs = copy_all_inputs(request.args, request.kwargs)
    except UsageError:
        return ""
    grad = torch.is_grad_enabled() if request.options.grad is None else request.options.grad
    try:
        with preserved(), restore_unchanged(request.target), silent(), torch.set_grad_enabled(grad):
            request.target(*args, **kwargs)
    except Exception:  # whatever the program raises: the compiler is not at fault
        return "fails"
    return " and ".join(sorted({tensor.device.type for tensor in tensors})) or "cpu"
