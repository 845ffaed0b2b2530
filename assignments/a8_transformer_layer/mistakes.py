"""The right answers of assignment 8 in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from assignments.a8_transformer_layer.rubric import (
    ATTENDS,
    FEEDS_FORWARD,
    LAYER_DROPS,
    MAPS_DROP,
    MASKED,
    TWO_MAPS,
    encoder_layer,
    feed_forward,
)
from assignments.common.layers import (
    DEFAULT,
    PostNorm,
)
from autograder.verdict.check import taking
from course_utils import layers, masks

# ------------------------------------------------------------------- PositionwiseFeedForward


class Network(layers.PositionwiseFeedForward):
    """The right network in steps, each of which a mistake can change."""

    def between(self, hidden: Tensor) -> Tensor:
        return self.dropout(torch.relu(hidden))

    def forward(self, x):
        return self.w_2(self.between(self.w_1(x)))


TRAILING = (
    "Your result is never negative: a ReLU stands behind `w_2`. What is added to a word must be "
    "able to take something away from it, too. Between which two things does the one ReLU belong?"
)
MIXED = (
    "A word's result depends on other words of its sentence. *Position-wise* means that each word "
    "passes through the network by itself. Which axis does `nn.Linear` work on, and which ones "
    "does it leave alone?"
)
OWN_WORK = (
    "Your network does more than it should: {} in it. That is the layer's work, in part 2. Here, "
    "return what `w_2` gives."
)


@feed_forward.mistake("trailing ReLU", TRAILING, costs=(TWO_MAPS,))
@taking(Network, Network.forward)
def trailing_relu(self, x):
    return torch.relu(Network.forward(self, x))


@feed_forward.mistake("the ReLU at the end instead of between", TRAILING, costs=(TWO_MAPS,))
@taking(Network, Network.forward)
def relu_at_the_end(self, x):
    return torch.relu(self.w_2(self.dropout(self.w_1(x))))


@feed_forward.mistake("the ReLU before both maps", costs=(TWO_MAPS,))
@taking(Network, Network.forward)
def relu_at_the_start(self, x):
    """Your ReLU works on x, before `w_1`, so nothing negative of a word is seen at all, and the two
    maps behind it are no more than one. Where does the formula have it?"""
    return self.w_2(self.dropout(self.w_1(torch.relu(x))))


@feed_forward.mistake("no ReLU", costs=(TWO_MAPS,))
@taking(Network, Network.between)
def no_relu(self, hidden):
    """There is no ReLU between your two linear maps. Without it they are no more than a single
    linear map, however large `d_ff` is."""
    return self.dropout(hidden)


@feed_forward.mistake("GELU", costs=(TWO_MAPS,))
@taking(Network, Network.between)
def gelu(self, hidden):
    """Your activation is the GELU. Many later models use it; the text and the original paper have
    the ReLU, max(0, a)."""
    return self.dropout(F.gelu(hidden))


@feed_forward.mistake("sigmoid", costs=(TWO_MAPS,))
@taking(Network, Network.between)
def sigmoid(self, hidden):
    """Your activation is the sigmoid, which squeezes every number between 0 and 1. The text has the
    ReLU, max(0, a)."""
    return self.dropout(hidden.sigmoid())


@feed_forward.mistake("softmax", costs=(TWO_MAPS,))
@taking(Network, Network.between)
def softmax(self, hidden):
    """Between your maps stands a softmax. These are no weights of a sum, so nothing has to sum to
    one: the text has the ReLU, max(0, a)."""
    return self.dropout(hidden.softmax(dim=-1))


@feed_forward.mistake("tokens mixed: the average of all words", MIXED, costs=(TWO_MAPS,))
@taking(Network, Network.forward)
def average_of_the_words(self, x):
    return Network.forward(self, x.mean(dim=1, keepdim=True).expand_as(x))


@feed_forward.mistake("tokens mixed: one vector for a sentence", costs=(TWO_MAPS,))
@taking(Network, Network.forward)
def sentence_in_one_vector(self, x):
    """You return one vector for each sentence. Every word gets a result of its own, so the shape of
    x comes back: (B, T, d_model)."""
    return Network.forward(self, x.mean(dim=1))


@feed_forward.mistake("tokens mixed: the average inside", MIXED, costs=(TWO_MAPS,))
@taking(Network, Network.between)
def hidden_averages(self, hidden):
    return self.dropout(torch.relu(hidden).mean(dim=1, keepdim=True).expand_as(hidden))


@feed_forward.mistake("tokens mixed: sums over earlier words", MIXED, costs=(TWO_MAPS,))
@taking(Network, Network.forward)
def sum_of_earlier_words(self, x):
    return Network.forward(self, x.cumsum(dim=1))


@feed_forward.mistake(
    "residual inside the network", OWN_WORK.format("x is added to the result"), costs=(TWO_MAPS,)
)
@taking(Network, Network.forward)
def residual_inside(self, x):
    return x + Network.forward(self, x)


@feed_forward.mistake(
    "residual and norm inside the network",
    OWN_WORK.format("residual connection and norm stand"),
    costs=(TWO_MAPS,),
)
@taking(Network, Network.forward)
def residual_and_norm_inside(self, x):
    return F.layer_norm(x + Network.forward(self, x), x.shape[-1:])


@feed_forward.mistake(
    "norm inside the network", OWN_WORK.format("the result is normalised"), costs=(TWO_MAPS,)
)
@taking(Network, Network.forward)
def norm_inside(self, x):
    return F.layer_norm(Network.forward(self, x), x.shape[-1:])


@feed_forward.mistake("second map missing", costs=(TWO_MAPS,))
@taking(Network, Network.forward)
def second_map_missing(self, x):
    """Your result has the width d_ff, since `w_2` is not applied. It leads back to d_model."""
    return self.between(self.w_1(x))


@feed_forward.mistake("no dropout", costs=(MAPS_DROP,))
@taking(Network, Network.between)
def network_without_dropout(self, hidden):
    """In train mode nothing is dropped. The numbers between the two maps should be, with the
    probability `dropout`."""
    return torch.relu(hidden)


@feed_forward.mistake("dropout on the result", costs=(MAPS_DROP,))
@taking(Network, Network.forward)
def dropout_on_the_result(self, x):
    """You drop what `w_2` gives. In this network dropout stands between the two maps; what comes
    out is dropped by the layer, in part 2."""
    return self.dropout(self.w_2(torch.relu(self.w_1(x))))


@feed_forward.mistake("dropout on the input", costs=(MAPS_DROP,))
@taking(Network, Network.forward)
def dropout_on_the_input(self, x):
    """You drop numbers of x, before `w_1`. The text drops those between the two maps."""
    return self.w_2(torch.relu(self.w_1(self.dropout(x))))


@feed_forward.mistake("dropout in eval mode", costs=(MAPS_DROP,))
@taking(Network, Network.between)
def network_drops_in_eval_mode_too(self, hidden):
    """Your network drops numbers in eval mode, too. `nn.Dropout` knows the mode by itself;
    `F.dropout` must be told: what does its argument `training` mean?"""
    return F.dropout(torch.relu(hidden), self.dropout.p)


@feed_forward.mistake("dropout taken and not kept", costs=(MAPS_DROP,))
@taking(Network, Network.__init__)
def network_dropout_not_kept(self, d_model, d_ff, dropout=DEFAULT):
    """Whatever `dropout` is, your network drops a tenth. What becomes of the argument?"""
    Network.__init__(self, d_model, d_ff)


@feed_forward.mistake("leaky ReLU", costs=(TWO_MAPS,))
@taking(Network, Network.between)
def leaky(self, hidden):
    """Negative numbers get through your activation, only smaller. The text has the ReLU, max(0, a):
    what is negative becomes 0."""
    return self.dropout(F.leaky_relu(hidden))


@feed_forward.mistake("tanh", costs=(TWO_MAPS,))
@taking(Network, Network.between)
def tanh(self, hidden):
    """Your activation is the hyperbolic tangent, which squeezes every number between −1 and 1. The
    text has the ReLU, max(0, a)."""
    return self.dropout(hidden.tanh())


@feed_forward.mistake("ReLU6", costs=(TWO_MAPS,))
@taking(Network, Network.between)
def relu6(self, hidden):
    """Your activation cuts off what is above 6. The text has the ReLU, max(0, a), without an upper
    end."""
    return self.dropout(F.relu6(hidden))


@feed_forward.mistake("minimum for maximum", costs=(TWO_MAPS,))
@taking(Network, Network.between)
def negative_part(self, hidden):
    """Your activation keeps what is negative. The ReLU is max(0, a): which numbers become 0?"""
    return self.dropout(hidden.clamp(max=0))


@feed_forward.mistake("absolute value", costs=(TWO_MAPS,))
@taking(Network, Network.between)
def absolute(self, hidden):
    """Your activation turns negative numbers into positive ones. In the text they become 0."""
    return self.dropout(hidden.abs())


# -------------------------------------------------------------------------- TransformerLayer


class Layer(PostNorm, layers.TransformerLayer):
    """The right layer in steps, each of which a mistake can change."""

    def attend(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.self_attn(x, x, x, mask)[0]

    def forward(self, x, mask=None):
        x = self.add(self.layer_norm1, x, lambda x: self.attend(x, mask))
        return self.add(self.layer_norm2, x, self.feed_forward)


@encoder_layer.mistake("no residual connections", costs=(ATTENDS, FEEDS_FORWARD))
@taking(Layer, Layer.keep)
def no_residuals(self, norm, x):
    """What enters a sublayer is lost behind it. Add it to the sublayer's output before the norm."""
    return torch.zeros_like(x)


@encoder_layer.mistake("no residual connection around attention", costs=(ATTENDS,))
@taking(Layer, Layer.keep)
def no_first_residual(self, norm, x):
    """Behind attention the word itself is lost. What does the first equation add to attention's
    output?"""
    return (norm is not self.layer_norm1) * x


@encoder_layer.mistake(
    "no residual connection around the feed-forward network", costs=(FEEDS_FORWARD,)
)
@taking(Layer, Layer.keep)
def no_second_residual(self, norm, x):
    """Behind the feed-forward network, what attention found is lost. What does the second equation
    add to the network's output?"""
    return (norm is not self.layer_norm2) * x


@encoder_layer.mistake("the layer's input as second residual", costs=(FEEDS_FORWARD,))
@taking(Layer, Layer.forward)
def input_as_second_residual(self, x, mask=None):
    """To the feed-forward network's output you add the x that entered the layer. The second
    equation takes the x of the first one."""
    attended = self.add(self.layer_norm1, x, lambda x: self.attend(x, mask))
    return self.add(self.layer_norm2, x, lambda _: self.feed_forward(attended))


@encoder_layer.mistake("the layer's input to the feed-forward network", costs=(FEEDS_FORWARD,))
@taking(Layer, Layer.forward)
def input_to_feed_forward(self, x, mask=None):
    """Your feed-forward network reads the x that entered the layer, so it never sees what attention
    found. The second equation takes the x of the first one."""
    attended = self.add(self.layer_norm1, x, lambda x: self.attend(x, mask))
    return self.add(self.layer_norm2, attended, lambda _: self.feed_forward(x))


@encoder_layer.mistake("norm first (pre-LN)", costs=(ATTENDS, FEEDS_FORWARD))
@taking(Layer, Layer.add)
def norm_first(self, norm, x, sublayer):
    """You normalise before each sublayer (pre-LN). This layer is post-LN, as in the paper: add
    first, then normalise the sum."""
    return x + self.dropout(sublayer(norm(x)))


@encoder_layer.mistake(
    "norm first, and the residual normalised with it", costs=(ATTENDS, FEEDS_FORWARD)
)
@taking(Layer, Layer.add)
def norm_first_also_of_the_residual(self, norm, x, sublayer):
    """You normalise what goes into each sublayer. This layer is post-LN, as in the paper: add
    first, then normalise the sum."""
    return norm(x) + self.dropout(sublayer(norm(x)))


@encoder_layer.mistake("norm before the sum", costs=(ATTENDS, FEEDS_FORWARD))
@taking(Layer, Layer.add)
def norm_before_the_sum(self, norm, x, sublayer):
    """You normalise each sublayer's output and add x afterwards. What stands inside the brackets of
    LayerNorm in the equations?"""
    return x + self.dropout(norm(sublayer(x)))


@encoder_layer.mistake("one norm for both", costs=(FEEDS_FORWARD,))
@taking(Layer, Layer.normalise)
def one_norm(self, norm, total):
    """Both of your sums pass through `layer_norm1`. The second line has a norm of its own,
    `layer_norm2`."""
    return self.layer_norm1(total)


@encoder_layer.mistake("only one norm made")
@taking(Layer, Layer.__init__)
def one_norm_made(self, *sizes, **keywords):
    """There is no `layer_norm2` in your layer. Each of the two lines has a norm of its own, with
    weights of its own."""
    Layer.__init__(self, *sizes, **keywords)
    del self.layer_norm2


@encoder_layer.mistake("one norm under both names", costs=(FEEDS_FORWARD,))
@taking(Layer, Layer.__init__)
def one_norm_of_two_names(self, *sizes, **keywords):
    """`layer_norm1` and `layer_norm2` are one and the same norm in your layer, or the second one
    does the work of both. `a = b = norm` and `[norm] * 2` hold one norm twice; each line needs one
    of its own."""
    Layer.__init__(self, *sizes, **keywords)
    self.layer_norm2 = self.layer_norm1


@encoder_layer.mistake("attention whose layers have other names")
@taking(Layer, Layer.__init__)
def library_attention(self, d_model, num_heads, d_ff, dropout=DEFAULT):
    """Your `self_attn` has no `w_q`, `w_k`, `w_v` and `w_o`. `nn.MultiheadAttention` keeps its
    weights under other names, and its masks mean the opposite; which attention does the text let
    you import?"""
    Layer.__init__(self, d_model, num_heads, d_ff, dropout)
    self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)


@encoder_layer.mistake("network whose layers have other names")
@taking(Layer, Layer.__init__)
def sequential_network(self, d_model, num_heads, d_ff, dropout=DEFAULT):
    """Your `feed_forward` has no `w_1` and `w_2`. The class of part 1 has them; an `nn.Sequential`
    numbers its layers instead."""
    Layer.__init__(self, d_model, num_heads, d_ff, dropout)
    self.feed_forward = nn.Sequential(
        nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model)
    )


@encoder_layer.mistake("norms swapped", costs=(ATTENDS, FEEDS_FORWARD))
@taking(Layer, Layer.normalise)
def norms_swapped(self, norm, total):
    """Your two norms have changed places: `layer_norm1` belongs behind attention, `layer_norm2`
    behind the feed-forward network."""
    return (self.layer_norm2 if norm is self.layer_norm1 else self.layer_norm1)(total)


@encoder_layer.mistake("first norm missing", costs=(ATTENDS,))
@taking(Layer, Layer.normalise)
def no_first_norm(self, norm, total):
    """The sum behind attention is not normalised. `layer_norm1` belongs there."""
    return total if norm is self.layer_norm1 else norm(total)


@encoder_layer.mistake("last norm missing", costs=(FEEDS_FORWARD,))
@taking(Layer, Layer.normalise)
def no_last_norm(self, norm, total):
    """The sum behind the feed-forward network is not normalised. `layer_norm2` belongs there."""
    return total if norm is self.layer_norm2 else norm(total)


@encoder_layer.mistake("no norms", costs=(ATTENDS, FEEDS_FORWARD))
@taking(Layer, Layer.normalise)
def no_norms(self, norm, total):
    """Your sums are not normalised. Each of the two has a norm of its own behind it."""
    return total


@encoder_layer.mistake("mask dropped", costs=(MASKED,))
@taking(Layer, Layer.attend)
def no_mask(self, x, mask):
    """Where a cross stands, `mask` has no effect in your layer, so words attend to what they may
    not see, padding for example. Who needs to be told of it, whatever its shape?"""
    return Layer.attend(self, x, None)


@encoder_layer.mistake("mask inverted", costs=(MASKED,))
@taking(Layer, Layer.attend)
def inverted_mask(self, x, mask):
    """Your layer hides what the mask shows, and shows what it hides. Here True means: may attend.
    Which convention does the attention that you call have?"""
    return Layer.attend(self, x, None if mask is None else ~mask)


@encoder_layer.mistake("always causal", costs=(MASKED,))
@taking(Layer, Layer.attend)
def always_causal(self, x, mask):
    """Your layer hides later words also where `mask` does not ask for it. An encoder reads the
    whole sentence: the layer makes no mask of its own."""
    causal = masks.causal_mask(x.shape[1], x.device)
    return Layer.attend(self, x, causal if mask is None else mask & causal)


@encoder_layer.mistake("attention missing", costs=(ATTENDS, MASKED))
@taking(Layer, Layer.forward)
def no_attention(self, x, mask=None):
    """Words never meet in your layer: there is no self-attention in front of the feed-forward
    network."""
    return self.add(self.layer_norm2, x, self.feed_forward)


@encoder_layer.mistake("feed-forward network missing", costs=(FEEDS_FORWARD,))
@taking(Layer, Layer.forward)
def no_feed_forward(self, x, mask=None):
    """Your layer ends behind attention. The second line, with the feed-forward network and
    `layer_norm2`, is missing."""
    return self.add(self.layer_norm1, x, lambda x: self.attend(x, mask))


@encoder_layer.mistake("feed-forward network before attention", costs=(ATTENDS, FEEDS_FORWARD))
@taking(Layer, Layer.forward)
def feed_forward_before_attention(self, x, mask=None):
    """Your layer begins with the feed-forward network. In which order do the two equations
    stand?"""
    x = self.add(self.layer_norm1, x, self.feed_forward)
    return self.add(self.layer_norm2, x, lambda x: self.attend(x, mask))


DROPPED = (
    "Your dropout acts in another place, or not at all. In the equations of the text it stands "
    "around the sublayer's output alone: before the residual is added, and before the norm."
)


@encoder_layer.mistake("no dropout", DROPPED, costs=(LAYER_DROPS,))
@taking(Layer, Layer.drop)
def layer_without_dropout(self, norm, change):
    return change


@encoder_layer.mistake("no dropout behind attention", costs=(LAYER_DROPS,))
@taking(Layer, Layer.drop)
def no_dropout_behind_attention(self, norm, change):
    """In train mode, attention's output is added without dropout. Both equations have one."""
    return change if norm is self.layer_norm1 else self.dropout(change)


@encoder_layer.mistake("no dropout behind the feed-forward network", costs=(LAYER_DROPS,))
@taking(Layer, Layer.drop)
def no_dropout_behind_feed_forward(self, norm, change):
    """In train mode, the feed-forward network's output is added without dropout. The one inside the
    network does not replace it: both equations have one."""
    return change if norm is self.layer_norm2 else self.dropout(change)


@encoder_layer.mistake("dropout on the sum", DROPPED, costs=(LAYER_DROPS,))
@taking(Layer, Layer.add)
def dropout_on_the_sum(self, norm, x, sublayer):
    return norm(self.dropout(x + sublayer(x)))


@encoder_layer.mistake("dropout after the norm", DROPPED, costs=(LAYER_DROPS,))
@taking(Layer, Layer.add)
def dropout_after_the_norm(self, norm, x, sublayer):
    return self.dropout(norm(x + sublayer(x)))


@encoder_layer.mistake("dropout in eval mode", costs=(LAYER_DROPS,))
@taking(Layer, Layer.drop)
def layer_drops_in_eval_mode_too(self, norm, change):
    """Your layer drops numbers in eval mode, too. `nn.Dropout` knows the mode by itself;
    `F.dropout` must be told: what does its argument `training` mean?"""
    return F.dropout(change, self.dropout.p)


@encoder_layer.mistake("weights returned beside the result", costs=(ATTENDS,))
@taking(Layer, Layer.forward)
def weights_beside_the_result(self, x, mask=None):
    """Your result comes in a tuple, with the attention weights beside it. The layer returns x
    alone, so that layers can be stacked."""
    return Layer.forward(self, x, mask), self.self_attn(x, x, x, mask)[1]


@encoder_layer.mistake("dropout taken and not handed on to the network", costs=(LAYER_DROPS,))
@taking(Layer, Layer.__init__)
def default_dropout_inside(self, d_model, num_heads, d_ff, dropout=DEFAULT):
    """Inside your feed-forward network, a tenth is dropped whatever `dropout` is. The network takes
    the probability as an argument: does yours hand it on?"""
    Layer.__init__(self, d_model, num_heads, d_ff, dropout)
    self.feed_forward = layers.PositionwiseFeedForward(d_model, d_ff)


@encoder_layer.mistake("dropout taken and not kept", costs=(LAYER_DROPS,))
@taking(Layer, Layer.__init__)
def dropout_not_kept(self, d_model, num_heads, d_ff, dropout=DEFAULT):
    """Whatever `dropout` is, your layer drops a tenth. What becomes of the argument?"""
    Layer.__init__(self, d_model, num_heads, d_ff)


@encoder_layer.mistake("no dropout inside the network", costs=(LAYER_DROPS,))
@taking(Layer, Layer.__init__)
def no_dropout_inside(self, d_model, num_heads, d_ff, dropout=DEFAULT):
    """Inside your feed-forward network nothing is dropped. The text has dropout in three places: the
    two of the equations, and between the two maps of the network."""
    Layer.__init__(self, d_model, num_heads, d_ff, dropout)
    self.feed_forward = layers.PositionwiseFeedForward(d_model, d_ff, 0.0)


@encoder_layer.mistake("one head", costs=(ATTENDS,))
@taking(Layer, Layer.__init__)
def one_head(self, d_model, num_heads, d_ff, dropout=DEFAULT):
    """Your attention has one head, whatever `num_heads` is. What becomes of the argument?"""
    Layer.__init__(self, d_model, 1, d_ff, dropout)


@encoder_layer.mistake("dropout on the residual", DROPPED, costs=(LAYER_DROPS,))
class DropoutOnResidual(Layer):
    def keep(self, norm, x):
        return self.dropout(x)

    def drop(self, norm, change):
        return change


@encoder_layer.mistake("residual added twice", costs=(ATTENDS, FEEDS_FORWARD))
@taking(Layer, Layer.keep)
def residual_twice(self, norm, x):
    """In your sums x counts twice. Does a sublayer add it already, before the layer does?"""
    return 2 * x


@encoder_layer.mistake(
    "residual added twice around the feed-forward network", costs=(FEEDS_FORWARD,)
)
@taking(Layer, Layer.keep)
def second_residual_twice(self, norm, x):
    """Behind the feed-forward network x counts twice. Does the network add it already, before the
    layer does?"""
    return x if norm is self.layer_norm1 else 2 * x


@encoder_layer.mistake("sublayers side by side", costs=(ATTENDS, FEEDS_FORWARD))
@taking(Layer, Layer.forward)
def side_by_side(self, x, mask=None):
    """Both of your sublayers read the x that entered the layer, and their outputs are added up at
    once. The second equation takes the x of the first one."""
    changes = self.dropout(self.attend(x, mask)) + self.dropout(self.feed_forward(x))
    return self.layer_norm2(self.layer_norm1(x + changes))


@encoder_layer.mistake("both norms at the end", costs=(ATTENDS, FEEDS_FORWARD))
@taking(Layer, Layer.forward)
def norms_at_the_end(self, x, mask=None):
    """Both of your norms stand behind the last sum. The first one belongs behind attention: in
    which line does it stand?"""
    x = x + self.drop(self.layer_norm1, self.attend(x, mask))
    x = x + self.drop(self.layer_norm2, self.feed_forward(x))
    return self.layer_norm2(self.layer_norm1(x))


@encoder_layer.mistake("a third norm on top", costs=(FEEDS_FORWARD,))
@taking(Layer, Layer.forward)
def norm_on_top(self, x, mask=None):
    """You normalise once more at the end. Each of the two lines has one norm, and the second line's
    is the last step."""
    return F.layer_norm(Layer.forward(self, x, mask), x.shape[-1:])


@encoder_layer.mistake("ReLU at the end of the layer", costs=(FEEDS_FORWARD,))
@taking(Layer, Layer.forward)
def relu_on_top(self, x, mask=None):
    """Nothing in your result is negative: a ReLU stands behind the layer. The only one belongs
    inside the feed-forward network."""
    return torch.relu(Layer.forward(self, x, mask))


@encoder_layer.mistake("norm in front of attention as well", costs=(ATTENDS,))
@taking(Layer, Layer.attend)
def attend_to_normed(self, x, mask):
    """Attention reads x behind `layer_norm1`, and the sum is normalised once more. In the first
    equation, query, key and value are x as it came in."""
    normed = self.layer_norm1(x)
    return self.self_attn(normed, normed, normed, mask)[0]
