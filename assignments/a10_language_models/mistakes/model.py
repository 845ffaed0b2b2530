"""`CausalLanguageModel` in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch
from torch import nn

from assignments.a10_language_models.rubric import (
    KNOWS,
    LENGTHS,
    LOGITS,
    language_model,
)
from autograder.checks.mistakes import called, costs, variants
from course_utils import language_models, layers
from course_utils.masks import causal_mask
from course_utils.positional import positional_encoding


class Model(language_models.CausalLanguageModel):
    """The right model in steps, each of which a mistake can change."""

    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, dropout=0.1, max_len=128):
        nn.Module.__init__(self)
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.position_embedding = nn.Embedding(max_len, d_model)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(
            self.new_layer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)
        )

    def new_layer(self, d_model, num_heads, d_ff, dropout):
        return layers.TransformerLayer(d_model, num_heads, d_ff, dropout)

    def check(self, token_ids):
        length, max_len = token_ids.shape[1], self.position_embedding.num_embeddings
        if length > max_len:
            raise ValueError(f"a sequence of length {length} is longer than max_len = {max_len}")
        return token_ids

    def words(self, token_ids):
        return self.embedding(token_ids)

    def places(self, token_ids):
        return self.position_embedding(torch.arange(token_ids.shape[1]))

    def enter(self, words, places):
        return self.dropout(words + places)

    def mask(self, token_ids, number):
        return causal_mask(token_ids.shape[1])

    def through(self, x, token_ids):
        for number, layer in enumerate(self.layers):
            x = layer(x, self.mask(token_ids, number))
        return x

    def score(self, x):
        return x @ self.embedding.weight.T

    def forward(self, token_ids):
        token_ids = self.check(token_ids)
        x = self.enter(self.words(token_ids), self.places(token_ids))
        return self.score(self.through(x, token_ids))


@language_model.mistakes_in(Model.mask, costs=KNOWS)
class ModelMask:
    def no_mask(self, token_ids, number):
        """There is no mask, so every word sees the words after it, among them the one that it should
        foretell. Give every layer the causal mask."""
        return

    @called("mask leaks by one")
    def leaks_by_one(self, token_ids, number):
        """A word sees itself, those before it and one word more, the very one that it should
        foretell. In the causal mask of row t the last visible place is t."""
        T = token_ids.shape[1]
        return torch.ones(T, T, dtype=torch.bool).tril(diagonal=1)

    @costs(LOGITS)
    def word_itself_hidden(self, token_ids, number):
        """In your attention a word does not see itself. The causal mask of row t shows the places 0
        to t, and t is one of them, because the task is to foretell word t + 1."""
        T = token_ids.shape[1]
        return torch.ones(T, T, dtype=torch.bool).tril(diagonal=-1)

    def mask_in_the_first_layer_only(self, token_ids, number):
        """Only your first layer is masked. The second one then looks ahead, and one layer that does
        is enough to give every answer away."""
        return causal_mask(token_ids.shape[1]) if number == 0 else None

    def mask_in_the_last_layer_only(self, token_ids, number):
        """Only your last layer is masked. By then every word has already looked ahead in the layers
        before it, so each of them needs the mask."""
        return causal_mask(token_ids.shape[1]) if number == len(self.layers) - 1 else None

    @variants("diagonal", (0, 1))
    def mask_turned_round(self, token_ids, number, diagonal):
        """Your mask shows the future and hides the past. In this course True means that a word may
        attend, and row t shows the places 0 to t."""
        T = token_ids.shape[1]
        return torch.ones(T, T, dtype=torch.bool).triu(diagonal)

    @called("id 0 taken for padding")
    @costs(LOGITS)
    def zero_as_padding(self, token_ids, number):
        """You hide the word with the id 0, as if it were padding. In this model every id is a word:
        padding stands at the end of a row, where no word sees it, and the loss leaves it out."""
        return causal_mask(token_ids.shape[1]) & (token_ids != 0)[:, None, None, :]


@language_model.mistakes_in(Model.words, costs=LOGITS)
class ModelWords:
    @called("embedding times √d_model")
    def times_the_root(self, token_ids):
        """Your numbers are those with the embedding multiplied by √d_model, as in the translator of
        assignment 9. This model adds the plain rows of E and P."""
        return self.embedding(token_ids) * self.embedding.embedding_dim**0.5


@language_model.mistakes_in(Model.places, costs=LOGITS)
class ModelPlaces:
    def no_positions(self, token_ids):
        """Nothing tells your model where a word stands. Add the rows 0 to T − 1 of
        `position_embedding` to the words."""
        return torch.zeros(token_ids.shape[1], self.embedding.embedding_dim)

    def positions_counted_from_1(self, token_ids):
        """Your positions begin with row 1 of `position_embedding`. The first word stands at place 0,
        and with places from 1 the longest sentence would have no row."""
        return self.position_embedding(torch.arange(token_ids.shape[1]) + 1)

    def positions_counted_backwards(self, token_ids):
        """Your positions are counted from the last word back to the first. The first word stands at
        place 0, and has row 0 of `position_embedding`."""
        return self.position_embedding(torch.arange(token_ids.shape[1]).flip(0))

    def sinusoids_for_positions(self, token_ids):
        """Your positions are the sinusoids of lecture 6. This model learns its positions: they are
        the rows of `position_embedding`."""
        return positional_encoding(token_ids.shape[1], self.embedding.embedding_dim)

    def positions_of_the_ids(self, token_ids):
        """You look positions up by the ids of the words. The row of P that belongs to a word is that
        of its place, 0 to T − 1."""
        return self.position_embedding(token_ids)


@language_model.mistakes_in(Model.through, costs=LOGITS)
class ModelThrough:
    def one_layer_repeated(self, x, token_ids):
        """Your numbers are those of one layer that is used `num_layers` times. Each layer has weights
        of its own, so loop over `self.layers` and call each of them once."""
        for number in range(len(self.layers)):
            x = self.layers[0](x, self.mask(token_ids, number))
        return x

    def only_the_last_layer_counts(self, x, token_ids):
        """Every layer is given the sum of word and position, so only the last one counts. Hand the
        result of each layer to the next one."""
        made = x
        for number, layer in enumerate(self.layers):
            made = layer(x, self.mask(token_ids, number))
        return made

    def layers_in_reverse(self, x, token_ids):
        """Your layers run from the last to the first. `layers[0]` reads the words, and each next one
        what the one before it gave."""
        for number, layer in enumerate(reversed(self.layers)):
            x = layer(x, self.mask(token_ids, number))
        return x

    def positions_added_in_every_layer(self, x, token_ids):
        """You add the positions again before every layer. They are added once, to the words."""
        for number, layer in enumerate(self.layers):
            x = layer(x + self.places(token_ids) * (number > 0), self.mask(token_ids, number))
        return x

    def input_added_at_the_end(self, x, token_ids):
        """The sum of words and positions is added once more to what the last layer gives. The layers
        have residual connections of their own, so nothing is left to add."""
        return x + Model.through(self, x, token_ids)

    def layers_before_the_norm(self, x, token_ids):
        """Your numbers are those of pre-LN layers, whose norms stand before the sublayers. The layers
        of this model are those of assignment 8: first the sum, then its norm."""
        for number, layer in enumerate(self.layers):
            normed = layer.layer_norm1(x)
            mask = self.mask(token_ids, number)
            x = x + layer.dropout(layer.self_attn(normed, normed, normed, mask)[0])
            x = x + layer.dropout(layer.feed_forward(layer.layer_norm2(x)))
        return x


@language_model.mistakes_in(Model.score, costs=LOGITS)
class ModelScore:
    def log_softmax_of_the_logits(self, x):
        """Your results are logarithms of probabilities. The model gives raw logits; the loss takes
        the softmax itself, and so does drawing."""
        return Model.score(self, x).log_softmax(dim=-1)

    def softmax_of_the_logits(self, x):
        """Your results are probabilities. The model gives raw logits, since the loss and drawing take
        the softmax themselves."""
        return Model.score(self, x).softmax(dim=-1)

    @variants("power", (0.5, 1.0))
    def logits_divided(self, x, power):
        """Your logits are divided by d_model or by its root. Nothing is scaled here: logits are the
        products of the last layer's vectors with the rows of E."""
        return Model.score(self, x) / x.shape[-1] ** power

    def last_place_only(self, x):
        """You give logits for the last place alone. Every row t has its own logits for word t + 1, and
        all of them are trained at once, so the result has the shape (B, T, vocab_size)."""
        return Model.score(self, x)[:, -1]

    @called("a norm after the last layer")
    def last_norm(self, x):
        """Your numbers are those with one more norm behind the last layer. A post-LN layer ends with a
        norm already, and the text names no further one."""
        return Model.score(self, nn.functional.layer_norm(x, x.shape[-1:]))

    @called("scored by the positions' table")
    def by_the_positions(self, x):
        """You multiply with `position_embedding`, which has a row for each place. Logits are for
        words, so take the rows of `embedding`."""
        return x @ self.position_embedding.weight.T


@language_model.mistakes_in(Model.check, costs=LENGTHS)
class ModelCheck:
    @called("no ValueError beyond max_len")
    def unchecked(self, token_ids):
        """A sequence that is longer than max_len ends in PyTorch's IndexError, which speaks of an
        index out of range and not of the length. Raise a ValueError that names both numbers."""
        return token_ids

    def cut_off_in_silence(self, token_ids):
        """You cut what is longer than max_len off in silence, so that somebody gets fewer rows than
        words. Raise a ValueError that names both numbers."""
        return token_ids[:, : self.position_embedding.num_embeddings]

    @called("max_len itself refused")
    def one_too_strict(self, token_ids):
        """You refuse a sequence of exactly max_len tokens, for which there are places enough: 0 to
        max_len − 1. Only what is longer is an error."""
        if token_ids.shape[1] >= self.position_embedding.num_embeddings:
            raise ValueError("too long")
        return token_ids


@language_model.mistakes_in(Model.enter, costs=LENGTHS)
class ModelEnter:
    @called("no dropout on the sum")
    def undropped(self, words, places):
        """Nothing is dropped from the sum of word and position. In training its numbers pass through
        a dropout before the first layer reads them."""
        return words + places

    @called("dropout on the words alone")
    def words_dropped(self, words, places):
        """You drop numbers of the words, and add the positions afterwards. The dropout acts on the sum
        of both."""
        return self.dropout(words) + places

    @called("words and positions dropped apart")
    def each_dropped(self, words, places):
        """You drop numbers of the words and of the positions before they are added. The dropout acts on
        the sum of both."""
        return self.dropout(words) + self.dropout(places)

    def dropout_in_eval_mode_too(self, words, places):
        """You drop numbers also in eval mode. `nn.Dropout` knows the mode it is in; by hand, ask
        `self.training` first."""
        return nn.functional.dropout(words + places, self.dropout.p, training=True)


@language_model.mistakes_in(Model.new_layer, costs=LENGTHS)
class ModelNewLayer:
    def dropout_not_handed_on(self, d_model, num_heads, d_ff, dropout):
        """Your layers do not know the model's dropout, and work with their own default. Hand it on
        where you make them."""
        return layers.TransformerLayer(d_model, num_heads, d_ff)

    def layers_without_dropout(self, d_model, num_heads, d_ff, dropout):
        """Your layers have no dropout. Hand the model's own on where you make them."""
        return layers.TransformerLayer(d_model, num_heads, d_ff, 0.0)

    @costs(LOGITS)
    @called("d_ff not handed on to the layers")
    @variants("times", (4, 2, 1))
    def layers_of_another_width(self, d_model, num_heads, d_ff, dropout, times):
        """The number of inner features of your feed-forward networks follows from `d_model`. It is the
        argument `d_ff`. Does your model pass it on?"""
        return layers.TransformerLayer(d_model, num_heads, times * d_model, dropout)
