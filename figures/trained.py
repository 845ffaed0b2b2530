"""Numbers of the course's two trained translators, for diagrams that show a real sentence."""

import contextlib
import math

import torch

from course_utils import rnn, transformer
from lecture_kit import data
from lecture_kit.trained import translators

LONGEST = 20  # words that a translation may have here


def alignment(german):
    """How the recurrent translator of lecture 1 translates a sentence, and where it looks.

    Args:
        german: the sentence, a string.

    Returns:
        (words, weights): T English words, and for each the S weights of the German words and <eos>.
    """
    translator = translators.recorded("recurrent")
    source = ids_of(translator.german, german)
    written, weights = rnn.translate(
        translator.model, source, data.BOS_ID, data.EOS_ID, LONGEST
    )  # (1, T + 2), (1, T + 1, S)
    words = translator.english.decode(written[0]).split()
    return words, weights[0, : len(words)].tolist()


def gates(german, place):
    """One step of the GRU that reads a sentence from the left, in the recurrent translator.

    Args:
        german: the sentence, a string.
        place: of the word that is read, counted from 0.

    Returns:
        A dict of lists, one number for each unit: "h", "r", "z", "n" and "h_new", as in lecture 1.
    """
    translator = translators.recorded("recurrent")
    gru = translator.model.encoder
    with torch.no_grad():
        x = translator.model.src_embedding(ids_of(translator.german, german))  # (1, S, E)
        h = gru(x[:, :place])[1][0, 0] if place else torch.zeros(gru.hidden_size)  # (h,)
        from_x = (gru.weight_ih_l0 @ x[0, place] + gru.bias_ih_l0).chunk(3)  # r, z, n: (h,) each
        from_h = (gru.weight_hh_l0 @ h + gru.bias_hh_l0).chunk(3)
        r, z = (torch.sigmoid(from_x[gate] + from_h[gate]) for gate in range(2))
        n = torch.tanh(from_x[2] + r * from_h[2])
    step = {"h": h, "r": r, "z": z, "n": n, "h_new": (1 - z) * n + z * h}
    return {name: vector.tolist() for name, vector in step.items()}


class Translation:
    """The transformer of lecture 8 while it reads a sentence and its own translation of it.

    Attributes:
        german, english: the S and T words, "<eos>" last and "<bos>" first.
        german_ids, english_ids: their ids.
        embedded, memory: (S, D) before the first and behind the last layer of the encoder.
        maps: "encoder", "decoder", "cross" → a (H, queries, keys) tensor for each layer.
    """

    def __init__(self, sentence):
        translator = translators.recorded("transformer")
        self._model, self._words = translator.model, translator.english.words
        source = ids_of(translator.german, sentence)
        target = translator.write(source)[:, :-1]  # (1, T): what the decoder has read at the end
        self.german = [*sentence.split(), "<eos>"]
        self.english = [self._words[k] for k in target[0]]
        self.german_ids, self.english_ids = source[0].tolist(), target[0].tolist()
        with torch.no_grad():
            scaled = math.sqrt(self._model.d_model) * self._model.src_embedding(source)
            self.embedded = self._model.positional_encoding(scaled)[0]
            with fed(self._model.encoder_layers) as self._before_feed_forward:
                memory = self._model.encode(source)  # (1, S, D)
            self._logits = self._model.decode(target, memory, source)[0]  # (T, V)
            maps = transformer.attention_maps(self._model, source, target)
        self.memory = memory[0]
        self.maps = {kind: [layer[0] for layer in layers] for kind, layers in maps.items()}

    def feed_forward(self, layer, place):
        """What the feed-forward network of a layer of the encoder does with one word.

        Args:
            layer: counted from 1.
            place: of the German word, counted from 0.

        Returns:
            (x, hidden, output): D numbers that go in, d_ff after the ReLU, D that come out.
        """
        network = self._model.encoder_layers[layer - 1].feed_forward
        with torch.no_grad():
            x = self._before_feed_forward[layer - 1][place]  # (D,)
            hidden = torch.relu(network.w_1(x))  # (d_ff,)
            return x.tolist(), hidden.tolist(), network.w_2(hidden).tolist()

    def likeliest(self, position, count):
        """The words that are likeliest to follow this position, each with its probability."""
        best = self._logits[position].softmax(dim=-1).topk(count)
        return [
            (self._words[k], p) for k, p in zip(best.indices, best.values.tolist(), strict=True)
        ]


@contextlib.contextmanager
def fed(layers):
    """A list of what goes into the feed-forward network of each layer, (S, D), as they run."""
    inputs = []
    hooks = [
        layer.feed_forward.register_forward_pre_hook(lambda _, given: inputs.append(given[0][0]))
        for layer in layers
    ]
    try:
        yield inputs
    finally:
        for hook in hooks:
            hook.remove()


def ids_of(vocabulary, sentence):
    """The (1, S) ids of a source sentence, <eos> last."""
    return data.collate([data.Pair(sentence, "")], vocabulary, vocabulary).source
