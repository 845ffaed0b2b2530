"""course_utils.masks against slow loops and small examples written out."""

import pytest
import torch
from torch import nn

from course_utils import masks

B, T = 2, 5
TOKEN_IDS = torch.tensor([[7, 8, 9, 3, 0], [4, 0, 6, 0, 0]])  # the second has a pad in its middle


@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_causal_mask_shows_the_past_and_the_present(size):
    mask = masks.causal_mask(size)
    assert mask.dtype == torch.bool
    assert mask.shape == (size, size)
    assert mask.tolist() == [[j <= i for j in range(size)] for i in range(size)]


def test_causal_mask_is_the_one_pytorch_builds():
    additive = nn.Transformer.generate_square_subsequent_mask(T)  # 0 = see, -inf = hide
    assert torch.equal(masks.causal_mask(T), additive == 0)


def test_padding_mask_is_true_at_words_wherever_they_stand():
    mask = masks.padding_mask(TOKEN_IDS)
    assert mask.dtype == torch.bool
    assert mask.shape == (B, 1, 1, T)
    assert mask[:, 0, 0].tolist() == [[True] * 4 + [False], [True, False, True, False, False]]


def test_the_pad_id_can_be_chosen():
    mask = masks.padding_mask(TOKEN_IDS, pad_id=9)
    assert (~mask).nonzero().tolist() == [[0, 0, 0, 2]]
    mask = masks.decoder_mask(TOKEN_IDS, pad_id=9)
    assert not mask[0, 0, :, 2].any()
    assert mask[1, 0].tolist() == masks.causal_mask(T).tolist()


def test_decoder_mask_hides_the_future_and_padding():
    mask = masks.decoder_mask(TOKEN_IDS)
    assert mask.dtype == torch.bool
    assert mask.shape == (B, 1, T, T)
    for b in range(B):
        for i in range(T):
            for j in range(T):
                assert mask[b, 0, i, j] == (j <= i and TOKEN_IDS[b, j] != 0), (b, i, j)


def test_shift_right_puts_each_word_one_place_later():
    shifted = masks.shift_right(TOKEN_IDS, bos_id=1)
    assert shifted.dtype == torch.int64
    assert shifted.tolist() == [[1, 7, 8, 9, 3], [1, 4, 0, 6, 0]]
    assert masks.shift_right(torch.tensor([[7]]), bos_id=2).tolist() == [[2]]


def test_masks_and_shift_take_any_strides_and_leave_their_input_alone():
    token_ids = TOKEN_IDS.T.contiguous().T
    before = token_ids.clone()
    shifted = masks.shift_right(token_ids, bos_id=1)
    shifted.fill_(99)
    masks.padding_mask(token_ids).fill_(False)
    masks.decoder_mask(token_ids).fill_(False)
    assert torch.equal(token_ids, before)


@pytest.mark.parametrize(
    "function",
    [masks.padding_mask, masks.decoder_mask, lambda ids: masks.shift_right(ids, bos_id=1)],
    ids=["padding_mask", "decoder_mask", "shift_right"],
)
def test_ids_without_a_batch_axis_are_refused(function):
    with pytest.raises(ValueError, match=r"two axes.*\(5,\).*unsqueeze"):
        function(TOKEN_IDS[0])
