"""Answers to `BahdanauAttention`."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from assignments.a1_rnn_attention.answers.bank import BANK
from assignments.a1_rnn_attention.rubric import (
    CONTEXT,
    MASK,
    NOTHING_VISIBLE,
    SHARES,
    WEIGHTS_EXACT,
    bahdanau,
)
from autograder.bank.answers import LOOPS, PRODUCTS
from autograder.bank.careless import careless
from autograder.bank.edits import Answers
from course_utils import attention

SOFTMAX_OF_HIDDEN = (
    "Your numbers match a softmax over the entries of the hidden layer. These are features. There is one softmax here, "
    "over the scores of the words of a sentence."
)
NO_AXIS = (
    "W s is (B, attention_dim) and U h is (B, S, attention_dim). Broadcasting compares axes from the right, so your B "
    "is compared with S, which stops with an error or silently mixes sentences. Which axis has to be put between the "
    "two of W s?"
)
OVER_SENTENCES = (
    "Your weights sum to one over the sentences of the batch, so sentences compete with each other. Which axis of "
    "(B, S) holds the words of one sentence?"
)
LEFT_OVER = (
    "The numbers are right, but an axis of length 1 is left over. The context is (B, encoder_dim) and the weights are "
    "(B, S). Which axis did you need only on the way?"
)
SQUEEZED = (
    "All is right until there is a single sentence, or a single word. `squeeze()` takes away every axis of length 1. "
    "Can you name the one that you mean?"
)
SHARE_KEPT = (
    "Hidden weights are zero, but the visible ones no longer sum to one, because hidden words took part in the softmax "
    "and kept their share. At which step must they drop out?"
)


def filled(scores, mask, low=-math.inf):
    """The scores with a number in the place of hidden ones."""
    return scores if mask is None else scores.masked_fill(~mask, low)


def shown(weights, mask):
    """The weights with 0 for hidden ones."""
    return weights if mask is None else weights * mask


ANSWERS = Answers(
    __name__, BANK, bahdanau,
    """
    class BahdanauAttention(nn.Module):
        def __init__(self, decoder_dim, encoder_dim, attention_dim):
            super().__init__()
            self.W = nn.Linear(decoder_dim, attention_dim, bias=False)
            self.U = nn.Linear(encoder_dim, attention_dim, bias=False)
            self.v = nn.Linear(attention_dim, 1, bias=False)

        def forward(self, state, annotations, mask=None):
            own = self.W(state).unsqueeze(1)  # (B, 1, attention_dim)
            words = self.U(annotations)  # (B, S, attention_dim)
            hidden = torch.tanh(own + words)
            scores = self.v(hidden).squeeze(-1)  # (B, S)
            weights = attention.masked_softmax(scores, mask)  # (B, S)
            context = torch.einsum("bs,bsd->bd", weights, annotations)
            return context, weights
    """,
    math=math, torch=torch, F=F, nn=nn, attention=attention, filled=filled, shown=shown,
)  # fmt: skip

# fmt: off
slip = ANSWERS.slip
slip("no tanh", "hidden = own + words", WEIGHTS_EXACT,
     "Your numbers match a score without tanh. Then v(W s) is added to the score of every word, and what does a "
     "softmax do with a number that all scores share? The state has no say.",
     published=("AuCson/PyTorch-Batch-Attention-Seq2seq#3", "There is no tanh between the two maps and v."))
slip("relu instead of tanh", "hidden = torch.relu(own + words)", WEIGHTS_EXACT,
     "Your numbers match relu in place of tanh. The formula has a tanh.")
slip("sigmoid instead of tanh", "hidden = torch.sigmoid(own + words)", WEIGHTS_EXACT,
     "Your numbers match a sigmoid in place of tanh. The formula has a tanh.")
slip("another function than tanh", "hidden = {other}(own + words)", WEIGHTS_EXACT,
     "Your numbers match another function in place of tanh. The formula has a tanh.",
     each={"other": ("F.gelu", "F.silu", "F.softplus", "F.elu", "F.leaky_relu", "F.softsign", "torch.sin",
                     "torch.atan")})
slip("difference instead of sum", "hidden = torch.tanh(own - words)", WEIGHTS_EXACT,
     "You subtract W s and U h_j from each other. The formula adds them, and then takes tanh.")
slip("product instead of sum", "hidden = {product}", WEIGHTS_EXACT,
     "You multiply W s and U h_j entry by entry. The formula adds them, and then takes tanh.",
     each={"product": ("torch.tanh(own * words)", "own * words")})
slip("state left out", "hidden = torch.tanh(words)", WEIGHTS_EXACT,
     "Your weights depend on the annotations alone, so every step of the decoder would look at the same words. Does W "
     "s enter, and before the tanh? (What is added to all scores of a sentence alike, the softmax does not see.)")
slip("annotations left out", "hidden = torch.tanh(own.expand_as(words))", (SHARES, WEIGHTS_EXACT),
     "All words of a sentence get the same score, so every weight is 1/S and the context is the plain mean. Where "
     "does U h_j enter?",
     published=("pytorch/tutorials#130", "The weights are computed from the decoder's side alone."))
slip("softmax over the features", "hidden = torch.tanh(own + words).softmax(dim=-1)", (SHARES, WEIGHTS_EXACT),
     SOFTMAX_OF_HIDDEN)
slip("tanh of the score, too", "scores = self.v(hidden).squeeze(-1).tanh()", WEIGHTS_EXACT,
     "You take tanh twice, of the hidden layer, and of the score that v makes of it. The formula has the first alone.")
slip("tanh of the score", "scores = self.v(own + words).squeeze(-1).tanh()", WEIGHTS_EXACT,
     "You take tanh last, of the finished score. In the formula it comes between the sum and v. Which brackets come "
     "right after it?")
slip("dot-product score", "scores = ({products}).sum(dim=-1)", WEIGHTS_EXACT,
     "Your score is a dot product. Here a small network compares the two. W and U bring state and annotation to one "
     "width, they are added, and v makes a number of what tanh leaves.",
     each={"products": ("own * words", "own * words / math.sqrt(self.W.out_features)", "own.tanh() * words.tanh()",
                        "state.unsqueeze(1) * annotations")})
slip("scores negated", "scores = -self.v(hidden).squeeze(-1)", (SHARES, WEIGHTS_EXACT),
     "The better a word fits, the less weight it gets, so your scores have the wrong sign. Is there a minus in front "
     "of a score, or inside the exponential?")
slip("v left out", "scores = hidden.sum(dim=-1)", WEIGHTS_EXACT,
     "You add up the entries of the hidden layer as they are. v says how much each of them counts.")
slip("scores scaled", "scores = self.v(hidden).squeeze(-1) / {width}", WEIGHTS_EXACT,
     "Your numbers match scores divided by a width or its root, such as √attention_dim. That scale belongs to dot "
     "products (lecture 3); the formula here has none.",
     each={"width": ("math.sqrt(self.W.out_features)", "math.sqrt(self.W.in_features)",
                     "math.sqrt(self.U.in_features)", "self.W.out_features")})
slip("states averaged over the batch", "state = state.mean(dim=0, keepdim=True)", WEIGHTS_EXACT,
     "All sentences are compared with one state, the mean over the batch. Each sentence has a decoder state of its "
     "own, row b of `state`.")
slip("W and U swapped", "own = self.U(state).unsqueeze(1); words = self.W(annotations)", WEIGHTS_EXACT,
     "Your `forward` gives the annotations to W and the state to U. It is the other way round, because W belongs to "
     "the state. Where both have the same width, nothing stops you.")
slip("states of other sentences", """
    B, S, _ = annotations.shape
    own = self.W(state).{copies}
""", WEIGHTS_EXACT,
     "Words are compared with the states of other sentences. Is there a `repeat`, and then a `view`? `repeat(S, 1)` "
     "gives the sentences in the order 0, 1, 0, 1, and `view(B, S, …)` cuts it as if it were 0, 0, 1, 1. No copies "
     "are needed. With `state.unsqueeze(1)`, the axis of length 1 fits all words of its own sentence.",
     each={"copies": ("repeat(S, 1).view(B, S, -1)", "repeat_interleave(S, 0).view(S, B, -1).transpose(0, 1)")})
slip("state without an axis for the words", "own = self.W(state)", WEIGHTS_EXACT, NO_AXIS)
# unlike einsum, `bmm` insists on as many weights as there are words
slip("state without an axis for the words",
     "own = self.W(state); context = torch.bmm(weights.unsqueeze(1), annotations).squeeze(1)", WEIGHTS_EXACT, NO_AXIS)
slip("W and U swapped", """
    decoder_dim, encoder_dim = encoder_dim, decoder_dim
    own = self.U(state).unsqueeze(1)
    words = self.W(annotations)
""", WEIGHTS_EXACT,
     "Your W maps the annotations and your U the state. It should be the other way round, because W belongs to the "
     "state.")
slip("decoder_dim and encoder_dim swapped", "decoder_dim, encoder_dim = encoder_dim, decoder_dim", WEIGHTS_EXACT,
     "Your constructor takes the width of the annotations first. The order is decoder_dim, encoder_dim, "
     "attention_dim.")
slip("v a bare parameter", "self.v = nn.Parameter(torch.zeros(attention_dim))", (),
     "Your v is a parameter by itself. Make it a layer like W and U, so that its weights have the name `v.weight`. "
     "From which width to which?",
     costs_more="no weights fit in")
slip("no layers W, U and v", """
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        nn.Module.__init__(self)
        self.layers = [nn.Linear(decoder_dim, attention_dim, bias=False)]
""", (),
     "A new module has none of the weights `W.weight`, `U.weight`, `v.weight`. Make each an `nn.Linear` in "
     "`__init__`, directly as the attribute of this name. Layers made in `forward` or kept in a plain list are "
     "neither trained nor saved; bare parameters and layers inside an `nn.Sequential` have other names.",
     costs_more="no weights fit in")
slip("softmax over the batch", "weights = filled(scores, mask, {low}).softmax(dim=0)", WEIGHTS_EXACT, OVER_SENTENCES,
     each={"low": ("-math.inf", "-1e9")},
     published=("PetrochukM/PyTorch-NLP#2", "The softmax runs over axis 0, the sentences."))
slip("softmax over the batch", "weights = filled(scores, mask).flatten().softmax(dim=0).reshape(scores.shape)",
     (SHARES, WEIGHTS_EXACT),
     "Your weights sum to one over all words of all sentences together. Each sentence shares out an attention of its "
     "own. Which axis of (B, S) holds its words?")
slip("softmax over the batch", "weights = filled(filled(scores, mask, -1e9).softmax(dim=0), mask, 0.0)",
     (SHARES, WEIGHTS_EXACT), OVER_SENTENCES)
# the last axis of scores (B, S, 1) has length 1
slip("softmax over the features", "weights = {ones}", (SHARES, WEIGHTS_EXACT),
     "Your softmax does not run over the words. Which axis of your scores holds the words of a sentence, and which "
     "sum should be one?",
     each={"ones": ("torch.ones_like(scores)", "shown(torch.ones_like(scores), mask)")},
     published=("DEEP-PolyU/KEQA_WSDM19#2", "The softmax runs over an axis of length 1, so every weight is 1."))
slip("softmax over the features", "weights = filled(scores, mask).unsqueeze(-1).softmax(dim=-1).squeeze(-1)",
     (SHARES, WEIGHTS_EXACT, NOTHING_VISIBLE),
     "Your softmax does not run over the words, but along an axis of length 1, in which a score of minus infinity is "
     "all there is, and 0 / 0 is NaN. Which axis of your scores holds the words of a sentence, and what should come "
     "out where all of them are hidden?",
     costs_more="two slips: the axis, and NaN where nothing is visible")
slip("softmax taken twice", "weights = attention.masked_softmax(attention.masked_softmax(scores, mask), mask)",
     WEIGHTS_EXACT,
     "Your weights match a softmax of a softmax, which brings them closer together. Once is enough.")
slip("no softmax", "weights = shown(scores, mask)", (SHARES, WEIGHTS_EXACT),
     "Your weights are the scores themselves, some of which are negative, and they do not sum to one. What makes "
     "weights of scores?")
slip("exp without the division", "weights = shown(scores.exp(), mask)", (SHARES, WEIGHTS_EXACT),
     "Your weights match exp of the scores. They are positive, but do they sum to one?")
slip("the sum loses its axis", "powers = shown(scores.exp(), mask); weights = powers / powers.sum(dim=-1)",
     (SHARES, WEIGHTS_EXACT),
     "You divide by a sum that has lost its axis, (B), so B is compared with the S words. That stops with an error, "
     "or divides a word by the sum of another sentence. Which argument of `sum` keeps the axis, with length 1?")
slip("sigmoid instead of softmax", "weights = shown(scores.sigmoid(), mask)", (SHARES, WEIGHTS_EXACT),
     "Each of your weights looks at its own score alone, as a sigmoid does, so a sentence's weights do not sum to "
     "one. What makes words compete?")
slip("all weight on the best word",
     "weights = F.one_hot(filled(scores, mask).argmax(dim=-1), scores.shape[-1]).to(scores.dtype)",
     (SHARES, WEIGHTS_EXACT),
     "One word gets the weight 1 and all others 0, as after an `argmax`. Every visible word gets some weight here; "
     "and through a choice of the largest no gradient reaches the scores.")
slip("mask ignored", "weights = scores.softmax(dim=-1)", (MASK, NOTHING_VISIBLE),
     "Without a mask all is right; with one, the same comes out as without. Where does the mask enter?",
     published=("tensorflow/tensorflow#43941", "The mask is not used, so padding gets attention."))
slip("mask inverted", "weights = attention.masked_softmax(scores, None if mask is None else ~mask)",
     (MASK, NOTHING_VISIBLE),
     "You hide what the mask allows. In this course, True says that a word may be attended to.")
slip("mask inverted", "weights = shown(attention.masked_softmax(scores, None if mask is None else ~mask), mask)",
     (MASK, NOTHING_VISIBLE),
     "Before the softmax you hide what the mask allows, and after it the rest, so nothing is left. In this course, "
     "True says that a word may be attended to.")
slip("hidden scores set to 0", "weights = shown(scores, mask).softmax(dim=-1)", (MASK, NOTHING_VISIBLE),
     "A hidden score became 0, and exp(0) = 1 is a weight like any other. Which score has the weight 0?",
     published=("georg-wolflein/good-features#1", "Hidden scores become 0, which is a score like any other."))
slip("hidden scores set to 0 before and weights after",
     "weights = shown(shown(scores, mask).softmax(dim=-1), mask)", MASK,
     "Hidden weights are 0, but the visible ones no longer sum to one. A hidden score of 0 took part in the softmax, "
     "where exp(0) = 1 is added to the sum like any other, and the share that this gave it is lost afterwards. With "
     "which score does it add 0?")
slip("hidden scores set to 0 before and weights after",
     "weights = filled(shown(scores, mask).softmax(dim=-1), mask, 1e-9)", (MASK, NOTHING_VISIBLE),
     "Hidden weights are tiny and not 0, and the visible ones no longer sum to one. A hidden score of 0 took part in "
     "the softmax, where exp(0) = 1 is added to the sum like any other. With which score does it add 0, so that its "
     "weight is exactly 0?")
slip("mask added as numbers", "weights = (scores if mask is None else scores + mask).softmax(dim=-1)",
     (MASK, NOTHING_VISIBLE),
     "You add the mask to the scores, so that True counts as 1 and False as 0. A hidden score must be minus infinity; "
     "the others stay as they are.")
slip("the first sentence's mask for all",
     "weights = attention.masked_softmax(scores, None if mask is None else mask[:1].expand_as(mask))",
     (MASK, NOTHING_VISIBLE),
     "Every sentence is hidden as the first one is. Row b of the mask belongs to sentence b.")
slip("mask applied after the softmax, then divided again", """
    left = shown(scores.softmax(dim=-1), mask)
    weights = left if mask is None else left / (left.sum(dim=-1, keepdim=True) + 1e-9)
""", MASK,
     "You hide words after the softmax and then divide what is left by its sum. A hidden word with a large score has "
     "taken nearly all of the one by then, so what is left may be as small as the number that you add to the sum, or "
     "lose its digits. At which step must hidden words drop out?")
slip("softmax over the features",
     "hidden = torch.tanh(own + words).softmax(dim=-1); weights = shown(scores, mask)", (SHARES, WEIGHTS_EXACT),
     SOFTMAX_OF_HIDDEN)
# the gradient of log 0 is infinite, and goes on only where hidden weights come of a product
slip("logarithms of the weights", "return context, {seen}.log()", WEIGHTS_EXACT,
     "What you return are the logarithms of the weights. Is there a `log` too much, as in `log_softmax`?",
     each={"seen": ("weights", "weights.masked_fill(weights == 0, 0.0)")})
slip("results in the wrong order", "return weights, context", WEIGHTS_EXACT,
     "You return the weights first. The order is (context, weights).")
slip("context returned without the weights", "return context", WEIGHTS_EXACT,
     "The context is right, but it comes alone. Return the pair (context, weights).")
slip("every axis of length 1 squeezed", "return context.squeeze(), weights{squeezed}", (), SQUEEZED,
     each={"squeezed": ("", ".squeeze()")})
slip("axis of length 1 left over", "return context, weights.unsqueeze({axis})", WEIGHTS_EXACT, LEFT_OVER,
     each={"axis": (-1, 1)})
slip("axis of length 1 left over", "return context.unsqueeze(1), weights", CONTEXT, LEFT_OVER)
slip("axis of length 1 left over", "return context.unsqueeze(1), weights.unsqueeze({axis})", (CONTEXT, WEIGHTS_EXACT),
     LEFT_OVER,
     each={"axis": (1, -1)})
slip("only the first sentence used", """
    def forward(self, state, annotations, mask=None):
        first = super().forward(state[:1], annotations[:1], None if mask is None else mask[:1])
        return tuple(item.expand(len(state), -1) for item in first)
""", (WEIGHTS_EXACT, CONTEXT),
     "Every sentence of the batch gets the result of the first. Is there an index 0, or a shape without its first "
     "axis, on the way?")
UNMASKED = 'context = torch.einsum("bs,bsd->bd", scores.softmax(dim=-1), annotations)'
slip("mask in the weights alone", UNMASKED, NOTHING_VISIBLE,
     "Your weights know the mask, but your context does not, so hidden words are in the sum. Which weights does your "
     "context use?")
slip("scores returned for weights", "return context, {scores}", (SHARES, WEIGHTS_EXACT),
     "The context is right, but what comes with it are the scores before the softmax. Return the weights.",
     each={"scores": ("scores", "filled(scores, mask)")})
LATE = "weights = shown(scores.softmax(dim=-1), mask)"
slip("mask applied after the softmax", LATE, MASK, SHARE_KEPT)
slip("mask applied after the softmax", f"{LATE}; {UNMASKED}", MASK, SHARE_KEPT)
slip("mask applied after the softmax", """
    weights = scores.softmax(dim=-1)
    context = torch.einsum("bs,bsd->bd", shown(weights, mask), annotations)
""", MASK,
     "The context leaves the hidden words out, but they took part in the softmax and kept their weights. At which "
     "step must they drop out?")
slip("context sums without weights", "context = ({summed}).sum(dim=1)", CONTEXT,
     "The weights are right, but your context adds up the annotations as they are. How much of each annotation "
     "belongs into the sum?",
     each={"summed": ("annotations", "(weights != 0).unsqueeze(-1) * annotations")})
slip("context is the plain mean", "context = annotations.mean(dim=1)", CONTEXT,
     "The weights are right, but your context is the plain mean of the annotations, in which every word counts the "
     "same. Where do the weights enter?")
slip("context from the scores", 'context = torch.einsum("bs,bsd->bd", scores, annotations)', CONTEXT,
     "The weights are right, but your context multiplies the annotations by the scores from before the softmax.")
slip("context of the projected annotations", 'context = torch.einsum("bs,bsd->bd", weights, self.U(annotations))',
     CONTEXT,
     "Your context is a sum of U h_j, with the width attention_dim. U serves the score alone; what is averaged are "
     "the annotations themselves.")
slip("context not summed", "context = weights.unsqueeze(-1) * annotations", CONTEXT,
     "Every annotation is multiplied by its weight, but they still stand one by one, (B, S, encoder_dim). What "
     "remains is the sum over the words.")
slip("context divided by the number of words", "context = (weights.unsqueeze(-1) * annotations).mean(dim=1)", CONTEXT,
     "Your context is the weighted sum divided by the number of words. The weights sum to one already. Is there a "
     "`mean` where a `sum` should be?")
slip("the {which} word left out of the context",
     'context = torch.einsum("bs,bsd->bd", weights[:, {words}], annotations[:, {words}])', CONTEXT,
     "The weights are right, but your context adds up all words without the {which} one. Which words does your loop "
     "go through? `range(S)` counts from 0 to S − 1.",
     each={"words": ("1:", ":-1"), "which": ("first", "last")})
slip("the last word alone in the context", "context = weights[:, -1:] * annotations[:, -1]", CONTEXT,
     "The weights are right, but your context is the last annotation times its weight. If a loop should add up, is "
     "there a `=` in it where `+=` belongs?")
slip("context summed over the sentences", "context = (weights.unsqueeze(-1) * annotations).sum(dim=0)", CONTEXT,
     "Your context is (S, encoder_dim), because it adds up sentences. What should be added up are the words of each "
     "sentence. Which axis of (B, S, encoder_dim) is that?")
slip("context summed over the features", "context = (weights.unsqueeze(-1) * annotations).sum(dim=-1)", CONTEXT,
     "Your context is (B, S), because it adds up the entries of each annotation. What should be added up are the "
     "words of each sentence. Which axis of (B, S, encoder_dim) is that?")
slip("every sentence's weights on every sentence", "context = weights @ annotations", CONTEXT,
     "Your context is (B, B, encoder_dim), because `weights @ annotations` takes the weights as one matrix and "
     "multiplies it with every sentence. Which axis must the weights get first, so that each row meets its own "
     "sentence?")
slip("context is the best word alone",
     "context = annotations[torch.arange(len(weights)), weights.argmax(dim=-1)]", CONTEXT,
     "Your context is the annotation with the largest weight. All of them count, each with its weight; and through a "
     "choice of the largest no gradient would reach the scores.")
slip("every axis of length 1 squeezed", "scores = self.v(hidden).squeeze(); context = {context}", (), SQUEEZED,
     each={"context": ("torch.bmm(weights.unsqueeze(1), annotations).squeeze(1)",
                       "(weights.unsqueeze(-1) * annotations).sum(dim=1)")})

right = ANSWERS.right
right("InMatrices", """
    weights = filled(F.softmax(filled(scores, mask), dim=1), mask, 0)
    context = (weights[..., None] * annotations).sum(dim=1)
""")
right("InEinsum", """
    own = torch.einsum("bd,ad->ba", state, self.W.weight).unsqueeze(1)
    words = torch.einsum("bse,ae->bsa", annotations, self.U.weight)
    scores = torch.einsum("bsa,a->bs", hidden, self.v.weight[0])
""")
right("InLoops", """
    batch, length, width = annotations.shape
    contexts, all_weights = [], []
    for b in range(batch):
        visible = [j for j in range(length) if mask is None or mask[b, j]]
        of_words = {j: self.v(torch.tanh(self.W(state[b]) + self.U(annotations[b, j])))[0] for j in visible}
        total = sum(torch.exp(score) for score in of_words.values())
        zero = annotations.new_zeros(())
        shares = [torch.exp(of_words[j]) / total if j in of_words else zero for j in range(length)]
        collected = annotations.new_zeros(width)
        for j in visible:
            collected = collected + shares[j] * annotations[b, j]
        contexts.append(collected)
        all_weights.append(torch.stack(shares))
    nothing = 0 * scores  # so that a batch without a visible word still has a gradient, of zero
    return torch.stack(contexts) + nothing[:, :1], torch.stack(all_weights) + nothing
""")
right("WithItsOwnSoftmax", """
    powers = shown(torch.exp(scores), mask)
    total = powers.sum(dim=1, keepdim=True)
    weights = powers / torch.where(total == 0, 1, total)
""")
right("WithOneColumn", """
    seen = torch.ones(annotations.shape[:2], dtype=torch.bool) if mask is None else mask
    column = filled(self.v(hidden), seen.unsqueeze(-1))  # (B, S, 1)
    column = filled(column.softmax(dim=1), seen.unsqueeze(-1), 0.0)
    return torch.bmm(column.transpose(1, 2), annotations).squeeze(1), column.squeeze(2)
""")
right("WithAWholeRowOfStates", """
    states = state.unsqueeze(1).expand(-1, annotations.size(1), -1)  # (B, S, decoder_dim)
    both = torch.cat([self.W.weight, self.U.weight], dim=1)
    hidden = torch.tanh(F.linear(torch.cat([states, annotations], dim=-1), both))
    scores = F.linear(hidden, self.v.weight).squeeze(-1)
""")
right("WithALargeNumberAndAProduct", """
    weights = shown(torch.softmax(scores if mask is None else torch.where(mask, scores, -1e9), -1), mask)
""")
right("WithNanToNum", "weights = torch.nan_to_num(filled(scores, mask).softmax(dim=-1))")
# hidden words lose their share after the softmax, and the rest is divided by its sum
right("WithNormalisedRest", """
    left = shown(scores.softmax(dim=-1), mask)
    weights = left / left.sum(dim=-1, keepdim=True).clamp(min=1e-30)
""")
right("WithMoreArguments", """
    def __init__(self, decoder_dim, encoder_dim, attention_dim, dropout=0.0):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("calls", torch.zeros(1))
        for layer in (self.W, self.U, self.v):
            nn.init.xavier_uniform_(layer.weight)

    weights = self.dropout(attention.masked_softmax(scores, mask))
""")
# words stand in columns, and the results come in a list
right("WithColumnsOfWords", """
    columns = annotations.permute(0, 2, 1)  # (B, encoder_dim, S)
    hidden = torch.tanh(self.W(state).unsqueeze(2) + self.U.weight @ columns)
    scores = (self.v.weight @ hidden).squeeze(1)
    return [(annotations.permute(0, 2, 1) @ weights.unsqueeze(2)).squeeze(2), weights]
""")
right("SentenceBySentence", """
    results = []
    for b, sentence in enumerate(annotations):
        of_words = self.v(torch.tanh(self.W(state[b]) + self.U(sentence))).squeeze(-1)  # (S,)
        shares = attention.masked_softmax(of_words, None if mask is None else mask[b])
        results.append((shares @ sentence, shares))
    contexts, all_weights = zip(*results, strict=True)
    return torch.stack(contexts), torch.stack(all_weights)
""")
# only visible scores exist, in one row for the whole batch
right("WithSegments", """
    seen = torch.full_like(scores, True, dtype=torch.bool) if mask is None else mask
    sentence = seen.nonzero()[:, 0]
    powers = scores[seen].exp()
    sums = scores.new_zeros(len(scores)).index_add(0, sentence, powers)
    weights = torch.zeros_like(scores).masked_scatter(seen, powers / sums[sentence])
""")
# one more place, which takes all the weight where nothing is visible
right("WithAnEmptyPlace", """
    seen = torch.full_like(scores, True, dtype=torch.bool) if mask is None else mask
    place = torch.where(seen.any(dim=-1, keepdim=True), -torch.inf, 0.0).to(scores.dtype)
    weights = torch.cat([filled(scores, mask), place], dim=-1).softmax(dim=-1)[:, :-1]
""")
right("WithVmap", """
    def forward(self, state, annotations, mask=None):
        def one_sentence(state, words, visible):
            hidden = torch.tanh(self.W.weight @ state + words @ self.U.weight.T)  # (S, A)
            scores = torch.where(visible, hidden @ self.v.weight[0], -1e30)
            weights = scores.softmax(dim=0) * visible
            return weights @ words, weights

        seen = torch.ones(annotations.shape[:2], dtype=torch.bool) if mask is None else mask
        return torch.vmap(one_sentence)(state, annotations, seen)
""")
# by PyTorch's own attention, to which the scores are added as a mask
right("ScoresAsABias", """
    nothing = torch.zeros_like(annotations)
    bias = filled(scores, mask, -1e30).unsqueeze(1)
    context = F.scaled_dot_product_attention(nothing[:, :1], nothing, annotations, attn_mask=bias).squeeze(1)
    return context if mask is None else context * mask.any(dim=-1, keepdim=True), weights
""")
right("InBaddbmm", """
    hidden = torch.tanh(self.U(annotations).add(self.W(state).unsqueeze(-2)))
    row = self.v(hidden).transpose(1, 2)  # (B, 1, S)
    if mask is not None:
        row = torch.where(mask[:, None], row, torch.full_like(row, -torch.inf))
    row = torch.softmax(row, dim=-1)
    if mask is not None:
        row = torch.where(mask[:, None], row, torch.zeros_like(row))
    return (row @ annotations)[:, 0], row[:, 0]
""")
# W and U side by side are one map of state and annotation side by side
right("WithRepeatAndConcatenation", """
    repeated = state.unsqueeze(1).repeat(1, annotations.size(1), 1)
    joined = torch.cat([self.W.weight, self.U.weight], dim=1)
    hidden = torch.tanh(F.linear(torch.cat([repeated, annotations], dim=2), joined))
    scores = F.linear(hidden, self.v.weight).flatten(1)
""")
right("WithScoresFilledInAList", """
    query = self.W(state)
    columns = [self.v((query + self.U(annotations[:, j])).tanh()) for j in range(annotations.shape[1])]
    scores = torch.cat(columns, dim=1)
    context = torch.stack([w @ sentence for w, sentence in zip(weights, annotations, strict=True)])
""")
right("WithExpAndMaskedSum", """
    powers = torch.exp(scores)
    if mask is not None:
        powers = powers * mask
    total = powers.sum(dim=1, keepdim=True)
    weights = powers / torch.where(total == 0, torch.ones_like(total), total)
""")
right("WithBiasSetToFalseLater", """
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        nn.Module.__init__(self)
        self.v = nn.Linear(attention_dim, 1, bias=False)
        self.U = nn.Linear(in_features=encoder_dim, out_features=attention_dim, bias=False)
        self.W = nn.Linear(in_features=decoder_dim, out_features=attention_dim, bias=False)
        self.attention_dim = attention_dim
""")
right("WithItsScoreInAFunction", """
    def scored(self, v, state, keys):
        return torch.tanh(state.unsqueeze(1) + keys).matmul(v.t()).squeeze(-1)

    scores = self.scored(self.v.weight, self.W(state), self.U(annotations))
    low = torch.finfo(scores.dtype).min
    weights = shown((scores if mask is None else torch.where(mask, scores, low)).softmax(dim=1), mask)
""")
right("WithItsScoreInAModule", """
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        nn.Module.__init__(self)
        sizes = {"W": (decoder_dim, attention_dim), "U": (encoder_dim, attention_dim)}
        for name, (inputs, outputs) in {**sizes, "v": (attention_dim, 1)}.items():
            setattr(self, name, nn.Linear(inputs, outputs, bias=False))
        self.score = nn.Sequential(nn.Tanh(), self.v, nn.Flatten(start_dim=-2))

    scores = self.score(own + words)
    seen = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    open_rows = seen | ~seen.any(dim=1, keepdim=True)
    weights = scores.masked_fill(~open_rows, -torch.inf).softmax(dim=1) * seen
    context = torch.matmul(weights.unsqueeze(1), annotations).squeeze(1)
""")
right("NumberByNumber", """
    B, S, encoder_dim = annotations.shape
    W, U, v = self.W.weight, self.U.weight, self.v.weight
    contexts, all_weights = [], []
    for b in range(B):
        powers = []
        for j in range(S):
            if mask is not None and not mask[b, j]:
                powers.append(0 * annotations[b, j, 0])
                continue
            score = 0.0
            for a in range(W.shape[0]):
                total = 0.0
                for d in range(W.shape[1]):
                    total = total + W[a, d] * state[b, d]
                for e in range(U.shape[1]):
                    total = total + U[a, e] * annotations[b, j, e]
                score = score + v[0, a] * torch.tanh(total)
            powers.append(torch.exp(score))
        whole = sum(powers)
        shares = [power / whole if whole > 0 else power for power in powers]
        collected = []
        for e in range(encoder_dim):
            total = 0.0
            for j in range(S):
                total = total + shares[j] * annotations[b, j, e]
            collected.append(total)
        contexts.append(torch.stack(collected))
        all_weights.append(torch.stack(shares))
    return torch.stack(contexts), torch.stack(all_weights)
""", slow=LOOPS)
right("InProductsOfAllWithAll", """
    own = (state[:, None] * self.W.weight).sum(-1)[:, None]  # (B, A, D) before the sum
    words = (annotations[:, :, None] * self.U.weight).sum(-1)  # (B, S, A, E) before the sum
    scores = (self.v.weight * hidden).sum(-1)
    eye = torch.eye(annotations.shape[-1]).to(weights)
    context = torch.einsum("bs,bse,ef->bf", weights, annotations, eye)
""", slow=PRODUCTS)

wrong = ANSWERS.wrong
wrong("SoftmaxInsideAndReluOutside", "hidden = F.softmax(own + words, dim=2); weights = shown(F.relu(scores), mask)",
      named="softmax over the features",
      published=("keon/seq2seq#15", "A softmax stands where tanh belongs, and a ReLU where the softmax belongs."))
wrong("NoMaskForOneSentence", "mask = mask if len(state) > 1 else None", named="mask ignored")
wrong("MaskInEvalModeOnly", "mask = None if self.training else mask", named="mask ignored")
wrong("StateOutsideTheBrackets", "hidden = own + words.tanh()", named="state left out")
wrong("TanhOfEachByItself", "hidden = own.tanh() + words.tanh()", named="state left out")
wrong("EvenWidthsOnly", """
    even = self.U.out_features // 2 * 2
    scores = (hidden[..., :even] @ self.v.weight[0, :even].unsqueeze(-1)).squeeze(-1)
""", named="annotations left out")
wrong("RestDividedWithAClamp", """
    left = shown(scores.softmax(dim=-1), mask)
    weights = left if mask is None else left / left.sum(dim=-1, keepdim=True).clamp(min=1e-6)
""", named="mask applied after the softmax, then divided again")
wrong("NoTanhAndMaskIgnored", "hidden = own + words; mask = None", named=("no tanh", "mask ignored"))
wrong("ReluAndPlainMean", "hidden = torch.relu(own + words); context = annotations.mean(1)",
      named=("relu instead of tanh", "context is the plain mean"))
wrong("MaskInvertedAndWeightsFirst", "mask = None if mask is None else ~mask; return weights, context",
      named=("mask inverted", "results in the wrong order"))
wrong("SoftmaxOverBatchAndDotProduct",
      "scores = (own * words).sum(-1); weights = filled(scores, mask, -1e9).softmax(0)",
      named=("dot-product score", "softmax over the batch"))
wrong("MinusInfinityAmongTheWeights", "weights = filled(F.softmax(scores, dim=1), mask)",
      told="wrong with `mask` given",
      published=("gabrielmittag/NISQA#17", "Hidden words get minus infinity, but only after the softmax."))
wrong("LayersWithACapitalV", """
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        self.V = self.v
        del self.v

    scores = self.V(hidden).squeeze(-1)
""", told="weights with other names")
wrong("VInASequential",
      "self.v = nn.Sequential(nn.Tanh(), nn.Linear(attention_dim, 1, bias=False)); hidden = own + words",
      told="weights with other names")
wrong("LayersWithOtherNames", """
    def __init__(self, decoder_dim, encoder_dim, attention_dim):
        super().__init__(decoder_dim, encoder_dim, attention_dim)
        self.w, self.u = self.W, self.U
        del self.W, self.U

    own = self.w(state).unsqueeze(1)
    words = self.u(annotations)
""", told="weights with other names")
wrong("OneLayerForBoth", "words = self.W(annotations)", told="stops with RuntimeError")
wrong("OneLayerWithTwoNames", "self.U = self.W", told="weights of another shape")
wrong("BiasEverywhere", """
    self.W = nn.Linear(decoder_dim, attention_dim)
    self.U = nn.Linear(encoder_dim, attention_dim)
    self.v = nn.Linear(attention_dim, 1)
""", told="wrong about what a new module holds")
# no number shows it: a softmax does not see what is added to all scores
wrong("BiasInV", "self.v = nn.Linear(attention_dim, 1)", told="wrong about what a new module holds")
wrong("BiasInWAndU", """
    self.U = nn.Linear(encoder_dim, attention_dim, True)
    self.W = nn.Linear(decoder_dim, attention_dim, True)
""", told="wrong about what a new module holds")
wrong("LargeNumberAlone", "weights = filled(scores, mask, -1e9).softmax(dim=-1)", told="right but for special places")
wrong("InfinityAlone", "weights = filled(scores, mask).softmax(dim=-1)", told="right but for special places")
# right numbers, but NaN in the gradient of a sentence in which all is hidden
wrong("InfinityAdded", "weights = torch.nan_to_num((scores + filled(torch.zeros_like(scores), mask)).softmax(-1))",
      told=("wrong gradient", "wrong about gradients"))
wrong("NotLargeEnough", """
    seen = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    weights = filled(scores, mask, -20.0).softmax(dim=-1) * seen.any(dim=-1, keepdim=True)
""", told=("right but for special places", "wrong with `mask` given"))
# right for padding at the end alone
wrong("MaskAsLengths",
      "mask = mask if mask is None else torch.arange(mask.shape[1]) < mask.sum(dim=1, keepdim=True)",
      told="wrong with `mask` given")
wrong("MaskNeedsARoundTrip", "mask = mask if mask is None else mask.view(-1).view(mask.shape)",
      told=("stops with RuntimeError", "wrong with gaps in memory"))
wrong("ContiguousInputsOnly", "annotations = annotations.view(-1).view(annotations.shape)",
      told=("stops with RuntimeError", "wrong with gaps in memory"))
wrong("MaskRequired", """
    def forward(self, state, annotations, mask):
        return super().forward(state, annotations, mask)
""", told="stops with TypeError")
wrong("MaskChanged", "mask = mask if mask is None else mask.logical_not_().logical_not()", told="inputs changed")
wrong("StateChanged", "state.data.mul_(0.5); return context, weights", told="wrong gradient")
wrong("AnnotationsChanged", "context = annotations.data.mul_(weights.unsqueeze(-1)).sum(dim=1)", told="wrong gradient")
wrong("WeightsDetached", "return context, weights.detach()", told=("wrong gradient", "wrong about gradients"))
wrong("ContextFromDetachedWeights", 'context = torch.einsum("bs,bsd->bd", weights.detach(), annotations)',
      told=("wrong gradient", "wrong about gradients"))
wrong("FrozenKeys", "words = self.U(annotations.detach())", told=("wrong gradient", "wrong about gradients"))
wrong("Float32WeightsOnTheWay",
      "weights = attention.masked_softmax(scores, mask).float(); context = (weights[..., None] * annotations).sum(1)",
      told=("rounded", "wrong in float64"))
wrong("EqualWidthsOnly", "words = self.U(annotations + 0 * state.unsqueeze(1))", told="stops with RuntimeError")
wrong("ContextPlusMean", 'context = torch.einsum("bs,bsd->bd", weights, annotations) + annotations.mean(dim=1)',
      told="the weights right, the context wrong")
wrong("RandomWeights", "scores = torch.rand_like(self.v(hidden).squeeze(-1))")
wrong("DropoutThatActs", "weights = F.dropout(attention.masked_softmax(scores, mask), 0.1, self.training)",
      told=("weights that are no shares", "wrong in train mode"))
wrong("RaisesWhereAllIsHidden", """
    if mask is not None and not mask.any(dim=-1).all():
        raise ValueError("nothing to attend to")
    mask = mask
""", told="stops with ValueError")
wrong("NumbersOfTheExample", "return torch.tensor([[0.746, 18.73]]), torch.tensor([[0.127, 0.873]])")
wrong("TanhOfTheWordsAlone", "hidden = own * torch.tanh(words)")
wrong("NormalisedScores", "weights = attention.masked_softmax(scores - scores.mean(), mask) * scores.shape[1]",
      told="weights that are no shares")
# the maps are there, and the scores come from another layer
wrong("HiddenLayersOfItsOwn", """
    self.score = nn.Linear(decoder_dim + encoder_dim, 1)
    self.v = nn.Linear(attention_dim, 1, bias=False)
    repeated = state.unsqueeze(1).expand(-1, annotations.size(1), -1)
    scores = self.score(torch.cat([repeated, annotations], dim=-1)).squeeze(-1)
""")
wrong("KeysOfTheFirstCall", """
    if not hasattr(self, "keys") or self.keys.shape[:2] != annotations.shape[:2]:
        self.keys = self.U(annotations)
    words = self.keys
""", told="wrong after another call")
wrong("FirstMaskAlways", """
    if not hasattr(self, "mask"):
        self.mask = mask
    mask = self.mask
""", told="wrong after another call")
wrong("OpensTheMask", """
    if mask is not None:
        seen = mask.clone()
        mask[~mask.any(dim=-1)] = True
        mask = seen
    mask = mask
""", told=("inputs changed", "wrong with a row in which nothing may be seen"))
wrong("AHundredWords", "mask = mask if mask is None else mask[:, :100]; annotations = annotations[:, :100]")
wrong("ScoresUpToFive", "scores = self.v(hidden).squeeze(-1).clamp(-5.0, 5.0)")
wrong("SoftmaxTwiceInTrainMode", "return context, weights.softmax(dim=-1) if self.training else weights",
      told=("the context right, the weights wrong", "wrong in train mode"))
careless(
    ANSWERS,
    one_sentence=None, a_hundred_words=None,  # of the state alone
    turned_in_place="wrong gradient", one_shape="another number of axes", zeros="weights that are no shares",
)
# fmt: on


@BANK.wrong("BahdanauAttention", told="stops with TypeError")
def attention_as_a_function(state, annotations, mask=None):
    weights = attention.masked_softmax(torch.einsum("bd,bsd->bs", state, annotations), mask)
    return torch.einsum("bs,bsd->bd", weights, annotations), weights
