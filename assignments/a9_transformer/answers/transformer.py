"""Answers to `Transformer`."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a9_transformer.answers.bank import BANK
from assignments.a9_transformer.answers.decoder_layer import AT_ONCE, LOOPED, slowly
from assignments.a9_transformer.rubric import (
    DECODES,
    ENCODES,
    MODEL_DROPS,
    TOGETHER,
    encoder_decoder,
)
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers
from course_utils import masks
from course_utils.layers import DecoderLayer, TransformerLayer
from course_utils.positional import PositionalEncoding, positional_encoding

ON_TOP = (
    "You normalise once more after the last layer{}. These layers are post-LN, so each of them ends with a norm "
    "already."
)


def through(blocks, x, *others):
    """What comes out of a stack of layers."""
    for block in blocks:
        x = block(x, *others)
    return x


class OwnPositions(nn.Module):
    """Sinusoids, computed at each call in the dtype of the words."""

    def __init__(self, p, max_len):
        super().__init__()
        self.p, self.max_len = p, max_len

    def forward(self, x):
        length, width = x.shape[1:]
        if length > self.max_len:
            raise ValueError(f"{length} > {self.max_len}")
        columns = torch.arange(width)
        rates = 10000 ** (-(columns - columns % 2).to(x.dtype) / width)
        angles = torch.arange(length, dtype=x.dtype).unsqueeze(1) * rates
        table = torch.where(columns % 2 == 0, angles.sin(), angles.cos())
        return F.dropout(x + table, self.p, self.training)


class ScaledEmbedding(nn.Embedding):
    def forward(self, ids):
        return super().forward(ids) * self.embedding_dim**0.5


def placed_by_numbers(positions, table, ids):
    """Words times √d_model plus their positions, number by number."""
    if ids.shape[1] > len(positions.pe):
        raise ValueError(f"{ids.shape[1]} words are more than {len(positions.pe)}")
    d_model = table.embedding_dim
    sentences = []
    for sentence in ids:
        words = []
        for t in range(len(sentence)):
            word = []
            for j in range(d_model):
                angle = t / 10000 ** ((j - j % 2) / d_model)
                place = math.sin(angle) if j % 2 == 0 else math.cos(angle)
                word.append(table.weight[sentence[t], j] * d_model**0.5 + place)
            words.append(torch.stack(word))
        sentences.append(torch.stack(words))
    return positions.dropout(torch.stack(sentences))


def placed_at_once(positions, table, ids):
    """The same by the products of all words with all rows of the table."""
    if ids.shape[1] > len(positions.pe):
        raise ValueError(f"{ids.shape[1]} words are more than {len(positions.pe)}")
    d_model = table.embedding_dim
    chosen = (ids.unsqueeze(-1) == torch.arange(table.num_embeddings)).to(table.weight.dtype)
    words = torch.einsum("btv,vd->btd", chosen, table.weight) * d_model**0.5
    places = torch.arange(ids.shape[1], dtype=torch.float64).unsqueeze(1)
    j = torch.arange(d_model)
    angles = places / 10000 ** ((j - j % 2) / d_model)
    return positions.dropout(words + torch.where(j % 2 == 0, angles.sin(), angles.cos()).to(words))


[layer_by_einsum] = [given.code for given in BANK.answers if given.code.__name__ == "LayerByEinsum"]
ANSWERS = Answers(
    __name__, BANK, encoder_decoder,
    """
    class Transformer(nn.Module):
        def __init__(
            self, src_vocab, tgt_vocab, d_model, num_heads, num_layers, d_ff, dropout=0.1, max_len=128, pad_id=0
        ):
            super().__init__()
            self.pad_id = pad_id
            self.scale = math.sqrt(d_model)
            self.src_embedding = nn.Embedding(src_vocab, d_model)
            self.tgt_embedding = nn.Embedding(tgt_vocab, d_model)
            self.positional_encoding = PositionalEncoding(d_model, dropout, max_len)
            sizes = d_model, num_heads, d_ff, dropout
            self.encoder_layers = nn.ModuleList([TransformerLayer(*sizes) for _ in range(num_layers)])
            self.decoder_layers = nn.ModuleList([DecoderLayer(*sizes) for _ in range(num_layers)])
            self.generator = nn.Linear(d_model, tgt_vocab)

        def forward(self, src, tgt):
            return self.decode(tgt, self.encode(src), src)

        def encode(self, src):
            read = self.src_embedding(src) * self.scale  # (B, S, D)
            x = self.positional_encoding(read)
            seen = masks.padding_mask(src, self.pad_id)  # (B, 1, 1, S)
            encoded = through(self.encoder_layers, x, seen)
            return encoded

        def decode(self, tgt, memory, src):
            written = self.tgt_embedding(tgt) * self.scale  # (B, T, D)
            y = self.positional_encoding(written)
            self_mask = masks.decoder_mask(tgt, self.pad_id)  # (B, 1, T, T)
            memory_mask = masks.padding_mask(src, self.pad_id)  # (B, 1, 1, S)
            decoded = through(self.decoder_layers, y, memory, self_mask, memory_mask)
            logits = self.generator(decoded)  # (B, T, tgt_vocab)
            return logits
    """,
    math=math, torch=torch, nn=nn, F=F, masks=masks, through=through, PositionalEncoding=PositionalEncoding,
    positional_encoding=positional_encoding, TransformerLayer=TransformerLayer, DecoderLayer=DecoderLayer,
    layer_by_einsum=layer_by_einsum, OwnPositions=OwnPositions, ScaledEmbedding=ScaledEmbedding,
    slowly=slowly, LOOPED=LOOPED, AT_ONCE=AT_ONCE, placed_by_numbers=placed_by_numbers, placed_at_once=placed_at_once,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("the future leaks", "self_mask = masks.padding_mask(tgt, self.pad_id)", DECODES,
     "Logits of earlier positions change with later target words, so your decoder sees the future. In training it "
     "would copy the next word instead of learning to predict it. Which mask of lecture 4 belongs on the decoder's "
     "self-attention?")
slip("the next word leaks", "self_mask = torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).tril(1)", DECODES,
     "Each target position sees one word too many, which is exactly the one it has to predict. `tgt` is already "
     "shifted, so position t may see positions 0 to t.")
slip("target padding taken to be 0", "self_mask = masks.decoder_mask(tgt, 0)", DECODES,
     "In your decoder's self-attention the id 0 is hidden, whatever `pad_id` is. The target's mask should be made with "
     "`self.pad_id`, too.")
slip("a position does not see itself",
     "self_mask = torch.ones(tgt.shape[1], tgt.shape[1], dtype=torch.bool).tril(-1)", DECODES,
     "Each target position sees only those before it. `tgt` is already shifted, so position t may also see itself.")
slip("memory mask missing", "memory_mask = None", DECODES,
     "Your decoder attends to padding of the source. Why does `decode` receive `src` in addition to the memory?")
slip("source mask missing in the encoder", "seen = None", ENCODES,
     "Your encoder attends to padding, so a sentence gets a different memory in a longer batch. Which mask does "
     "`TransformerLayer` need?")
slip("causal mask in the encoder", "seen = masks.decoder_mask(src, self.pad_id)", ENCODES,
     "Your encoder hides what comes later in the source. The source is known as a whole, so each word may see all real "
     "words. Where does a causal mask belong?")
slip("source padding never hidden", "seen = None; memory_mask = None", DECODES,
     "Padding of the source is never hidden, neither in the encoder nor in cross-attention. Which mask do both need?")
slip("pad_id taken to be 0", "self.pad_id = 0", TOGETHER,
     "Your masks hide the id 0, whatever `pad_id` is. They should get `self.pad_id`.")
slip("one layer repeated", """
    self.encoder_layers = nn.ModuleList([TransformerLayer(*sizes)] * num_layers)
    self.decoder_layers = nn.ModuleList([DecoderLayer(*sizes)] * num_layers)
""", TOGETHER,
     "All layers of your stack share their weights, because `[layer] * n` contains the same layer n times. How do you "
     "make a new one for each place?",
     published=("linkedin/Liger-Kernel#269", "A list times n contains the same layer n times."))
slip("generator and target embedding share their weights", """
    generator = nn.Linear(d_model, tgt_vocab)
    generator.weight = self.tgt_embedding.weight
    self.generator = generator
""", DECODES,
     "Your `generator` has the weights of `tgt_embedding`. The paper shares them, but here both are set by their "
     "names, so each needs weights of its own.")
slip("generator without bias", "self.generator = nn.Linear(d_model, tgt_vocab, bias=False)", DECODES,
     "The text asks for a `generator` with a bias, as `nn.Linear` makes it. Yours has none.")
slip("d_ff not handed on to the layers", "d_ff = {times} * d_model", TOGETHER,
     "The number of inner features of your feed-forward networks follows from `d_model`. It is the argument `d_ff`. "
     "Does your model pass it on?",
     each={"times": (4, 2, 1)})
slip("num_layers not used", "num_layers = {number}", TOGETHER,
     "Your encoder and your decoder have a fixed number of layers. It is the argument `num_layers`.",
     each={"number": (6, 2, 1)})
slip("dropout taken and not kept", "dropout = 0.1", MODEL_DROPS,
     "Whatever `dropout` is, your model drops a tenth. What becomes of the argument?")
slip("dropout not handed on to the layers", "sizes = d_model, num_heads, d_ff", MODEL_DROPS,
     "`dropout` acts on the sum of word and position, but your layers drop a tenth, whatever it is. Each layer takes "
     "the probability as an argument.")
slip("argument max_len not kept", "max_len = 128", TOGETHER,
     "Whatever `max_len` is, your model reads up to 128 words. Which part of it has to know the limit?")
slip("no dropout on words plus positions", "self.positional_encoding = PositionalEncoding(d_model, 0.0, max_len)",
     MODEL_DROPS,
     "In train mode, the sum of word and position reaches the first layer without dropout. `PositionalEncoding` takes "
     "a dropout as an argument. Does your model pass it on?")
slip("embeddings not scaled", "self.scale = 1.0", ENCODES,
     "Your word vectors are used as they are in the table. Which factor does the text put before them, so that the "
     "positions do not drown them?")
slip("target embeddings not scaled", "written = self.tgt_embedding(tgt)", DECODES,
     "Source words are scaled, but target words are not. Both sides need the same factor.")
slip("embeddings divided", "self.scale = 1 / math.sqrt(d_model)", ENCODES,
     "Your word vectors are divided by √d_model. A division by a root belongs to attention scores. What does the text "
     "do with embeddings?")
slip("positions scaled with the words", """
    x = self.positional_encoding(self.src_embedding(src)) * self.scale
    y = self.positional_encoding(self.tgt_embedding(tgt)) * self.scale
""", ENCODES,
     "The factor √d_model multiplies your positions as well, although it belongs to the words alone. In which order "
     "does the text scale and add?")
slip("positions missing",
     "x = self.positional_encoding.dropout(read); y = self.positional_encoding.dropout(written)", ENCODES,
     "Your model cannot tell the order of the words, because nothing adds positions.")
slip("target words from the source's table", "written = self.src_embedding(tgt) * self.scale", DECODES,
     "Target words are looked up in `src_embedding`, but each language should have its own table.")
slip("source embeddings not scaled", "read = self.src_embedding(src)", ENCODES,
     "Target words are scaled, but source words are not. Both sides need the same factor.")
slip("embeddings multiplied by d_model", "self.scale = d_model", ENCODES,
     "Your word vectors are multiplied by d_model. The text multiplies them by its root.")
slip("target positions missing", "y = self.positional_encoding.dropout(written)", DECODES,
     "Positions are added to source words, but not to target words. Both sides begin in the same way.")
slip("source positions missing", "x = self.positional_encoding.dropout(read)", ENCODES,
     "Positions are added to target words, but not to source words. Both sides begin in the same way.")
slip("dropout on the words before positions are added", """
    x = self.positional_encoding.dropout(read) + self.positional_encoding.pe[: src.shape[1]]
    y = self.positional_encoding.dropout(written) + self.positional_encoding.pe[: tgt.shape[1]]
""", MODEL_DROPS,
     "In train mode you drop numbers of the words before their positions are added. Dropout should act on the sum.")
slip("softmax before the loss", "logits = self.generator(decoded).softmax(dim=-1)", DECODES,
     "Your results are probabilities. `nn.CrossEntropyLoss` takes the softmax itself, and a second one flattens its "
     "gradients. Return the generator's raw logits.",
     published=("bowang-lab/Transformer-GCN-QA#32", "A softmax comes before the loss, which has one of its own."))
slip("log-softmax before the loss", "logits = self.generator(decoded).log_softmax(dim=-1)", DECODES,
     "Your results are log-probabilities. This model should return the generator's raw logits, because the loss does "
     "the rest.")
slip("generator missing", "logits = decoded", DECODES,
     "Your decoder gives d_model numbers for each position. The generator should turn them into one score for each "
     "target word.")
slip("only the last position returned", "logits = self.generator(decoded)[:, -1]", DECODES,
     "You return the logits of the last position alone. Training needs all T of them, and greedy decoding picks the "
     "last one itself.")
slip("dropout before the generator", "logits = self.generator(self.positional_encoding.dropout(decoded))",
     MODEL_DROPS,
     "In train mode you drop numbers of the decoder's result before the generator reads it. The text has dropout on "
     "the sum of word and position and inside the layers, and nowhere else.")
slip("a norm on top of the decoder", "logits = self.generator(F.layer_norm(decoded, y.shape[2:]))", DECODES,
     ON_TOP.format(" of the decoder"))
slip("last target token cut off", "tgt = tgt[:, :-1]", DECODES,
     "Your logits are one position short. `tgt` comes already shifted, so each of its positions gets logits.")
slip("causal mask on the memory", """
    past = torch.ones(tgt.shape[1], src.shape[1], dtype=torch.bool).tril()
    memory_mask = past & masks.padding_mask(src, self.pad_id)
""", DECODES,
     "In cross-attention your target words see no source words beyond their own position. The source is known as a "
     "whole. Which mask belongs to the memory?")
slip("every layer reads the embeddings", """
    encoded = through(self.encoder_layers{of_encoder}, x, seen)
    decoded = through(self.decoder_layers{of_decoder}, y, memory, self_mask, memory_mask)
""", TOGETHER,
     "Each of your layers starts again from the embeddings, so only the last one counts. Each should read the output "
     "of the one before.",
     each={"of_encoder": ("[-1:]", "", "[-1:]"), "of_decoder": ("[-1:]", "[-1:]", "")})
slip("a norm on top", """
    encoded = F.layer_norm(through(self.encoder_layers, x, seen), x.shape[2:])
    decoded = F.layer_norm(through(self.decoder_layers, y, memory, self_mask, memory_mask), y.shape[2:])
""", ENCODES, ON_TOP.format(""))
slip("a residual connection around each layer", """
    for block in self.encoder_layers:
        x = x + block(x, seen)
    encoded = x
    for block in self.decoder_layers:
        y = y + block(y, memory, self_mask, memory_mask)
    decoded = y
""", ENCODES,
     "You add what entered a layer to what comes out of it. Layers have residual connections inside, but there are "
     "none around them.")
slip("last layer left out", """
    encoded = through(self.encoder_layers[:-1], x, seen)
    decoded = through(self.decoder_layers[:-1], y, memory, self_mask, memory_mask)
""", TOGETHER,
     "Your words do not pass through all layers of the stack. Where does the loop over them begin and end?")
slip("a norm on top of the encoder", "encoded = F.layer_norm(through(self.encoder_layers, x, seen), x.shape[2:])",
     ENCODES, ON_TOP.format(" of the encoder"))
slip("source and target exchanged in forward", """
    def forward(self, src, tgt):
        return super().forward(tgt, src)
""", TOGETHER,
     "`forward` uses the source as the target. In which order do its arguments come, and which does `decode` take "
     "first?")
slip("each decoder layer reads the encoder layer of its number", """
    def forward(self, src, tgt):
        x = self.positional_encoding(self.src_embedding(src) * self.scale)
        y = self.positional_encoding(self.tgt_embedding(tgt) * self.scale)
        real = masks.padding_mask(src, self.pad_id)
        for encoder, decoder in zip(self.encoder_layers, self.decoder_layers, strict=True):
            x = encoder(x, real)
            y = decoder(y, x, masks.decoder_mask(tgt, self.pad_id), real)
        return self.generator(y)
""", TOGETHER,
     "In `forward`, your first decoder layer reads what the first encoder layer gives, and so on. All decoder layers "
     "should read the memory, which comes out of the last one.")

right = ANSWERS.right
right("ModelWithACausalMaskAlone", """
    self.src_embedding = nn.Embedding(src_vocab, d_model, padding_idx=pad_id)
    self.tgt_embedding = nn.Embedding(tgt_vocab, d_model, padding_idx=pad_id)
    seen = (src != self.pad_id)[:, None, None]
    memory_mask = (src != self.pad_id)[:, None, None]
    self_mask = masks.causal_mask(tgt.shape[1])  # padding is at the end, so no real word sees it
""")
right("ModelThatAlsoMasksTheRowsOfPads", """
    real = src != self.pad_id
    seen = (real[:, :, None] & real[:, None, :]).unsqueeze(1)  # (B, 1, S, S)
    encoded = through(self.encoder_layers, x, seen).masked_fill(~real.unsqueeze(-1), 0.0)
    real = tgt != self.pad_id
    self_mask = masks.decoder_mask(tgt, self.pad_id) & real[:, None, :, None]
    memory_mask = (real[:, :, None] & (src != self.pad_id)[:, None, :]).unsqueeze(1)
""")
right("ModelWithItsOwnPositions", "self.positional_encoding = OwnPositions(dropout, max_len)")
# one method for both sides, and a mask made by PyTorch's helper
right("ModelWithATrianglesOfInfinities", """
    def run(self, ids, embedding, stack, *others):
        x = embedding(ids)
        x = self.positional_encoding(x * x.new_tensor(self.scale**2).sqrt())
        for block in stack:
            x = block(x, *others)
        return x

    def visible(self, ids):
        return ids.ne(self.pad_id).unsqueeze(1).unsqueeze(2)

    encoded = self.run(src, self.src_embedding, self.encoder_layers, self.visible(src))
    triangle = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1]) == 0
    others = memory, triangle & self.visible(tgt), self.visible(src)
    decoded = self.run(tgt, self.tgt_embedding, self.decoder_layers, *others)
""")
right("ModelThatChecksItsLengths", """
    def start(self, ids, embedding):
        if ids.size(1) > self.max_len:
            raise ValueError("too long")
        x = embedding(ids) * math.sqrt(embedding.embedding_dim)
        pe = self.positional_encoding.pe[:, : ids.size(1)].to(x.dtype)
        return self.positional_encoding.dropout(x + pe)

    self.max_len = max_len
    positions = nn.Module()
    positions.dropout = nn.Dropout(dropout)
    positions.register_buffer("pe", positional_encoding(max_len, d_model).unsqueeze(0))
    self.positional_encoding = positions
    x = self.start(src, self.src_embedding)
    for i in range(len(self.encoder_layers)):
        x = self.encoder_layers[i](x, seen)
    encoded = x
    y = self.start(tgt, self.tgt_embedding)
    for i in range(len(self.decoder_layers)):
        y = self.decoder_layers[i](y, memory, self_mask=self_mask, memory_mask=memory_mask)
    decoded = y
    logits = F.linear(decoded, self.generator.weight, self.generator.bias)
""")
right("ModelByEinsum", "self.decoder_layers = nn.ModuleList(layer_by_einsum(*sizes) for _ in range(num_layers))")
right("ModelWithAFrozenTableOfSinusoids", """
    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)
        table = self.positional_encoding._buffers.pop("pe")
        self.positional_encoding.pe = nn.Parameter(table, requires_grad=False)
""")
right("ModelThatKeepsItsPaddingInABuffer", """
    self.register_buffer("pad_id", None)
    self.pad_id = torch.tensor(pad_id)
    self.register_buffer("scale", None)
    self.scale = torch.sqrt(torch.FloatTensor([d_model]))
    seen = src.ne(self.pad_id)[:, None, None]
    places = torch.arange(tgt.size(1), device=tgt.device)
    self_mask = (places <= places[:, None]) & tgt.ne(self.pad_id)[:, None, None]
    memory_mask = src.ne(self.pad_id)[:, None, None]
""")
right("ModelWithScaledTables", """
    self.src_embedding = ScaledEmbedding(src_vocab, d_model)
    self.tgt_embedding = ScaledEmbedding(tgt_vocab, d_model)
    self.scale = 1
""")
right("ModelNumberByNumber", """
    def real(self, ids):
        return torch.tensor([[[[word != self.pad_id for word in sentence]]] for sentence in ids.tolist()])

    x = placed_by_numbers(self.positional_encoding, self.src_embedding, src)
    for layer in self.encoder_layers:
        x = slowly(layer, x, self.real(src), **LOOPED)
    encoded = x
    y = placed_by_numbers(self.positional_encoding, self.tgt_embedding, tgt)
    before = torch.zeros(len(tgt), 1, tgt.shape[1], tgt.shape[1], dtype=torch.bool)
    for t in range(tgt.shape[1]):
        before[:, 0, t, : t + 1] = self.real(tgt)[:, 0, 0, : t + 1]
    for layer in self.decoder_layers:
        y = slowly(layer, y, before, memory, self.real(src), **LOOPED)
    logits = LOOPED["mapped"](self.generator, y)
""", slow=LOOPS)
right("ModelByBroadcasting", """
    x = placed_at_once(self.positional_encoding, self.src_embedding, src)
    for layer in self.encoder_layers:
        x = slowly(layer, x, (src != self.pad_id)[:, None, None], **AT_ONCE)
    encoded = x
    y = placed_at_once(self.positional_encoding, self.tgt_embedding, tgt)
    places = torch.arange(tgt.shape[1])
    before = (tgt != self.pad_id)[:, None, None] & (places <= places.unsqueeze(1))
    for layer in self.decoder_layers:
        y = slowly(layer, y, before, memory, (src != self.pad_id)[:, None, None], **AT_ONCE)
    logits = AT_ONCE["mapped"](self.generator, y)
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("ModelOfLayersThatAllReadTheEmbeddings", "encoded = through(self.encoder_layers[-1:], x, seen)",
      named="every layer reads the embeddings",
      published=("Atcold/NYU-DLSP20#270", "Each encoder layer gets the embeddings, so only the last one counts."))
wrong("ModelWithALayerLessFromThreeOn", """
    depth = num_layers - (num_layers >= 3)
    self.encoder_layers = nn.ModuleList([TransformerLayer(*sizes) for _ in range(depth)])
""", told="weights with other names",
      published=("LukasHedegaard/continual-inference#70",
                 "With three layers or more, the encoder has one too few."))
wrong("ModelThatIsCausalOnlyBesidePadding",
      "self_mask = masks.decoder_mask(tgt, self.pad_id) if (tgt == self.pad_id).any() else None",
      named="the future leaks",
      published=("facebookresearch/xformers#103",
                 "The causal mask is joined to the padding mask, and skipped where there is none."))
wrong("ModelWithTheTargetsPaddingOverTheMemory", """
    self.src_embedding = nn.Embedding(src_vocab, d_model, padding_idx=pad_id)
    self_mask = masks.causal_mask(tgt.shape[1])
    memory_mask = (tgt != self.pad_id)[:, None, :, None]
""", named="memory mask missing",
      published=("keras-team/keras-io#1046", "Cross-attention gets the target's mask, spread over the queries."))
wrong("ModelThatDropsTwice", """
    read = F.dropout(self.src_embedding(src), 0.1, self.training) * self.scale
    written = F.dropout(self.tgt_embedding(tgt), 0.1, self.training) * self.scale
""", published=("EdinburghNLP/nematus#106", "Embeddings are dropped twice."))
wrong("ModelWithLayersInAPythonList", """
    self.encoder_layers = [TransformerLayer(*sizes) for _ in range(num_layers)]
    self.decoder_layers = [DecoderLayer(*sizes) for _ in range(num_layers)]
""", told=("weights with other names", "wrong for larger num_layers"))
wrong("ModelWithoutDropoutUnlessAskedFor", """
    def __init__(self, *sizes, dropout=0.0, **keywords):
        super().__init__(*sizes, dropout=dropout, **keywords)
""", told="wrong in train mode with dropout")
wrong("ModelWithSourcesAndTargetsExchanged", "tgt, src = src, tgt", told="stops with IndexError")
wrong("ModelThatShiftsOnceMore", "tgt = masks.shift_right(tgt, 1)")
wrong("ModelScaledByTheNumberOfHeads", "self.scale = math.sqrt(3)")
wrong("ModelWithPositionsOfTheBatch", """
    x = self.positional_encoding(read.transpose(0, 1)).transpose(0, 1)
    y = self.positional_encoding(written.transpose(0, 1)).transpose(0, 1)
""", told="some rows right")
wrong("ModelForOneLayer", "encoded = self.encoder_layers[0](x, seen)", told="stops with IndexError")
wrong("ModelThatAssertsItsLengths", """
    assert src.shape[1] <= len(self.positional_encoding.pe), "too long"
    x = self.positional_encoding(self.src_embedding(src) * self.scale)
    assert tgt.shape[1] <= len(self.positional_encoding.pe), "too long"
    y = self.positional_encoding(self.tgt_embedding(tgt) * self.scale)
""", told="wrong where an error is asked for")
wrong("ModelWithADetachedMemory", "encoded = through(self.encoder_layers, x, seen).detach()",
      told=("no gradient", "wrong about gradients"))
wrong("ModelThatReturnsItsMemoryToo", """
    def forward(self, src, tgt):
        memory = self.encode(src)
        return self.decode(tgt, memory, src), memory
""", told=("more results than asked", "wrong with `forward`"))
wrong("ModelWithOneTableForBoth", """
    self.src_embedding = nn.Embedding(max(src_vocab, tgt_vocab), d_model)
    self.tgt_embedding = self.src_embedding
""", told="weights of another shape")
wrong("ModelThatRefusesASourceOfMaxLen", """
    if src.shape[1] >= len(self.positional_encoding.pe):
        raise ValueError("the source is too long")
    read = self.src_embedding(src) * self.scale
""", told="stops with ValueError")
wrong("ModelWithAnotherDefaultPadding", """
    def __init__(self, *sizes, dropout=0.1, max_len=128, pad_id=1):
        super().__init__(*sizes, dropout, max_len, pad_id)
""", told=("right in part", "wrong with several sentences"))
wrong("ModelWithOneTableForVocabulariesOfOneSize", """
    table = nn.Embedding(tgt_vocab, d_model)
    self.tgt_embedding = self.src_embedding if src_vocab == tgt_vocab else table
""")
wrong("ModelThatDropsOfTheMemory", "memory = self.positional_encoding.dropout(memory)",
      told="wrong in train mode with dropout")
# a longer sentence than 260 would ask too much of loops over single numbers
wrong("ModelWithAMaskOfAFixedSize", """
    triangle = torch.ones(256, 256, dtype=torch.bool).tril()
    self_mask = triangle[: tgt.shape[1], : tgt.shape[1]]
""", told="stops with ValueError")
wrong("ModelThatGivesWords", "return logits.argmax(-1)", told="another number of axes")
wrong("EncodesOnce", """
    def encode(self, src):
        memory = super().encode(src)
        if not hasattr(self, "memory") or self.memory.shape != memory.shape:
            self.memory = memory
        return self.memory
""", told=("some rows right", "wrong after another call"))
wrong("PaddingOfTheFirstSource", """
    if not hasattr(self, "src") or self.src.shape != src.shape:
        self.src = src
    src = self.src
""", told="wrong after another call")
wrong("LogitsInFloat32", "return logits.float().to(logits.dtype)", told="rounded")
wrong("IdsBelow256", "read = self.src_embedding(src % 256) * self.scale", told="right in part")
wrong("SixLayersAtMost", "encoded = through(self.encoder_layers[:6], x, seen)")
wrong("SourceOfTheLastEncode", """
    self.src = src
    encoded = through(self.encoder_layers, x, seen)
    src = getattr(self, "src", src)
""", told=("some rows right", "wrong after another call"))
wrong("MemoryOfTheLastEncode", """
    self.memory = through(self.encoder_layers, x, seen)
    encoded = self.memory
    memory = getattr(self, "memory", memory)
""", told="wrong after another call")
careless(
    ANSWERS,
    a_hundred_words=None,  # of the source, which is no longer where there are layers
    one_sentence=("right in part", "wrong with `forward`"), printed=("nothing comes back", "wrong with `forward`"),
    scaled_in_place=("stops with RuntimeError", "wrong with `forward`"), zeros=("all the same", "wrong with `forward`"),
    one_shape=("another number of axes", "wrong with `forward`"),
)
