"""The form that another course's tasks ask for is filled in rightly, with or without its tests."""

import re
from importlib import metadata

import pytest
import torch
import torch.nn.functional as F

from assignments import load
from autograder.bank.measure import bank_of
from tools.accuracy import PAGE
from tools.head_to_head import (
    MISSING,
    TASKS,
    drawn,
    full_marks_there,
    in_scope,
    is_right_for,
    loaded,
    main,
)

SOFTMAX, _, ATTENTION = load("a3_scaled_dot_product_attention").parts
[attention_in_float32] = [
    given.code
    for given in bank_of("a3_scaled_dot_product_attention")
    if given.code.__name__ == "in_float32"
]
HEADS = load("a5_multi_head_attention").part("MultiHeadAttention")
[mask_of_another_sentence] = [
    given.code
    for given in bank_of("a5_multi_head_attention")
    if given.code.__name__ == "MaskOfAnotherSentence"
]
NORM = load("a7_dropout_and_layer_norm").part("LayerNorm")
[rounded_norm] = [
    given.code
    for given in bank_of("a7_dropout_and_layer_norm")
    if given.code.__name__ == "ComputedInFloat32"
]
BY_NAME = {task.name: task for task in TASKS}


def reference_of(task):
    return load(task.assignment).part(task.part).reference


pytestmark = pytest.mark.long


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_ours_and_the_right_answers_are_right_there(task):
    assert is_right_for(task, reference_of(task))
    for given in bank_of(task.assignment):
        if given.part == task.part and given.right:
            assert is_right_for(task, given.code), given.code.__name__


def test_ours_in_their_form_agrees_with_pytorch():
    x = drawn(3, 4)
    softmax = BY_NAME["softmax"].adapted(reference_of(BY_NAME["softmax"]))
    torch.testing.assert_close(softmax(x, dim=0), x.softmax(0))
    query, key, value = drawn(2, 3, 4), drawn(2, 5, 4), drawn(2, 5, 6)
    attention = BY_NAME["attention"].adapted(reference_of(BY_NAME["attention"]))
    wanted = F.scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(attention(query, key, value), wanted)
    norm = BY_NAME["layernorm"].adapted(reference_of(BY_NAME["layernorm"]))
    gamma, beta = drawn(4), drawn(4, seed=1)
    wanted = F.layer_norm(x, (4,), gamma, beta, eps=0.5)
    torch.testing.assert_close(norm(x, gamma, beta, eps=0.5), wanted)
    made = loaded(BY_NAME["mha"].adapted(reference_of(BY_NAME["mha"]))(4, 2), 4)
    theirs = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([made.W_q.weight, made.W_k.weight, made.W_v.weight]))
        theirs.out_proj.weight.copy_(made.W_o.weight)
    torch.testing.assert_close(
        made(x[None], x[None], x[None]), theirs(x[None], x[None], x[None])[0]
    )


@pytest.mark.parametrize(
    ("name", "answer", "right"),
    [
        ("attention", ATTENTION.named("not scaled")[0].answer, False),
        ("attention", ATTENTION.named("inverted mask")[0].answer, True),  # no mask there
        ("attention", attention_in_float32, True),  # nor float64
        ("mha", HEADS.named("scaled by √d_model")[0].answer, False),
        ("mha", HEADS.named("layers without bias")[0].answer, True),  # left open there
        ("mha", mask_of_another_sentence, True),
        ("layernorm", NORM.named("epsilon outside the root")[0].answer, False),
        ("layernorm", rounded_norm, True),
        ("softmax", SOFTMAX.named("one maximum for the whole array")[0].answer, False),
    ],
)
def test_what_is_wrong_there_too_is_told_from_what_is_not_asked_there(name, answer, right):
    assert is_right_for(BY_NAME[name], answer) == right


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_the_page_counts_the_answers_of_today(task):
    right, wrong = map(len, in_scope(task))
    row = rf"\| `{task.name}` \| `{task.part}` \| {right} \| \d+ \| \d+ \| {wrong} \|"
    assert re.search(row, PAGE.read_text(encoding="utf-8")), (
        "docs/grading.md is older than the banks: run `python -m tools.head_to_head`"
    )


def test_a_tests_error_is_no_full_mark():
    description = {
        "function_name": "f",
        "tests": [
            {"name": "of one", "code": "import torch\nassert {fn}(torch.ones(2)).sum() == 1"}
        ],
    }
    task = BY_NAME["softmax"]
    assert full_marks_there(task, description, reference_of(task))
    assert not full_marks_there(task, description, lambda scores, axis: scores)
    assert not full_marks_there(task, description, None)


def test_without_the_package_it_says_what_to_install(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(SystemExit) as stopped:
        main(["--print"])
    assert stopped.value.code == MISSING
    assert "pip install --no-deps torch-judge" in MISSING
