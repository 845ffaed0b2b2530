"""course_utils.evaluation: a model is left as it was found."""

import pytest
import torch
from torch import nn

from course_utils.evaluation import evaluating


def mixed_model():
    model = nn.Sequential(nn.Linear(3, 3), nn.Sequential(nn.Dropout(), nn.ReLU()))
    model[1][0].eval()
    return model


def test_every_module_gets_its_own_mode_back():
    model = mixed_model()
    before = [module.training for module in model.modules()]
    with evaluating(model) as same:
        assert same is model
        assert not any(module.training for module in model.modules())
        assert not model(torch.randn(2, 3)).requires_grad
    assert (
        [module.training for module in model.modules()] == before == [True, True, True, False, True]
    )
    assert torch.is_grad_enabled()


def test_modes_come_back_after_an_error():
    model = mixed_model()
    with pytest.raises(RuntimeError, match="shapes"), evaluating(model):
        model(torch.zeros(2, 4))
    assert model.training
    assert not model[1][0].training
    assert torch.is_grad_enabled()
