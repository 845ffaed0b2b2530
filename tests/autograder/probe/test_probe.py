import linecache
import sys
import time

import pytest
import torch
from torch import nn

from autograder.probe.messages import (
    CallRequest,
    ChainRequest,
    DrawingRequest,
    ModuleRequest,
    Observation,
    Questions,
)
from autograder.probe.probe import answer
from autograder.probe.wire import Function, Instance, decode, encode

KINDS = {
    "call": CallRequest,
    "chain": ChainRequest,
    "module": ModuleRequest,
    "drawing": DrawingRequest,
}


def ask(namespace, *arguments, seconds=2.0, kind="call", substitutes=None, **options):
    names = [f"x{number}" for number in range(len(arguments))]
    request = KINDS[kind](subject="f", arguments=list(arguments), names=names, **options)
    questions = Questions(requests=[request], substitutes=substitutes or {})
    [seen] = decode(answer(encode(questions), namespace, seconds), list[Observation])
    return seen


def test_a_value_comes_back_with_the_arguments_as_they_are_afterwards():
    def f(x):
        x += 1
        return x * 2

    seen = ask({"f": f}, torch.zeros(2))
    assert seen.status == "returned"
    assert torch.equal(seen.value, torch.full((2,), 2.0))
    assert torch.equal(seen.arguments[0], torch.ones(2))


def _runs_on(_error):
    while True:
        pass


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (lambda _error: 1 / 0, "raised"),
        (lambda _error: sys.exit(), "raised"),
        (lambda _error: 5, "raised"),
        (_runs_on, "timeout"),
    ],
)
def test_the_text_of_an_error_is_made_by_its_authors_code(text, status):
    odd = type("Odd", (Exception,), {"__str__": text})

    def f():
        raise odd

    seen = ask({"f": f}, seconds=0.3)
    assert seen.status == status
    assert status == "timeout" or (seen.error.type, seen.error.message) == ("Odd", "")


def test_the_name_of_an_error_may_be_none():
    named = type("Named", (type,), {"__name__": property(lambda _: 5)})

    def f():
        raise named("Odd", (Exception,), {})

    assert ask({"f": f}).error.type == "5"


def test_keys_of_one_text_are_one_key_and_long_ones_are_cut():
    numbers = torch.arange(3.0)
    seen = ask({"f": lambda: {1: torch.zeros(2), "1": numbers, "\ud800": 1, "x" * 70_000: 2}})
    assert seen.status == "returned" and len(seen.value) == 3
    assert torch.equal(seen.value["1"], numbers)


def test_a_strided_argument_has_the_same_values_and_gaps_in_memory():
    handed_over = []

    def f(x):
        handed_over.append(x)
        return x

    x = torch.arange(24.0).reshape(2, 3, 4)
    seen = ask({"f": f}, x, strided=True)
    assert torch.equal(seen.value, x)
    assert not handed_over[0].is_contiguous()


def test_gradients_are_those_of_a_fixed_weighted_sum():
    seen = ask({"f": lambda x, y: (x * y, 3 * x)}, torch.ones(2), torch.ones(2), gradient=True)
    weights = torch.arange(2.0).cos()
    assert torch.allclose(seen.gradients["x0"], 4 * weights)
    assert torch.allclose(seen.gradients["x1"], weights)


def test_a_detached_result_has_no_gradient():
    seen = ask({"f": lambda x: x.detach() * 2}, torch.ones(2), gradient=True)
    assert seen.gradients == {"x0": None}


def test_an_error_is_described_with_the_students_line():
    cell = 'def f(x):\n    raise ValueError("x is odd")\n'
    linecache.cache["a cell"] = (len(cell), None, cell.splitlines(keepends=True), "a cell")
    namespace = {}
    exec(compile(cell, "a cell", "exec"), namespace)
    seen = ask(namespace, torch.ones(2))
    assert seen.status == "raised"
    assert seen.error.type == "ValueError"
    assert seen.error.message == "x is odd"
    assert seen.error.line == 'raise ValueError("x is odd")'


def test_leaving_the_process_is_an_error_like_any_other():
    def f(x):
        raise SystemExit

    assert ask({"f": f}, torch.ones(2)).error.type == "SystemExit"


def test_an_endless_loop_is_stopped_and_not_tried_again():
    calls = []

    def f(x):
        calls.append(x)
        while True:
            try:
                x = x + 1
            except Exception:  # noqa: BLE001, S112
                continue

    requests = [
        CallRequest(subject=subject, arguments=[torch.ones(2)], names=["x"]) for subject in "ffgff"
    ]
    questions = Questions(requests=requests, steps=[0, 0, 0, 1, 1])
    answers = answer(encode(questions), {"f": f, "g": abs}, 0.3)
    seen = decode(answers, list[Observation])
    assert [one.status for one in seen] == ["timeout"] * 5
    assert len(calls) == 2  # the rest of a step that is lost is not tried
    assert not seen[0].waited


def test_where_one_case_takes_too_long_the_other_steps_are_asked():
    code = "def f(x):\n    while x == 2: pass\n    return x\n"
    linecache.cache["<loop>"] = len(code), None, code.splitlines(keepends=True), "<loop>"
    namespace = {}
    exec(compile(code, "<loop>", "exec"), namespace)
    requests = [CallRequest(subject="f", arguments=[x], names=["x"]) for x in (1, 2, 3, 4)]
    answers = answer(encode(Questions(requests=requests, steps=[0, 1, 2, 2])), namespace, 0.3)
    seen = decode(answers, list[Observation])
    assert [one.value for one in seen] == [1, None, 3, 4]
    assert seen[1].line == "while x == 2: pass"


def test_what_only_waits_is_told_apart_from_what_computes():
    request = CallRequest(subject="f", arguments=[9], names=["x"])
    message = encode(Questions(requests=[request]))
    [seen] = decode(answer(message, {"f": time.sleep}, 5, 0.2), list[Observation])
    assert (seen.status, seen.waited, seen.seconds) == ("timeout", True, 0.2)


def test_a_missing_name_is_reported():
    assert ask({}, torch.ones(2)).status == "missing"
    assert ask({"f": 3}, torch.ones(2)).status == "missing"


def test_prints_and_warnings_stay_out_of_the_cell(capfd):
    import sys
    import warnings

    def f(x):
        print("hello")
        print("error", file=sys.stderr)
        warnings.warn("careful", stacklevel=1)
        return x

    assert ask({"f": f}, torch.ones(2)).status == "returned"
    assert capfd.readouterr() == ("", "")


def test_a_function_argument_is_looked_up_by_name():
    seen = ask({"f": lambda g, x: g(x)}, Function("lecture_kit.handed_over.doubled"), torch.ones(2))
    assert torch.equal(seen.value, torch.full((2,), 2.0))


class Named(nn.Module):
    """Holds its layer under another name than it goes by."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 1)])

    @property
    def w(self):
        return self.layers[0]

    def forward(self, x):
        return self.w(x)


def test_weights_are_set_by_the_names_of_attributes_also_where_they_are_properties():
    state = {"w.weight": torch.tensor([[1.0, 2.0]]), "w.bias": torch.tensor([5.0])}
    x = torch.tensor([[3.0, 4.0]])
    seen = ask({"f": Named}, x, kind="module", method="forward", state=state, gradient=True)
    assert seen.value.tolist() == [[16.0]]
    assert {name: one.tolist() for name, one in seen.gradients.items()} == {
        "x0": [[1.0, 2.0]],
        "w.weight": [[3.0, 4.0]],
        "w.bias": [1.0],
    }


def test_a_weight_that_an_attribute_only_computes_is_not_found():
    class Computed(Named):
        w = property(lambda self: nn.Linear(2, 1))

    state = {"w.weight": torch.ones(1, 2)}
    seen = ask({"f": Computed}, torch.ones(1, 2), kind="module", method="forward", state=state)
    assert seen.unfit.missing == ["w.weight"]


def translator(**options):
    """Two sentences, five states, four words; logits rise with the word, most for state 0."""
    scores = torch.arange(4.0).expand(2, 5, 4) * torch.tensor([[1.0], [-1.0]])[:, None]
    return Instance(
        "lecture_kit.handed_over.ScriptedTranslator", {"scores": scores, "pad_id": 3, **options}
    )


SRC = torch.tensor([[0, 2], [1, 2]])
TGT = torch.tensor([[1, 2, 3], [1, 2, 3]])


def test_an_object_crosses_by_its_name_and_arguments():
    sent = translator(training=["", "decoder"], rows=3)
    back = decode(encode(sent))
    assert isinstance(back, Instance)
    assert back.name == "lecture_kit.handed_over.ScriptedTranslator"
    assert torch.equal(back.arguments["scores"], sent.arguments["scores"])
    assert back.arguments["training"] == ["", "decoder"] and back.arguments["rows"] == 3


def test_a_scripted_translator_answers_from_its_table_and_sees_no_later_token():
    def f(model):
        memory = model.encode(SRC)
        both = model.decode(TGT, memory, SRC)
        assert torch.equal(both[:, :2], model.decode(TGT[:, :2], memory, SRC))
        assert torch.equal(model(SRC, TGT), both)
        return both.argmax(dim=-1), model.pad_id

    best, pad_id = ask({"f": f}, translator()).value
    assert best.tolist() == [[3, 3, 3], [0, 0, 0]]
    assert pad_id == 3


def test_a_scripted_translator_depends_on_every_earlier_token():
    from lecture_kit.handed_over import ScriptedTranslator, state_of

    assert state_of(TGT, 5).tolist() == [[1, 0, 4]] * 2
    scores = torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(0))
    model = ScriptedTranslator(scores, pad_id=3)
    logits = model.decode(TGT, model.encode(SRC), SRC)
    assert torch.equal(logits[1, 2], scores[1, 4])
    other = TGT.clone()
    other[:, 0] = 2
    assert not torch.equal(logits[:, 2], model.decode(other, model.encode(SRC), SRC)[:, 2])


def test_a_scripted_translator_gives_something_else_where_a_part_is_in_train_mode():
    def best(model):
        return model.decode(TGT, model.encode(SRC), SRC).argmax(dim=-1)

    asleep = ask({"f": best}, translator(training=[""])).value
    assert asleep.tolist() == [[3, 3, 3], [0, 0, 0]]
    for part in ("encoder", "decoder"):
        awake = ask({"f": best}, translator(training=[part])).value
        assert awake.tolist() == [[0, 0, 0], [3, 3, 3]]


def test_a_scripted_translator_has_limits_that_show():
    def grow(model):
        for length in (1, 2, 3):
            model.decode(TGT[:, :length], model.encode(SRC), SRC)

    assert ask({"f": grow}, translator(rows=6, max_len=3)).status == "returned"
    error = ask({"f": grow}, translator(rows=5)).error
    assert error.message == "every sentence has ended, and the model is asked again"
    error = ask({"f": grow}, translator(max_len=2)).error
    assert error.message == "a target of length 3 is longer than max_len = 2"


def test_a_scripted_translator_says_what_it_was_given_wrongly():
    def f(model, case):
        memory = model.encode(SRC)
        return {
            "ids": lambda: model.encode(SRC.float()),
            "swapped": lambda: model.decode(TGT, SRC, memory),
            "unfit": lambda: model.decode(TGT, memory[:, :1], SRC),
            "rows": lambda: model.decode(TGT[:1], memory, SRC),
        }[case]()

    for case, kind in {
        "ids": "TypeError", "swapped": "TypeError", "unfit": "ValueError", "rows": "ValueError",
    }.items():  # fmt: skip
        assert ask({"f": f}, translator(), case).error.type == kind


class Counts(torch.nn.Module):
    """Gives the modes in which it was called so far, 1 for train mode."""

    def __init__(self):
        super().__init__()
        self.modes = []

    def forward(self, x):
        self.modes.append(float(self.training))
        return torch.tensor(self.modes)


@pytest.mark.parametrize(("rested", "modes"), [(True, [0.0, 1.0]), (False, [1.0])])
def test_a_module_may_be_used_in_eval_mode_before(rested, modes):
    how = {"construct": [], "keywords": {}, "method": "forward", "state": {}, "training": True}
    seen = ask({"f": Counts}, torch.zeros(2), kind="module", dtype="float32", rested=rested, **how)
    assert seen.value.tolist() == modes


HOW = {"kind": "module", "dtype": "float32", "construct": [], "keywords": {}, "state": {}}


def test_each_call_of_a_module_gets_the_arguments_as_they_were():
    class AddsToItsInput(torch.nn.Module):
        def forward(self, x):
            x += 1
            return x.clone()

    how = HOW | {"method": "forward", "training": False, "times": 2}
    seen = ask({"f": AddsToItsInput}, torch.zeros(2), **how)
    assert [value.tolist() for value in seen.value] == [[1.0, 1.0], [1.0, 1.0]]
    assert seen.arguments[0].tolist() == [1.0, 1.0]


def test_an_attribute_may_be_a_buffer():
    class Padded(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("pad_id", torch.tensor(4))

    how = HOW | {"method": "__getattribute__", "training": False}
    assert ask({"f": Padded}, "pad_id", **how).value.item() == 4


def test_weights_drawn_at_first_change_nothing_that_is_drawn_later():
    class Draws(torch.nn.Module):
        def __init__(self, number):
            super().__init__()
            torch.rand(number)

        def forward(self, x):
            return torch.rand_like(x)

    how = HOW | {"method": "forward", "training": True}
    few, many = (ask({"f": Draws}, torch.zeros(3), **how | {"construct": [n]}) for n in (1, 50))
    assert torch.equal(few.value, many.value)


class Remembers(torch.nn.Module):
    """Gives what it was given first, for ever."""

    def forward(self, x):
        self.first = getattr(self, "first", x)
        return self.first


@pytest.mark.parametrize(("before", "value"), [([torch.ones(2)], [1.0, 1.0]), ([], [0.0, 0.0])])
def test_a_module_may_be_used_on_something_else_before(before, value):
    how = {"construct": [], "keywords": {}, "method": "forward", "state": {}, "training": False}
    seen = ask(
        {"f": Remembers}, torch.zeros(2), kind="module", dtype="float32", before=before, **how
    )
    assert seen.value.tolist() == value


class Wide(torch.nn.Linear):
    """A layer of three numbers, whatever is asked."""

    def __init__(self):
        super().__init__(3, 3)


@pytest.mark.parametrize("asked", [2, 5])
def test_weights_of_another_length_are_cut_or_filled_with_zeros_where_that_is_allowed(asked):
    weight = torch.zeros(asked, asked)
    weight[:2, :2] = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    state = {"weight": weight, "bias": torch.zeros(asked)}
    how = {"construct": [], "method": "forward", "state": state, "gradient": True}
    x = torch.tensor([1.0, 1.0, 1.0])
    seen = ask({"f": Wide}, x, kind="module", fitted=True, **how)
    assert seen.value.tolist() == [3, 7, 0]
    assert seen.gradients["weight"].shape == (asked, asked)
    seen = ask({"f": Wide}, x, kind="module", **how)
    assert seen.status == "unfit" and seen.unfit.shapes[0].found == [3, 3]


class RemembersWhatItRead(Remembers):
    """Gives what it read before; what it was given, if it has read nothing."""

    def read(self, x):
        self.first = x


def test_another_method_may_be_used_before():
    how = {"construct": [], "keywords": {}, "method": "forward", "state": {}, "training": False}
    how |= {"before": [torch.ones(2)], "before_method": "read"}
    subject = {"f": RemembersWhatItRead}
    seen = ask(subject, torch.zeros(2), kind="module", dtype="float32", **how)
    assert seen.value.tolist() == [1.0, 1.0]


def test_a_module_is_reported_by_the_modes_of_its_parts():
    seen = ask({"f": lambda model: model.encoder.train() and 0}, translator(training=["decoder"]))
    [left] = seen.arguments
    assert left["training"] == {"": False, "encoder": True, "decoder": True}
    assert not any(
        found for name, found in left.items() if name not in ("training", "same_results")
    )


def test_parts_left_in_another_mode_cost_a_strict_step():
    from autograder.checks.cases import Case
    from autograder.checks.check import Assignment, Part
    from autograder.checks.decide import decide

    def right(model):
        modes = {part: part.training for part in model.modules()}
        model.eval()
        ids = model.decode(TGT, model.encode(SRC), SRC).argmax(dim=-1)
        for part, training in modes.items():
            part.training = training
        return ids

    def all_awake(model):
        model.eval()
        ids = model.decode(TGT, model.encode(SRC), SRC).argmax(dim=-1)
        model.train()
        return ids

    part = Part("f(model)", right, reads=("", ""))
    case = Case("", lambda randn: [translator(training=["", "decoder"])])
    part.step("modes", 1, case, strict=True)
    assignment = Assignment("a", (part,), ())

    def verdict_on(code):
        return decide(assignment, part, lambda message: answer(message, {"f": code}), [""])

    assert verdict_on(right).earned == 1
    verdict = verdict_on(all_awake)
    assert verdict.earned == 0
    assert "parts of `model` were left in another mode" in verdict.steps[0].problem


# ------------------------------------------------------------------------ what a model is left like

NETWORK = Instance(
    "module",
    {
        "made_by": "torch.nn.modules.transformer.TransformerEncoderLayer",
        "construct": [4, 2, 3],
        "keywords": {"dropout": 0.5, "batch_first": True},
        "state": {
            name: torch.linspace(-1, 1, value.numel(), dtype=torch.float64).reshape(value.shape)
            for name, value in torch.nn.TransformerEncoderLayer(4, 2, 3).state_dict().items()
        }
        | {"norm1.bias": torch.zeros(4, dtype=torch.float64)},
        "dtype": "float64",
        "training": ["", "dropout1"],
        "recorded": ["linear1"],
    },
)
X = torch.linspace(0, 1, 24, dtype=torch.float64).reshape(2, 3, 4)


def test_a_module_of_any_class_is_made_with_its_weights_modes_and_hooks():
    def f(model):
        modes = [name for name, part in model.named_modules() if part.training]
        hooked = [len(model.linear1._forward_hooks), len(model.linear1._forward_pre_hooks)]
        return model.linear2.weight, modes, hooked

    back = decode(encode(NETWORK))
    weight, modes, hooked = ask({"f": f}, back).value
    assert torch.equal(weight, NETWORK.arguments["state"]["linear2.weight"])
    assert (modes, hooked) == (["", "dropout1"], [1, 1])


def test_a_set_crosses_as_what_it_is_made_of():
    def f(pairs):
        return isinstance(pairs, set) and sorted(pairs)

    assert ask({"f": f}, Instance("set_of", {"items": [(1, 2), (0, 3)]})).value == [
        (0, 3),
        (1, 2),
    ]


def nothing(model):
    """Looks, and leaves no trace; hooks of its own come and go, and weights are put back."""
    modes = {part: part.training for part in model.modules()}
    hook = model.register_forward_hook(lambda *_: None)
    kept = model.linear1.weight.detach().clone()
    with torch.no_grad():
        model.linear1.weight.zero_()
        model.eval()(X)
        model.linear1.weight.copy_(kept)
    hook.remove()
    for part, training in modes.items():
        part.training = training


def hook_left(model):
    model.linear2.register_forward_pre_hook(lambda *_: None)


def others_hooks_cleared(model):
    model.linear1._forward_hooks.clear()


def sign_of_zero_changed(model):
    with torch.no_grad():
        model.norm1.bias.neg_()  # all of them are zero


def last_digit_changed(model):
    with torch.no_grad():
        model.norm2.weight.copy_(torch.nextafter(model.norm2.weight, model.norm2.weight + 1))


def parameter_added(model):
    model.more = torch.nn.Parameter(torch.ones(1))


def forward_replaced(model):
    model.linear2.forward = torch.zeros_like


def dropout_switched_off(model):
    model.dropout1.p = 0.0


def attribute_without_effect(model):
    model.linear1.note = "seen"


def attribute_of_its_class(model):
    type(model).note = "seen"


def of_another_class(model):
    model.__class__ = type("Other", (type(model),), {})


def equal_parameter_put_in_place(model):
    model.linear1.weight = torch.nn.Parameter(model.linear1.weight.detach().clone())


def same_part_wrapped_and_unwrapped(model):
    model.linear1 = torch.nn.Sequential(model.linear1)[0]


def part_exchanged(model):
    model.dropout2 = torch.nn.Dropout(model.dropout2.p).eval()


def part_added(model):
    model.more = torch.nn.Identity().eval()


def weights_frozen(model):
    model.linear1.requires_grad_(False)


def gradient_left(model):
    model.norm1.bias.grad = torch.zeros_like(model.norm1.bias)


@pytest.mark.parametrize(
    ("f", "found"),
    [
        (nothing, {}),
        (same_part_wrapped_and_unwrapped, {}),
        (attribute_without_effect, {"attributes": ["linear1.note"]}),
        (attribute_of_its_class, {"attributes": ["note"]}),
        (of_another_class, {"replaced": [""]}),
        (
            equal_parameter_put_in_place,
            {"replaced": ["linear1.weight"], "gradients": ["linear1.weight"]},
        ),
        (part_exchanged, {"replaced": ["dropout2"]}),
        (part_added, {"replaced": ["more"]}),
        (weights_frozen, {"gradients": ["linear1.weight", "linear1.bias"]}),
        (gradient_left, {"gradients": ["norm1.bias"]}),
        (hook_left, {"hooks_left": ["linear2"]}),
        (others_hooks_cleared, {"hooks_gone": ["linear1"]}),
        (last_digit_changed, {"changed": ["norm2.weight"]}),
        (sign_of_zero_changed, {"changed": ["norm1.bias"]}),
        (parameter_added, {"renamed": ["more"]}),
        (forward_replaced, {"attributes": ["linear2.forward"], "same_results": False}),
        (dropout_switched_off, {"same_results": False}),
    ],
)
@pytest.mark.parametrize("stops", [False, True])
def test_what_is_left_in_a_model_is_reported_also_after_an_error(f, found, stops):
    def use(model):
        f(model)
        if stops:
            raise IndexError("no such word")
        return 0

    seen = ask({"f": use}, NETWORK, tries=[X])
    assert seen.status == ("raised" if stops else "returned")
    if stops:
        assert seen.error.message == "no such word"
    [left] = seen.arguments
    training = left.pop("training")
    assert [name for name in training if training[name]] == ["", "dropout1"]
    assert left.pop("same_results") == found.get("same_results", True)
    assert {name: names for name, names in left.items() if names} == {
        name: names for name, names in found.items() if names
    }


def test_trying_a_model_leaves_its_modes_and_torchs_numbers_alone():
    def f(model):
        return torch.rand(3)

    plain = ask({"f": f}, NETWORK).value
    assert torch.equal(ask({"f": f}, NETWORK, tries=[X]).value, plain)


def test_an_error_without_a_model_is_reported_as_ever():
    def f(x):
        raise ValueError("no")

    assert ask({"f": f}, torch.ones(2)).arguments == []


def test_a_chain_may_hand_on_the_same_model():
    from autograder.checks.cases import given_to

    def f(model, number):
        before = getattr(model, "number", -1)
        model.number = number
        return before

    seen = ask(
        {"f": f},
        [NETWORK, 1],
        [given_to(0, 0), 2],
        [NETWORK, 3],
        kind="chain",
        argument_names=[["model", "number"]] * 3,
    )
    assert seen.value == (-1, 1, -1)
