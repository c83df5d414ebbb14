"""Notebook 12 uses every documented name of torch.compiler."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "12_backends_and_torch_compiler.ipynb"
FUNCTIONS = [
    "compile",
    "reset",
    "allow_in_graph",
    "substitute_in_graph",
    "assume_constant_result",
    "list_backends",
    "disable",
    "set_stance",
    "set_enable_guard_collectives",
    "cudagraph_mark_step_begin",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "skip_guard_on_inbuilt_nn_modules_unsafe",
    "skip_guard_on_all_nn_modules_unsafe",
    "keep_tensor_guards_unsafe",
    "skip_guard_on_globals_unsafe",
    "nested_compile_region",
    "config",
]
SETTINGS = [
    "accumulated_recompile_limit",
    "allow_unspec_int_on_nn_module",
    "assume_static_by_default",
    "automatic_dynamic_shapes",
    "capture_dynamic_output_shape_ops",
    "capture_scalar_outputs",
    "dynamic_shapes",
    "enable_cpp_symbolic_shape_guards",
    "fail_on_recompile_limit_hit",
    "job_id",
    "log_file_name",
    "recompile_limit",
    "reorderable_logging_functions",
    "skip_tensor_guards_with_matching_dict_tags",
    "verbose",
    "wrap_top_frame",
]
BACKENDS = ["inductor", "cudagraphs", "ipex", "tensorrt", "tvm", "openvino"]


@pytest.fixture(scope="module")
def code() -> ast.Module:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return ast.parse("\n".join(s for s in sources if not s.startswith("%")))


def test_every_function_of_torch_compiler_is_used(code: ast.Module) -> None:
    used = {
        node.attr
        for node in ast.walk(code)
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "torch.compiler"
    }
    assert set(FUNCTIONS) <= used


def test_every_setting_and_backend_is_used(code: ast.Module) -> None:
    arguments = {node.arg for node in ast.walk(code) if isinstance(node, ast.keyword)}
    texts = {node.value for node in ast.walk(code) if isinstance(node, ast.Constant)}
    assert set(SETTINGS) <= arguments | texts
    assert set(BACKENDS) <= texts
