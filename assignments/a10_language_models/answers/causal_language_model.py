"""Answers to `CausalLanguageModel`."""

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a10_language_models.answers.bank import BANK
from assignments.a10_language_models.rubric import KNOWS, LENGTHS, LOGITS, language_model
from assignments.common import slow
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers
from course_utils.attention import MultiHeadAttention
from course_utils.layers import PositionwiseFeedForward, TransformerLayer
from course_utils.masks import causal_mask
from course_utils.positional import positional_encoding


def through(layers, masks, x):
    for layer, mask in zip(layers, masks, strict=True):
        x = layer(x, mask)
    return x


def norm_first(layer, x, mask):
    normed = layer.layer_norm1(x)
    x = x + layer.dropout(layer.self_attn(normed, normed, normed, mask)[0])
    return x + layer.dropout(layer.feed_forward(layer.layer_norm2(x)))


def number_by_number(layer, x, mask):
    network, each_word = layer.feed_forward, slow.each_word
    x = x + layer.dropout(slow.attended(layer.self_attn, x, x, x, mask))
    x = each_word(partial(slow.normed, layer.layer_norm1), x)
    inner = network.dropout(
        each_word(slow.rectified, each_word(partial(slow.mapped, network.w_1), x))
    )
    x = x + layer.dropout(each_word(partial(slow.mapped, network.w_2), inner))
    return each_word(partial(slow.normed, layer.layer_norm2), x)


def all_at_once(layer, x, mask):
    x = x + layer.dropout(slow.attended_at_once(layer.self_attn, x, x, x, mask))
    x = slow.normed_at_once(layer.layer_norm1, x)
    inner = slow.mapped_at_once(layer.feed_forward.w_1, x)
    inner = layer.feed_forward.dropout(inner * (inner > 0))
    x = x + layer.dropout(slow.mapped_at_once(layer.feed_forward.w_2, inner))
    return slow.normed_at_once(layer.layer_norm2, x)


class OwnLayer(nn.Module):
    """A post-LN layer under the names of the course."""

    def __init__(self, d_model, num_heads, d_ff, dropout):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, num_heads)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)
        self.layer_norm1, self.layer_norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask):
        x = self.layer_norm1(x + self.dropout(self.self_attn(x, x, x, mask)[0]))
        return self.layer_norm2(x + self.dropout(self.feed_forward(x)))


class MaskedLayer(TransformerLayer):
    """A layer that makes the mask itself, so that it fits into `nn.Sequential`."""

    def forward(self, x):
        return super().forward(x, causal_mask(x.shape[1]))


ANSWERS = Answers(
    __name__, BANK, language_model,
    """
    class CausalLanguageModel(nn.Module):
        def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, dropout=0.1, max_len=128):
            super().__init__()
            self.max_len = max_len
            self.embedding = nn.Embedding(vocab_size, d_model)
            self.position_embedding = nn.Embedding(max_len, d_model)
            self.dropout = nn.Dropout(dropout)
            layers = [TransformerLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)]
            self.layers = nn.ModuleList(layers)

        def forward(self, token_ids):
            T, allowed = token_ids.shape[1], self.max_len
            if T > allowed:
                raise ValueError(f"a sequence of length {T} is longer than max_len = {self.max_len}")
            mask = causal_mask(T)
            masks = [mask for layer in self.layers]
            words = self.embedding(token_ids)
            places = self.position_embedding(torch.arange(T))
            entered = self.dropout(words + places)  # (B, T, d_model)
            x = through(self.layers, masks, entered)
            return x @ self.embedding.weight.T
    """,
    math=math, partial=partial, torch=torch, F=F, nn=nn, slow=slow, TransformerLayer=TransformerLayer,
    causal_mask=causal_mask, positional_encoding=positional_encoding, through=through,
    norm_first=norm_first, number_by_number=number_by_number, all_at_once=all_at_once, OwnLayer=OwnLayer,
    MaskedLayer=MaskedLayer,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("no mask", "mask = None", KNOWS,
     "There is no mask, so every word sees the words after it, among them the one that it should foretell. Give every "
     "layer the causal mask.")
slip("mask leaks by one", "mask = torch.ones(T, T, dtype=torch.bool).tril(1)", KNOWS,
     "A word sees itself, those before it and one word more, the very one that it should foretell. In the causal mask "
     "of row t the last visible place is t.")
slip("word itself hidden", "mask = torch.ones(T, T, dtype=torch.bool).tril(-1)", LOGITS,
     "In your attention a word does not see itself. The causal mask of row t shows the places 0 to t, and t is one of "
     "them, because the task is to foretell word t + 1.")
slip("mask in the first layer only",
     "masks = [mask if layer is self.layers[0] else None for layer in self.layers]", KNOWS,
     "Only your first layer is masked. The second one then looks ahead, and one layer that does is enough to give "
     "every answer away.")
slip("mask in the last layer only",
     "masks = [mask if layer is self.layers[-1] else None for layer in self.layers]", KNOWS,
     "Only your last layer is masked. By then every word has already looked ahead in the layers before it, so each of "
     "them needs the mask.")
slip("mask turned round", "mask = torch.ones(T, T, dtype=torch.bool).triu({diagonal})", KNOWS,
     "Your mask shows the future and hides the past. In this course True means that a word may attend, and row t shows "
     "the places 0 to t.",
     each={"diagonal": (0, 1)})
slip("id 0 taken for padding", "mask = causal_mask(T) & (token_ids != 0)[:, None, None, :]", LOGITS,
     "You hide the word with the id 0, as if it were padding. In this model every id is a word: padding stands at the "
     "end of a row, where no word sees it, and the loss leaves it out.")
slip("embedding times √d_model", "words = self.embedding(token_ids) * self.embedding.embedding_dim**0.5", LOGITS,
     "Your numbers are those with the embedding multiplied by √d_model, as in the translator of assignment 9. This "
     "model adds the plain rows of E and P.")
slip("no positions", "places = torch.zeros_like(words)", LOGITS,
     "Nothing tells your model where a word stands. Add the rows 0 to T − 1 of `position_embedding` to the words.")
slip("positions counted from 1", "places = self.position_embedding(torch.arange(T) + 1)", LOGITS,
     "Your positions begin with row 1 of `position_embedding`. The first word stands at place 0, and with places from "
     "1 the longest sentence would have no row.")
slip("positions counted backwards", "places = self.position_embedding(torch.arange(T).flip(0))", LOGITS,
     "Your positions are counted from the last word back to the first. The first word stands at place 0, and has row 0 "
     "of `position_embedding`.")
slip("sinusoids for positions", "places = positional_encoding(T, words.shape[-1])", LOGITS,
     "Your positions are the sinusoids of lecture 6. This model learns its positions: they are the rows of "
     "`position_embedding`.")
slip("positions of the ids", "places = self.position_embedding(token_ids)", LOGITS,
     "You look positions up by the ids of the words. The row of P that belongs to a word is that of its place, 0 to T "
     "− 1.")
slip("one layer repeated", "x = through([self.layers[0] for _ in self.layers], masks, entered)", LOGITS,
     "Your numbers are those of one layer that is used `num_layers` times. Each layer has weights of its own, so loop "
     "over `self.layers` and call each of them once.")
slip("only the last layer counts", "x = through(self.layers[-1:], masks[-1:], entered)", LOGITS,
     "Every layer is given the sum of word and position, so only the last one counts. Hand the result of each layer to "
     "the next one.")
slip("layers in reverse", "x = through(self.layers[::-1], masks, entered)", LOGITS,
     "Your layers run from the last to the first. `layers[0]` reads the words, and each next one what the one before "
     "it gave.")
slip("positions added in every layer", """
    further = [lambda x, mask, layer=layer: layer(x + places, mask) for layer in self.layers[1:]]
    x = through([*self.layers[:1], *further], masks, entered)
""", LOGITS,
     "You add the positions again before every layer. They are added once, to the words.")
slip("input added at the end", "x = entered + through(self.layers, masks, entered)", LOGITS,
     "The sum of words and positions is added once more to what the last layer gives. The layers have residual "
     "connections of their own, so nothing is left to add.")
slip("layers before the norm",
     "x = through([partial(norm_first, layer) for layer in self.layers], masks, entered)", LOGITS,
     "Your numbers are those of pre-LN layers, whose norms stand before the sublayers. The layers of this model are "
     "those of assignment 8: first the sum, then its norm.")
slip("log softmax of the logits", "return (x @ self.embedding.weight.T).log_softmax(dim=-1)", LOGITS,
     "Your results are logarithms of probabilities. The model gives raw logits; the loss takes the softmax itself, and "
     "so does drawing.")
slip("softmax of the logits", "return (x @ self.embedding.weight.T).softmax(dim=-1)", LOGITS,
     "Your results are probabilities. The model gives raw logits, since the loss and drawing take the softmax "
     "themselves.")
slip("logits divided", "return x @ self.embedding.weight.T / x.shape[-1] ** {power}", LOGITS,
     "Your logits are divided by d_model or by its root. Nothing is scaled here: logits are the products of the last "
     "layer's vectors with the rows of E.",
     each={"power": (0.5, 1.0)})
slip("last place only", "return (x @ self.embedding.weight.T)[:, -1]", LOGITS,
     "You give logits for the last place alone. Every row t has its own logits for word t + 1, and all of them are "
     "trained at once, so the result has the shape (B, T, vocab_size).")
slip("a norm after the last layer", "return F.layer_norm(x, x.shape[-1:]) @ self.embedding.weight.T", LOGITS,
     "Your numbers are those with one more norm behind the last layer. A post-LN layer ends with a norm already, and "
     "the text names no further one.")
slip("scored by the positions' table", "return x @ self.position_embedding.weight.T", LOGITS,
     "You multiply with `position_embedding`, which has a row for each place. Logits are for words, so take the rows "
     "of `embedding`.")
slip("no ValueError beyond max_len", "T, allowed = token_ids.shape[1], math.inf", LENGTHS,
     "A sequence that is longer than max_len ends in PyTorch's IndexError, which speaks of an index out of range and "
     "not of the length. Raise a ValueError that names both numbers.")
slip("cut off in silence", "token_ids = token_ids[:, : self.max_len]", LENGTHS,
     "You cut what is longer than max_len off in silence, so that somebody gets fewer rows than words. Raise a "
     "ValueError that names both numbers.")
slip("max_len itself refused", "T, allowed = token_ids.shape[1], self.max_len - 1", LENGTHS,
     "You refuse a sequence of exactly max_len tokens, for which there are places enough: 0 to max_len − 1. Only what "
     "is longer is an error.")
slip("no dropout on the sum", "entered = words + places", LENGTHS,
     "Nothing is dropped from the sum of word and position. In training its numbers pass through a dropout before the "
     "first layer reads them.")
slip("dropout on the words alone", "entered = self.dropout(words) + places", LENGTHS,
     "You drop numbers of the words, and add the positions afterwards. The dropout acts on the sum of both.")
slip("words and positions dropped apart", "entered = self.dropout(words) + self.dropout(places)", LENGTHS,
     "You drop numbers of the words and of the positions before they are added. The dropout acts on the sum of both.")
slip("dropout in eval mode too", "entered = F.dropout(words + places, self.dropout.p, training=True)", LENGTHS,
     "You drop numbers also in eval mode. `nn.Dropout` knows the mode it is in; by hand, ask `self.training` first.")
slip("dropout not handed on",
     "layers = [TransformerLayer(d_model, num_heads, d_ff) for _ in range(num_layers)]", LENGTHS,
     "Your layers do not know the model's dropout, and work with their own default. Hand it on where you make them.")
slip("layers without dropout",
     "layers = [TransformerLayer(d_model, num_heads, d_ff, 0.0) for _ in range(num_layers)]", LENGTHS,
     "Your layers have no dropout. Hand the model's own on where you make them.")
slip("d_ff not handed on to the layers",
     "layers = [TransformerLayer(d_model, num_heads, {times} * d_model, dropout) for _ in range(num_layers)]", LOGITS,
     "The number of inner features of your feed-forward networks follows from `d_model`. It is the argument `d_ff`. "
     "Does your model pass it on?",
     each={"times": (4, 2, 1)})

right = ANSWERS.right
right("WithTiedLinear", """
    def __init__(self, vocab_size, d_model, *sizes, **options):
        super().__init__(vocab_size, d_model, *sizes, **options)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.head.weight = self.embedding.weight

    return self.head(x)
""")
right("WithFunctionalLinear", """
    mask = torch.ones(1, 1, T, T, dtype=torch.bool).tril()
    return F.linear(x, self.embedding.weight)
""")
right("WithABuffer", """
    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.register_buffer("seen", torch.ones(self.max_len, self.max_len).tril() == 1)

    mask = self.seen[:T, :T]
    return torch.einsum("btd,vd->btv", x, self.embedding.weight)
""")
right("WithOwnLayers", "layers = [OwnLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)]")
right("InASequential", """
    layers = [MaskedLayer(d_model, num_heads, d_ff, dropout) for _ in range(num_layers)]
    self.layers = nn.Sequential(*layers)
    x = self.layers(entered)
""")
right("WithFunctionalDropout", """
    def __init__(self, vocab_size, d_model, num_heads, num_layers, d_ff, dropout=0.1, max_len=128):
        super().__init__(vocab_size, d_model, num_heads, num_layers, d_ff, dropout, max_len)
        self.rate = dropout
        for table in (self.embedding, self.position_embedding):
            nn.init.normal_(table.weight, std=0.02)

    places = self.position_embedding(torch.arange(T).expand(token_ids.shape))
    entered = F.dropout(places + words, self.rate, self.training)
""")
# one beginning after the other, and of each the last row alone
right("RowByRow", """
    def beginning(self, x):
        return through(self.layers, [causal_mask(x.shape[1])] * len(self.layers), x)

    x = torch.stack([self.beginning(entered[:, :t])[:, -1] for t in range(1, T + 1)], dim=1)
""")
right("WithOneHotIds", """
    table = self.embedding.weight
    words = F.one_hot(token_ids, len(table)).to(table.dtype) @ table
    places = self.position_embedding(torch.arange(T))[None]
""")
right("ModelWithATiedHead", """
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        V, D = self.embedding.weight.shape
        self.head = nn.Linear(D, V, bias=False)
        self.head.weight = self.embedding.weight
        most = self.position_embedding.num_embeddings
        self.register_buffer("places", torch.arange(most), persistent=False)
        self.register_buffer("triangle", torch.ones(most, most, dtype=torch.bool).tril())

    mask = self.triangle[:T, :T]
    places = self.position_embedding(self.places[:T])
    return self.head(x)
""")
right("ModelNumberByNumber", """
    def likely(self, word):
        logits = []
        for row in self.embedding.weight:
            total = word.new_zeros(())
            for one, other in zip(row, word, strict=True):
                total = total + one * other
            logits.append(total)
        return torch.stack(logits)

    E, P = self.embedding.weight, self.position_embedding.weight
    sentences = []
    for sentence in token_ids:
        rows = [[E[id, j] + P[t, j] for j in range(E.shape[1])] for t, id in enumerate(sentence)]
        sentences.append(torch.stack([torch.stack(row) for row in rows]))
    entered = self.dropout(torch.stack(sentences))
    seen = torch.zeros(T, T, dtype=torch.bool)
    for t in range(T):
        for s in range(t + 1):
            seen[t, s] = True
    x = through([partial(number_by_number, layer) for layer in self.layers], [seen] * len(self.layers), entered)
    return slow.each_word(self.likely, x)
""", slow=LOOPS)
right("ModelByBroadcasting", """
    mask = torch.arange(T) <= torch.arange(T).unsqueeze(1)
    E = self.embedding.weight
    words = torch.einsum("btv,vd->btd", (token_ids.unsqueeze(-1) == torch.arange(len(E))).to(E.dtype), E)
    places = self.position_embedding.weight[:T]
    x = through([partial(all_at_once, layer) for layer in self.layers], masks, entered)
    return (x.unsqueeze(-2) * self.embedding.weight).sum(-1)
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("ZeroHasNoVector", "self.embedding = nn.Embedding(vocab_size, d_model, padding_idx=0)",
      told=("wrong gradient", "wrong about gradients"))
wrong("OutputOfItsOwn", """
    def __init__(self, vocab_size, d_model, *sizes, **options):
        super().__init__(vocab_size, d_model, *sizes, **options)
        self.out = nn.Linear(d_model, vocab_size, bias=False)

    return self.out(x)
""")
wrong("HeadCopiedFromTheEmbedding", """
    def __init__(self, vocab_size, d_model, *sizes, **options):
        super().__init__(vocab_size, d_model, *sizes, **options)
        self.lm_head = nn.Linear(d_model, vocab_size, bias=False)
        self.lm_head.weight = nn.Parameter(self.embedding.weight.detach().clone())

    return self.lm_head(x)
""", published=("dhansmair/flamingo-mini#4",
                "The output map gets a copy of the embedding, so that it is learned and stored twice."))
wrong("OutputWithABias", """
    def __init__(self, vocab_size, *sizes, **options):
        super().__init__(vocab_size, *sizes, **options)
        self.out_bias = nn.Parameter(torch.zeros(vocab_size))

    return x @ self.embedding.weight.T + self.out_bias
""", told="wrong about what a new module holds")
wrong("EmbeddingCopiedOnce", """
    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.register_buffer("table", self.embedding.weight.detach().clone())

    return x @ self.table.T
""")
# tied in value; the gradient reaches the table through the input alone
wrong("OutputCutOffFromTheTable", "return x @ self.embedding.weight.detach().T",
      told=("wrong gradient", "wrong about gradients"))
wrong("RemembersTheSum", """
    self.kept = getattr(self, "kept", {})
    entered = self.kept.setdefault(token_ids.shape, self.dropout(words + places))
""", told="some rows right")
wrong("RemembersTheFirstLength", """
    self.length = getattr(self, "length", token_ids.shape[1])
    token_ids = token_ids[:, : self.length]
    self.seen = getattr(self, "seen", causal_mask(T))
    mask = self.seen
""", told=("too short or too long", "wrong after another call"))
wrong("MaskOfAHundredPlaces", "mask = causal_mask(100)[..., :T, :T]", told="stops with ValueError")
# a longer sentence than 129 would ask too much of loops over single numbers
wrong("ModelWithAMaskOfAFixedSize", "mask = torch.ones(128, 128, dtype=torch.bool).tril()[:T, :T]",
      told="stops with ValueError")
wrong("ThreeHeadsAlways", "num_heads = 3", told="right in part")
wrong("OtherNames", """
    self.token_embedding = nn.Embedding(vocab_size, d_model)
    self.embedding = None
    words = self.token_embedding(token_ids)
    return x @ self.token_embedding.weight.T
""", told="weights with other names")
wrong("OneMaskForAllSentences", """
    added = words + places
    entered = added * self.dropout(torch.ones_like(added[:1]))
""", told="wrong in train mode with dropout")
careless(ANSWERS, in_float32=("another dtype", "wrong about gradients"), turned_in_place=None,
         one_shape="another number of axes")
# fmt: on
