import torch

from autograder.probe import answer
from autograder.wire import Function, decode, encode

CALL = {
    "subject": "f",
    "experiment": "call",
    "strided": False,
    "gradient": False,
    "seed": 0,
    "replace": {},
}


def ask(namespace, *arguments, seconds=2.0, **options):
    names = [f"x{number}" for number in range(len(arguments))]
    request = {**CALL, "arguments": list(arguments), "names": names, **options}
    return decode(answer(encode([request]), namespace, seconds))[0]


def test_a_value_comes_back_with_the_arguments_as_they_are_afterwards():
    def f(x):
        x += 1
        return x * 2

    report = ask({"f": f}, torch.zeros(2))
    assert report["status"] == "returned"
    assert torch.equal(report["value"], torch.full((2,), 2.0))
    assert torch.equal(report["arguments"][0], torch.ones(2))


def test_a_strided_argument_has_the_same_values_and_gaps_in_memory():
    seen = []

    def f(x):
        seen.append(x)
        return x

    x = torch.arange(24.0).reshape(2, 3, 4)
    report = ask({"f": f}, x, strided=True)
    assert torch.equal(report["value"], x)
    assert not seen[0].is_contiguous()


def test_gradients_are_those_of_a_fixed_weighted_sum():
    report = ask({"f": lambda x, y: (x * y, 3 * x)}, torch.ones(2), torch.ones(2), gradient=True)
    weights = torch.arange(2.0).cos()
    assert torch.allclose(report["gradients"]["x0"], 4 * weights)
    assert torch.allclose(report["gradients"]["x1"], weights)


def test_a_detached_result_has_no_gradient():
    report = ask({"f": lambda x: x.detach() * 2}, torch.ones(2), gradient=True)
    assert report["gradients"] == {"x0": None}


def test_an_error_is_described_with_the_students_line():
    def f(x):
        raise ValueError("x is odd")

    report = ask({"f": f}, torch.ones(2))
    assert report["status"] == "raised"
    assert report["error"]["type"] == "ValueError"
    assert report["error"]["message"] == "x is odd"
    assert report["error"]["line"] == 'raise ValueError("x is odd")'


def test_leaving_the_process_is_an_error_like_any_other():
    def f(x):
        raise SystemExit

    assert ask({"f": f}, torch.ones(2))["error"]["type"] == "SystemExit"


def test_an_endless_loop_is_stopped_and_not_tried_again():
    calls = []

    def f(x):
        calls.append(x)
        while True:
            try:
                x = x + 1
            except Exception:  # noqa: BLE001, S112
                continue

    request = {**CALL, "arguments": [torch.ones(2)], "names": ["x"]}
    reports = decode(answer(encode([request, request, request]), {"f": f}, 0.3))
    assert [report["status"] for report in reports] == ["timeout"] * 3
    assert len(calls) == 1


def test_a_missing_name_is_reported():
    assert ask({}, torch.ones(2))["status"] == "missing"
    assert ask({"f": 3}, torch.ones(2))["status"] == "missing"


def test_prints_and_warnings_stay_out_of_the_cell(capfd):
    import sys
    import warnings

    def f(x):
        print("hello")
        print("error", file=sys.stderr)
        warnings.warn("careful", stacklevel=1)
        return x

    assert ask({"f": f}, torch.ones(2))["status"] == "returned"
    assert capfd.readouterr() == ("", "")


def test_a_function_argument_is_looked_up_by_name():
    report = ask({"f": lambda g, x: g(x)}, Function("doubled"), torch.ones(2))
    assert torch.equal(report["value"], torch.full((2,), 2.0))


def test_a_stand_in_is_used_for_one_call_and_taken_out_again():
    namespace = {"f": lambda x: namespace["attention_weights"](x), "attention_weights": len}
    replace = {"attention_weights": "course_utils.attention"}
    report = ask(namespace, torch.zeros(2, 3), replace=replace)
    assert torch.allclose(report["value"], torch.full((2, 2), 0.5))
    assert namespace["attention_weights"] is len
