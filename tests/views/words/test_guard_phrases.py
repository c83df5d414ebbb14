"""Guards read as what they compare; torch's own code stays in the tables."""

from __future__ import annotations

import pytest

from workbench.views.words.guard_phrases import describe_check, describe_checks


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "___check_type_id(L['self'], <id>), type=<class 'model.Block'>",
            "type of L['self'] is Block",
        ),
        (
            "___check_type_id(L['self']._modules['up'], 12), type=<class 'torch.nn.Linear'>",
            "type of L['self'].up is Linear",
        ),
        ("___check_type_id(L['x'], <id>)", "type of L['x'] is unchanged"),
        (
            "___check_obj_id(G['__import_torch_dot_nn'].F, <id>), type=<class 'module'>",
            "torch.nn.F is the same object (module)",
        ),
        ("___dict_contains('keep', L['self'].flags)", "L['self'].flags has the key 'keep'"),
        ("not ___dict_contains(2, G['TABLE'])", "G['TABLE'] has no key 2"),
        ("len(L['self']._modules['0'].shape) == 2", "length of L['self'][0].shape is 2"),
        ("list(dict.keys(G['M']._modules)) == ['0']", "keys of G['M']._modules are ['0']"),
        ("hasattr(L['x'], 'tag') == False", "L['x'] has no attribute 'tag'"),
        ("L['self'].training == False", "L['self'].training is False"),
        ("L['self'].keep == 16", "L['self'].keep == 16"),
        ("2 <= L['y'].size()[0]", "2 <= L['y'].size()[0]"),
    ],
)
def test_a_check_is_said_in_words(code: str, words: str) -> None:
    assert describe_check(code) == words


def test_torchs_own_marks_are_left_out() -> None:
    checks = ("hasattr(L['x'], '_dynamo_static_indices') == False", "L['x'].keep is None")
    assert describe_checks(checks) == "L['x'].keep is None"
