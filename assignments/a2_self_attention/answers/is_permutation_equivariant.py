"""Answers to `is_permutation_equivariant`."""

import torch

from assignments.a2_self_attention.answers.bank import BANK


@BANK.right("is_permutation_equivariant")
def asked_with_isclose(f, x, permutation):
    return bool(torch.isclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5).all())


@BANK.right("is_permutation_equivariant")
def asked_by_index_select(f, x, permutation):
    before = f(torch.index_select(x, 0, permutation))
    after = torch.index_select(f(x), 0, permutation)
    return torch.allclose(before, after, rtol=1e-4, atol=1e-5)


@BANK.right("is_permutation_equivariant")
def asked_row_by_row(f, x, permutation):
    one, other = f(x), f(x[permutation])
    return all(
        torch.allclose(other[i], one[p], rtol=1e-4, atol=1e-5)
        for i, p in enumerate(permutation.tolist())
    )


@BANK.right("is_permutation_equivariant")
def asked_with_the_inverse(f, x, permutation):
    return torch.allclose(f(x[permutation])[permutation.argsort()], f(x), rtol=1e-4, atol=1e-5)


@BANK.right("is_permutation_equivariant")
def asked_by_differences(f, x, permutation, rtol=1e-4, atol=1e-5):
    one, other = f(x)[permutation], f(x[permutation])
    return not ((one - other).abs() > atol + rtol * one.abs()).any().item()


@BANK.right("is_permutation_equivariant")
def asked_with_a_permutation_matrix(f, x, permutation):
    p = torch.eye(len(x))[permutation]
    return torch.allclose(f(p @ x), f(x)[permutation], rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", named="one number compared for the whole output")
def asked_about_sums(f, x, permutation):
    return torch.allclose(f(x[permutation]).sum(), f(x).sum(), rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", told="stops with IndexError")
def asked_about_tables_alone(f, x, permutation):
    """Rows and columns are named, which not every output has."""
    return torch.allclose(f(x[permutation])[:, :], f(x)[permutation, :], rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", named="always True")
def asked_about_shapes(f, x, permutation):
    return f(x[permutation]).shape == f(x).shape


@BANK.wrong("is_permutation_equivariant", named="only the first row compared")
def asked_about_the_first_row(f, x, permutation):
    return torch.allclose(f(x[permutation])[0], f(x)[permutation][0], rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", named="only the last row compared")
def asked_about_the_last_row(f, x, permutation):
    return torch.allclose(f(x[permutation])[-1], f(x)[permutation][-1], rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", named="difference without its absolute value")
def asked_about_rises_alone(f, x, permutation):
    one, other = f(x)[permutation], f(x[permutation])
    return bool((other - one <= 1e-5 + 1e-4 * one.abs()).all())


@BANK.wrong("is_permutation_equivariant", named="difference without its absolute value")
def asked_about_falls_alone(f, x, permutation):
    one, other = f(x)[permutation], f(x[permutation])
    return bool((one - other <= 1e-5 + 1e-4 * one.abs()).all())


@BANK.wrong(
    "is_permutation_equivariant",
    named="too strict with large numbers, too generous with small ones",
)
def asked_about_the_mean_difference(f, x, permutation):
    return float((f(x[permutation]) - f(x)[permutation]).abs().mean()) < 1e-4


@BANK.wrong("is_permutation_equivariant", named="always False")
def asked_about_columns(f, x, permutation):
    one = f(x[:, permutation % x.shape[1]])
    return one.shape == f(x).shape and torch.allclose(one, f(x), rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", named="rows averaged before they are compared")
def asked_on_the_mean_row(f, x, permutation):
    return torch.allclose(f(x[permutation]).mean(0), f(x).mean(0), rtol=1e-4, atol=1e-5)


@BANK.right("is_permutation_equivariant")
def asked_with_numpy(f, x, permutation):
    import numpy as np

    before, after = f(x[permutation]).numpy(), f(x).numpy()[permutation.numpy()]
    return bool(np.allclose(before, after, rtol=1e-4, atol=1e-5))


@BANK.right("is_permutation_equivariant")
def asked_by_gathering(f, x, permutation):
    try:
        torch.testing.assert_close(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5)
    except AssertionError:
        return False
    return True


@BANK.right("is_permutation_equivariant")
def asked_number_by_number(f, x, permutation):
    before, after = f(x[permutation]).flatten().tolist(), f(x)[permutation].flatten().tolist()
    return not any(
        abs(one - other) > 1e-5 + 1e-4 * abs(other)
        for one, other in zip(before, after, strict=True)
    )


@BANK.right("is_permutation_equivariant")
def asked_with_a_list(f, x, permutation):
    reordered = torch.stack([x[i] for i in permutation.tolist()])
    result = f(x)
    expected = torch.stack([result[i] for i in permutation.tolist()])
    return torch.allclose(f(reordered), expected, rtol=1e-4, atol=1e-5) is True


@BANK.right("is_permutation_equivariant")
def asked_with_the_inverse_written_out(f, x, permutation):
    inverse = torch.empty_like(permutation)
    inverse[permutation] = torch.arange(len(permutation))
    return torch.allclose(f(x[permutation])[inverse], f(x), rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", named="always True")
def asked_the_same_twice(f, x, permutation):
    return torch.allclose(f(x)[permutation], f(x)[permutation], rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", named="permutation undone in the wrong direction")
def asked_with_argsort_on_the_input(f, x, permutation):
    return torch.allclose(f(x[permutation.argsort()]), f(x)[permutation], rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", named="invariance tested, not equivariance")
def asked_about_invariance(f, x, permutation):
    return bool((f(x) - f(x[permutation])).abs().max() <= 1e-5)


@BANK.wrong("is_permutation_equivariant", named="exact equality")
def asked_with_equals_signs(f, x, permutation):
    return bool((f(x[permutation]) == f(x)[permutation]).all())


@BANK.wrong(
    "is_permutation_equivariant",
    named="too strict with large numbers, too generous with small ones",
)
def asked_with_tolerances_exchanged(f, x, permutation):
    return torch.allclose(f(x[permutation]), f(x)[permutation], rtol=1e-5, atol=1e-4)


@BANK.wrong("is_permutation_equivariant", named="relative tolerance too small")
def asked_with_an_absolute_tolerance(f, x, permutation):
    return torch.allclose(f(x[permutation]), f(x)[permutation], atol=1e-5)


@BANK.wrong("is_permutation_equivariant", named="absolute tolerance too small")
def asked_with_a_relative_tolerance(f, x, permutation):
    return torch.allclose(f(x[permutation]), f(x)[permutation], rtol=1e-4)


@BANK.wrong("is_permutation_equivariant", named="relative tolerance too small")
def asked_with_round(f, x, permutation):
    before, after = f(x[permutation]), f(x)[permutation]
    return torch.equal(before.round(decimals=4), after.round(decimals=4))


@BANK.wrong("is_permutation_equivariant", named="one number compared for the whole output")
def asked_about_the_norm(f, x, permutation):
    return torch.allclose(f(x[permutation]).norm(), f(x).norm(), rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", named="numbers compared without their places")
def asked_about_sorted_rows(f, x, permutation):
    before, after = f(x[permutation]).sort(dim=0).values, f(x).sort(dim=0).values
    return torch.allclose(before, after, rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", told="nothing comes back")
def asked_and_printed(f, x, permutation):
    print(torch.allclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5))


@BANK.wrong("is_permutation_equivariant")
def asked_for_a_string(f, x, permutation):
    same = torch.allclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5)
    return "True" if same else "False"


@BANK.wrong("is_permutation_equivariant", told="another type")
def asked_for_a_numpy_bool(f, x, permutation):
    return torch.isclose(f(x[permutation]), f(x)[permutation], 1e-4, 1e-5).all().numpy()


@BANK.wrong("is_permutation_equivariant", named="tolerance too wide")
def asked_with_the_square(f, x, permutation):
    return float((f(x[permutation]) - f(x)[permutation]).square().sum()) < 1e-5


@BANK.wrong("is_permutation_equivariant", named="one number compared for the whole output")
def asked_about_the_largest(f, x, permutation):
    return torch.allclose(f(x[permutation]).max(), f(x).max(), rtol=1e-4, atol=1e-5)


@BANK.wrong(
    "is_permutation_equivariant", told=("False where True is right", "wrong where True is right")
)
def asked_inverse_and_exactly(f, x, permutation):
    return torch.equal(f(x[permutation])[permutation], f(x))


@BANK.wrong("is_permutation_equivariant", named="an output compared with itself reordered")
def asked_after_x_was_overwritten(f, x, permutation):
    x = x[permutation]
    return torch.allclose(f(x), f(x)[permutation], rtol=1e-4, atol=1e-5)


@BANK.wrong("is_permutation_equivariant", named="an output compared with itself reordered")
def asked_about_one_output(f, x, permutation):
    result = f(x)
    return torch.allclose(result, result[permutation], rtol=1e-4, atol=1e-5)


@BANK.right("is_permutation_equivariant")
def asked_with_an_assertion(f, x, permutation):
    try:
        torch.testing.assert_close(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5)
    except AssertionError:
        return False
    return True


@BANK.wrong("is_permutation_equivariant", named="an answer for each number")
def asked_number_by_number_without_all(f, x, permutation):
    return torch.isclose(f(x[permutation]), f(x)[permutation], rtol=1e-4, atol=1e-5)
