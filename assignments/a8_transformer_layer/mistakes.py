"""The right answers of assignment 8 in steps, and wrong ones by the step that they take otherwise."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from assignments.a8_transformer_layer.rubric import (
    ATTENDS,
    FEEDS_FORWARD,
    LAYER_DROPS,
    LAYER_MANNERS,
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
from autograder.checks.mistakes import called, costs, costs_more, message, variants
from course_utils import layers, masks

# ------------------------------------------------------------------- PositionwiseFeedForward


class Network(layers.PositionwiseFeedForward):
    """The right network in steps, each of which a mistake can change."""

    def between(self, hidden: Tensor) -> Tensor:
        return self.dropout(torch.relu(hidden))

    def forward(self, x):
        return self.w_2(self.between(self.w_1(x)))


TRAILING = (
    "Your result is never negative, because a ReLU follows `w_2`. What is added to a word must also "
    "be able to take something away from it. Between which two steps does the one ReLU belong?"
)
MIXED = (
    "A word's result depends on other words of its sentence. *Position-wise* means that each word "
    "passes through the network on its own. Which axis does `nn.Linear` work on, and which ones "
    "does it leave alone?"
)
OWN_WORK = (
    "Your network does more than it should, because {} in it. That is the layer's work, in part 2. "
    "Here, return what `w_2` gives."
)


IN_EITHER_MODE = (
    "Whatever `dropout` is, the same share of numbers is dropped, and in eval mode as well. `F.dropout`, "
    "or an `nn.Dropout` that is made anew in every call, knows neither your argument nor the mode of your "
    "module. Who tells it?"
)
SHARES = ((DEFAULT, "a tenth"), (0.5, "half"))  # of dropout as it is made without the argument


@feed_forward.mistakes_in(Network.forward, costs=TWO_MAPS)
class FeedForwardForward:
    @message(TRAILING)
    def trailing_ReLU(self, x):
        return torch.relu(Network.forward(self, x))

    @message(TRAILING)
    def the_ReLU_at_the_end_instead_of_between(self, x):
        return torch.relu(self.w_2(self.dropout(self.w_1(x))))

    def the_ReLU_before_both_maps(self, x):
        """Your ReLU works on x, before `w_1`, so it removes everything negative from a word, and
        the two maps after it are no more than one. Where does the formula have it?"""
        return self.w_2(self.dropout(self.w_1(torch.relu(x))))

    @called("tokens mixed: the average of all words")
    @message(MIXED)
    def average_of_the_words(self, x):
        return Network.forward(self, x.mean(dim=1, keepdim=True).expand_as(x))

    @called("tokens mixed: one vector for a sentence")
    def sentence_in_one_vector(self, x):
        """You return one vector for each sentence. Every word should get its own result, so the
        result has the shape of x, (B, T, d_model)."""
        return Network.forward(self, x.mean(dim=1))

    @called("tokens mixed: sums over earlier words")
    @message(MIXED)
    def sum_of_earlier_words(self, x):
        return Network.forward(self, x.cumsum(dim=1))

    @message(OWN_WORK.format("x is added to the result"))
    def residual_inside_the_network(self, x):
        return x + Network.forward(self, x)

    @message(OWN_WORK.format("there are a residual connection and a norm"))
    def residual_and_norm_inside_the_network(self, x):
        return F.layer_norm(x + Network.forward(self, x), x.shape[-1:])

    @message(OWN_WORK.format("the result is normalised"))
    def norm_inside_the_network(self, x):
        return F.layer_norm(Network.forward(self, x), x.shape[-1:])

    def second_map_missing(self, x):
        """Your result has the width d_ff, since `w_2` is not applied. That map leads back to
        d_model."""
        return self.between(self.w_1(x))

    @costs(MAPS_DROP)
    def dropout_on_the_result(self, x):
        """You drop what `w_2` gives. In this network the dropout is between the two maps, while its
        result is dropped by the layer, in part 2."""
        return self.dropout(self.w_2(torch.relu(self.w_1(x))))

    @costs(MAPS_DROP)
    def dropout_on_the_input(self, x):
        """You drop numbers of x, before `w_1`. The text drops the numbers between the two maps."""
        return self.w_2(torch.relu(self.w_1(self.dropout(x))))


@feed_forward.mistakes_in(Network.between, costs=TWO_MAPS)
class FeedForwardBetween:
    def no_ReLU(self, hidden):
        """There is no ReLU between your two linear maps. Without it they are no more than a single
        linear map, however large `d_ff` is."""
        return self.dropout(hidden)

    def GELU(self, hidden):
        """Your activation is the GELU. Many later models use it, but the text and the original
        paper have the ReLU, max(0, a)."""
        return self.dropout(F.gelu(hidden))

    def sigmoid(self, hidden):
        """Your activation is the sigmoid, which squeezes every number between 0 and 1. The text has
        the ReLU, max(0, a)."""
        return self.dropout(hidden.sigmoid())

    def softmax(self, hidden):
        """Between your maps there is a softmax. The numbers there are no weights, so nothing has to
        sum to one. The text has the ReLU, max(0, a)."""
        return self.dropout(hidden.softmax(dim=-1))

    @called("tokens mixed: the average inside")
    @message(MIXED)
    def hidden_averages(self, hidden):
        return self.dropout(torch.relu(hidden).mean(dim=1, keepdim=True).expand_as(hidden))

    @costs(MAPS_DROP)
    def no_dropout(self, hidden):
        """In train mode nothing is dropped. The numbers between the two maps should be dropped with
        the probability `dropout`."""
        return torch.relu(hidden)

    @costs(MAPS_DROP)
    def dropout_in_eval_mode(self, hidden):
        """Your network also drops numbers in eval mode. `nn.Dropout` follows the mode by itself,
        but `F.dropout` must be told. What does its argument `training` mean?"""
        return F.dropout(torch.relu(hidden), self.dropout.p)

    @costs(MAPS_DROP)
    @variants("share", (DEFAULT, 0.5))
    @message(IN_EITHER_MODE)
    def a_fixed_dropout_in_either_mode(self, hidden, share):
        return F.dropout(torch.relu(hidden), share)

    def leaky_ReLU(self, hidden):
        """Negative numbers get through your activation and only become smaller. The text has the
        ReLU, max(0, a), so whatever is negative becomes 0."""
        return self.dropout(F.leaky_relu(hidden))

    def tanh(self, hidden):
        """Your activation is the hyperbolic tangent, which squeezes every number between −1 and 1.
        The text has the ReLU, max(0, a)."""
        return self.dropout(hidden.tanh())

    def ReLU6(self, hidden):
        """Your activation cuts off what is above 6. The text has the ReLU, max(0, a), without an
        upper end."""
        return self.dropout(F.relu6(hidden))

    def minimum_for_maximum(self, hidden):
        """Your activation keeps the negative numbers. The ReLU is max(0, a). Which numbers become
        0?"""
        return self.dropout(hidden.clamp(max=0))

    def absolute_value(self, hidden):
        """Your activation turns negative numbers into positive ones. In the text they become 0."""
        return self.dropout(hidden.abs())


@feed_forward.mistakes_in(Network.__init__, costs=MAPS_DROP, of=Network)
class FeedForwardInit:
    @variants("share, named", SHARES)
    def dropout_taken_and_not_kept(self, d_model, d_ff, dropout=DEFAULT, *, share, named):
        """Whatever `dropout` is, your network drops {named}. What becomes of the argument?"""
        Network.__init__(self, d_model, d_ff, share)


@feed_forward.mistakes_in(Network.__init__, costs=TWO_MAPS, of=Network)
class FeedForwardMaps:
    @called("d_ff not used")
    @variants("times", (4, 2, 1))
    def of_d_model(self, d_model, d_ff, dropout=DEFAULT, *, times):
        """The number of inner features of your network follows from `d_model`. It is the argument `d_ff`."""
        Network.__init__(self, d_model, times * d_model, dropout)

    @called("d_ff a fixed number")
    @variants("width", (2048, 512))
    def of_the_paper(self, d_model, d_ff, dropout=DEFAULT, *, width):
        """Your network has one number of inner features, whatever `d_ff` is. What becomes of the argument?"""
        Network.__init__(self, d_model, width, dropout)

    @called("maps without bias")
    @variants("bare", (("w_1", "w_2"), ("w_1",), ("w_2",)))
    def bare_maps(self, d_model, d_ff, dropout=DEFAULT, *, bare):
        """The two maps are `nn.Linear` as PyTorch makes them, each with a bias. In your network, at least
        one of them has none."""
        Network.__init__(self, d_model, d_ff, dropout)
        for name in bare:
            getattr(self, name).bias = None


# -------------------------------------------------------------------------- TransformerLayer


NOTHING_RUNS = "weights that the text names are missing, so nothing can be run"


class Layer(PostNorm, layers.TransformerLayer):
    """The right layer in steps, each of which a mistake can change."""

    def attend(self, x: Tensor, mask: Tensor | None) -> Tensor:
        return self.self_attn(x, x, x, mask)[0]

    def forward(self, x, mask=None):
        x = self.add(self.layer_norm1, x, lambda x: self.attend(x, mask))
        return self.add(self.layer_norm2, x, self.feed_forward)


@encoder_layer.mistakes_in(Layer.keep, costs=(ATTENDS, FEEDS_FORWARD), of=Layer)
class EncoderLayerKeep:
    def no_residual_connections(self, norm, x):
        """What enters a sublayer is lost after it. It should be added to the sublayer's output
        before the norm."""
        return torch.zeros_like(x)

    @costs(ATTENDS)
    def no_residual_connection_around_attention(self, norm, x):
        """After attention the word itself is lost. What does the first equation add to attention's
        output?"""
        return (norm is not self.layer_norm1) * x

    @called("no residual connection around the feed-forward network")
    @costs(FEEDS_FORWARD)
    def no_second_residual(self, norm, x):
        """After the feed-forward network, what attention found is lost. What does the second
        equation add to the network's output?"""
        return (norm is not self.layer_norm2) * x

    def residual_added_twice(self, norm, x):
        """In your sums x counts twice. Does a sublayer add it already, before the layer does?"""
        return 2 * x

    @called("residual added twice around the feed-forward network")
    @costs(FEEDS_FORWARD)
    def second_residual_twice(self, norm, x):
        """After the feed-forward network x counts twice. Does the network add it already, before
        the layer does?"""
        return x if norm is self.layer_norm1 else 2 * x


@encoder_layer.mistakes_in(Layer.forward, costs=FEEDS_FORWARD)
class EncoderLayerForward:
    @called("the layer's input as second residual")
    def input_as_second_residual(self, x, mask=None):
        """You add the x that entered the layer to the feed-forward network's output. The second
        equation takes the x of the first one."""
        attended = self.add(self.layer_norm1, x, lambda x: self.attend(x, mask))
        return self.add(self.layer_norm2, x, lambda _: self.feed_forward(attended))

    @called("the layer's input to the feed-forward network")
    def input_to_feed_forward(self, x, mask=None):
        """Your feed-forward network reads the x that entered the layer, so it never sees what
        attention found. The second equation takes the x of the first one."""
        attended = self.add(self.layer_norm1, x, lambda x: self.attend(x, mask))
        return self.add(self.layer_norm2, attended, lambda _: self.feed_forward(x))

    @costs(ATTENDS, MASKED)
    def attention_missing(self, x, mask=None):
        """Words never see each other in your layer, because there is no self-attention before the
        feed-forward network."""
        return self.add(self.layer_norm2, x, self.feed_forward)

    @called("feed-forward network missing")
    def no_feed_forward(self, x, mask=None):
        """Your layer ends after attention. The second line, with the feed-forward network and
        `layer_norm2`, is missing."""
        return self.add(self.layer_norm1, x, lambda x: self.attend(x, mask))

    @called("feed-forward network before attention")
    @costs(ATTENDS, FEEDS_FORWARD)
    def feed_forward_before_attention(self, x, mask=None):
        """Your layer begins with the feed-forward network. In which order does the text have the
        two equations?"""
        x = self.add(self.layer_norm1, x, self.feed_forward)
        return self.add(self.layer_norm2, x, lambda x: self.attend(x, mask))

    @costs(MASKED)
    def stops_where_no_mask_is_given(self, x, mask):
        """Your layer stops where no mask is given. `mask=None` is the default of the argument, and with `None`
        every word sees every other. Is there a line that needs a tensor there?"""
        return Layer.forward(self, x, mask)

    @costs(LAYER_DROPS)
    @called("dropout on the layer's input")
    def input_dropped(self, x, mask=None):
        """You drop numbers of x as it comes in, before the first equation. Dropout belongs on what a
        sublayer gives, and x is added whole."""
        return Layer.forward(self, self.dropout(x), mask)

    @costs(ATTENDS)
    def weights_returned_beside_the_result(self, x, mask=None):
        """You return a tuple of the result and the attention weights. The layer should return x
        alone, so that layers can be stacked."""
        return Layer.forward(self, x, mask), self.self_attn(x, x, x, mask)[1]

    @costs(ATTENDS, FEEDS_FORWARD)
    def sublayers_side_by_side(self, x, mask=None):
        """Both of your sublayers read the x that entered the layer, and their outputs are added to
        it at once. The second equation takes the x of the first one."""
        changes = self.dropout(self.attend(x, mask)) + self.dropout(self.feed_forward(x))
        return self.layer_norm2(self.layer_norm1(x + changes))

    @costs(ATTENDS, FEEDS_FORWARD)
    def both_norms_at_the_end(self, x, mask=None):
        """Both of your norms come after the last sum, but the first one belongs after attention. In
        which line of the equations is it?"""
        x = x + self.drop(self.layer_norm1, self.attend(x, mask))
        x = x + self.drop(self.layer_norm2, self.feed_forward(x))
        return self.layer_norm2(self.layer_norm1(x))

    @variants(
        "norm",
        (
            lambda layer, x: F.layer_norm(x, x.shape[-1:]),
            lambda layer, x: layer.layer_norm1(x),
            lambda layer, x: layer.layer_norm2(x),
        ),
    )
    def a_third_norm_on_top(self, x, mask=None, *, norm):
        """You normalise once more at the end. Each of the two lines has one norm, and the second
        line's is the last step."""
        return norm(self, Layer.forward(self, x, mask))

    def ReLU_at_the_end_of_the_layer(self, x, mask=None):
        """Nothing in your result is negative, because a ReLU follows the layer. The only ReLU
        belongs inside the feed-forward network."""
        return torch.relu(Layer.forward(self, x, mask))


DROPPED = (
    "Your dropout acts in another place, or not at all. In the equations of the text it is applied "
    "to the sublayer's output alone, before the residual is added and before the norm."
)


@encoder_layer.mistakes_in(Layer.add, costs=(ATTENDS, FEEDS_FORWARD), of=Layer)
class EncoderLayerAdd:
    @called("norm first (pre-LN)")
    def norm_first(self, norm, x, sublayer):
        """You normalise before each sublayer (pre-LN). This layer is post-LN, as in the paper, so
        add first and then normalise the sum."""
        return x + self.dropout(sublayer(norm(x)))

    @called("norm first, and the residual normalised with it")
    def norm_first_also_of_the_residual(self, norm, x, sublayer):
        """You normalise what goes into each sublayer. This layer is post-LN, as in the paper, so
        add first and then normalise the sum."""
        return norm(x) + self.dropout(sublayer(norm(x)))

    @variants("dropped_first", (False, True))
    def norm_before_the_sum(self, norm, x, sublayer, dropped_first):
        """You normalise each sublayer's output and add x afterwards. What is inside the brackets of
        LayerNorm in the equations?"""
        change = sublayer(x)
        return x + (norm(self.dropout(change)) if dropped_first else self.dropout(norm(change)))

    @called("no residual connection around attention")
    @costs(ATTENDS)
    def attention_added_to_itself(self, norm, x, sublayer):
        """After attention the word itself is lost: what you add to attention's output is that output
        once more. What does the first equation add to it?"""
        if norm is not self.layer_norm1:
            return Layer.add(self, norm, x, sublayer)
        return norm(2 * self.dropout(sublayer(x)))

    @costs(LAYER_DROPS)
    @called("dropout on what the feed-forward network reads")
    def network_input_dropped(self, norm, x, sublayer):
        """You drop numbers before the feed-forward network reads them. It should read the x of the first
        equation whole, and dropout belongs on what it gives."""
        read = x if norm is self.layer_norm1 else self.dropout(x)
        return norm(x + self.dropout(sublayer(read)))

    @costs(LAYER_DROPS)
    @message(DROPPED)
    def dropout_on_the_sum(self, norm, x, sublayer):
        return norm(self.dropout(x + sublayer(x)))

    @costs(LAYER_DROPS)
    @message(DROPPED)
    def dropout_after_the_norm(self, norm, x, sublayer):
        return self.dropout(norm(x + sublayer(x)))


@encoder_layer.mistakes_in(Layer.normalise, costs=FEEDS_FORWARD, of=Layer)
class EncoderLayerNormalise:
    def one_norm_for_both(self, norm, total):
        """Both of your sums pass through `layer_norm1`. The second line has a norm of its own,
        `layer_norm2`."""
        return self.layer_norm1(total)

    @costs(ATTENDS, FEEDS_FORWARD)
    def norms_swapped(self, norm, total):
        """Your two norms have changed places. `layer_norm1` belongs after attention, and
        `layer_norm2` after the feed-forward network."""
        return (self.layer_norm2 if norm is self.layer_norm1 else self.layer_norm1)(total)

    @costs(ATTENDS)
    def first_norm_missing(self, norm, total):
        """The sum after attention is not normalised. `layer_norm1` belongs there."""
        return total if norm is self.layer_norm1 else norm(total)

    def last_norm_missing(self, norm, total):
        """The sum after the feed-forward network is not normalised. `layer_norm2` belongs there."""
        return total if norm is self.layer_norm2 else norm(total)

    @costs(ATTENDS, FEEDS_FORWARD)
    def no_norms(self, norm, total):
        """Your sums are not normalised. Each of the two should be followed by its own norm."""
        return total


@encoder_layer.mistakes_in(Layer.__init__, of=Layer)
class EncoderLayerInit:
    @costs_more(NOTHING_RUNS)
    def only_one_norm_made(self, *sizes, **keywords):
        """There is no `layer_norm2` in your layer. Each of the two lines should have its own norm,
        with weights of its own."""
        Layer.__init__(self, *sizes, **keywords)
        del self.layer_norm2

    @costs(FEEDS_FORWARD)
    def one_norm_under_both_names(self, *sizes, **keywords):
        """`layer_norm1` and `layer_norm2` are one and the same norm in your layer, or the second
        one does the work of both. `a = b = norm` and `[norm] * 2` contain one norm twice, but each
        line needs its own."""
        Layer.__init__(self, *sizes, **keywords)
        self.layer_norm2 = self.layer_norm1

    @costs_more(NOTHING_RUNS)
    def attention_whose_layers_have_other_names(self, d_model, num_heads, d_ff, dropout=DEFAULT):
        """Your `self_attn` has no `w_q`, `w_k`, `w_v` and `w_o`. `nn.MultiheadAttention` keeps its
        weights under other names, and its masks mean the opposite. Which attention does the text
        let you import?"""
        Layer.__init__(self, d_model, num_heads, d_ff, dropout)
        self.self_attn = nn.MultiheadAttention(d_model, num_heads, batch_first=True)

    @costs_more(NOTHING_RUNS)
    def network_whose_layers_have_other_names(self, d_model, num_heads, d_ff, dropout=DEFAULT):
        """Your `feed_forward` has no `w_1` and `w_2`. The class of part 1 has them, whereas an
        `nn.Sequential` numbers its layers."""
        Layer.__init__(self, d_model, num_heads, d_ff, dropout)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model)
        )

    @costs(FEEDS_FORWARD)
    @called("d_ff not handed on to the network")
    @variants("times", (4, 2, 1))
    def network_of_another_width(self, d_model, num_heads, d_ff, dropout=DEFAULT, *, times):
        """The number of inner features of your feed-forward network follows from `d_model`. It is the
        argument `d_ff`. Does your layer pass it on?"""
        Layer.__init__(self, d_model, num_heads, times * d_model, dropout)

    @costs(LAYER_DROPS)
    def dropout_taken_and_not_handed_on_to_the_network(
        self, d_model, num_heads, d_ff, dropout=DEFAULT
    ):
        """Inside your feed-forward network, a tenth is dropped whatever `dropout` is. The network
        takes the probability as an argument. Does your layer pass it on?"""
        Layer.__init__(self, d_model, num_heads, d_ff, dropout)
        self.feed_forward.dropout.p = DEFAULT

    @costs(LAYER_DROPS)
    def dropout_taken_and_not_kept(self, d_model, num_heads, d_ff, dropout=DEFAULT):
        """Whatever `dropout` is, your layer drops a tenth. What becomes of the argument?"""
        Layer.__init__(self, d_model, num_heads, d_ff)

    @costs(LAYER_DROPS)
    def no_dropout_inside_the_network(self, d_model, num_heads, d_ff, dropout=DEFAULT):
        """Inside your feed-forward network nothing is dropped. The text has dropout in three
        places, the two of the equations and the one between the two maps of the network."""
        Layer.__init__(self, d_model, num_heads, d_ff, dropout)
        self.feed_forward.dropout.p = 0.0

    @costs(LAYER_DROPS)
    @variants("share, named", SHARES)
    def a_fixed_dropout_behind_the_sublayers(
        self, d_model, num_heads, d_ff, dropout=DEFAULT, *, share, named
    ):
        """Whatever `dropout` is, {named} of each sublayer's output is dropped. The network gets the
        argument, but which number does the layer's own `nn.Dropout` get?"""
        Layer.__init__(self, d_model, num_heads, d_ff, dropout)
        self.dropout.p = share

    @costs(LAYER_MANNERS)
    @called("another ε in the norms")
    @variants("eps", (1e-6, 1e-8, 1e-12))
    def other_epsilon(self, d_model, num_heads, d_ff, dropout=DEFAULT, *, eps):
        """The ε of your norms is another than 1e-5, which is the default of `nn.LayerNorm`. In float32 the
        difference hardly shows. Which number does the text name?"""
        Layer.__init__(self, d_model, num_heads, d_ff, dropout)
        self.layer_norm1.eps = self.layer_norm2.eps = eps

    @costs(ATTENDS)
    def one_head(self, d_model, num_heads, d_ff, dropout=DEFAULT):
        """Your attention has one head, whatever `num_heads` is. What becomes of the argument?"""
        Layer.__init__(self, d_model, 1, d_ff, dropout)


@encoder_layer.mistakes_in(Layer.attend, costs=MASKED)
class EncoderLayerAttend:
    def mask_dropped(self, x, mask):
        """In the steps marked with a cross, `mask` has no effect in your layer, so words attend to
        what they may not see, such as padding. Which call needs the mask, whatever its shape?"""
        return Layer.attend(self, x, None)

    def mask_inverted(self, x, mask):
        """Your layer hides what the mask shows, and shows what it hides. Here True means *may
        attend*. Which convention does the attention that you call have?"""
        return Layer.attend(self, x, None if mask is None else ~mask)

    def always_causal(self, x, mask):
        """Your layer hides later words even where `mask` does not ask for it. An encoder reads the
        whole sentence, so the layer makes no mask of its own."""
        causal = masks.causal_mask(x.shape[1], x.device)
        return Layer.attend(self, x, causal if mask is None else mask & causal)

    def one_more_axis_for_the_mask(self, x, mask):
        """You give the mask one more axis. It comes in a shape that broadcasts to (B, H, T, T), and a mask
        for each sentence is already (B, 1, T, T) or (B, 1, 1, T)."""
        return Layer.attend(self, x, None if mask is None else mask.unsqueeze(1))

    @costs(LAYER_DROPS)
    @called("dropout on what attention reads")
    @variants("times", (1, 3))
    def attention_input_dropped(self, x, mask, times):
        """You drop numbers of x before attention reads them. Query, key and value are x as it came in, and
        dropout belongs on what attention gives."""
        read = [self.dropout(x) for _ in range(times)] * (3 // times)
        return self.self_attn(*read, mask)[0]

    @variants("cut", (lambda mask: mask[:, :1], lambda mask: mask[..., :1]))
    def first_entries_of_the_mask_alone(self, x, mask, cut):
        """Your layer hands on the first entry of one of the mask's axes, as in `mask[:, :1]`, and so
        one mask stands for many. It comes in a shape that broadcasts to (B, H, T, S). Does anything
        have to be cut?"""
        return Layer.attend(self, x, None if mask is None else cut(mask))

    @costs(ATTENDS)
    def norm_in_front_of_attention_as_well(self, x, mask):
        """Attention reads x after `layer_norm1`, and the sum is normalised once more. In the first
        equation, query, key and value are x as it came in."""
        normed = self.layer_norm1(x)
        return self.self_attn(normed, normed, normed, mask)[0]


@encoder_layer.mistakes_in(Layer.drop, costs=LAYER_DROPS, of=Layer)
class EncoderLayerDrop:
    @message(DROPPED)
    def no_dropout(self, norm, change):
        return change

    def no_dropout_behind_attention(self, norm, change):
        """In train mode, attention's output is added without dropout, but both equations have
        one."""
        return change if norm is self.layer_norm1 else self.dropout(change)

    @called("no dropout behind the feed-forward network")
    def no_dropout_behind_feed_forward(self, norm, change):
        """In train mode, the feed-forward network's output is added without dropout. The dropout
        inside the network does not replace it, since both equations have one."""
        return change if norm is self.layer_norm2 else self.dropout(change)

    def dropout_in_eval_mode(self, norm, change):
        """Your layer also drops numbers in eval mode. `nn.Dropout` follows the mode by itself, but
        `F.dropout` must be told. What does its argument `training` mean?"""
        return F.dropout(change, self.dropout.p)

    @variants("share", (DEFAULT, 0.5))
    @message(IN_EITHER_MODE)
    def a_fixed_dropout_in_either_mode(self, norm, change, share):
        return F.dropout(change, share)

    def whole_words_dropped(self, norm, change):
        """In train mode your layer drops a sublayer's output for whole words, as `nn.Dropout1d`
        does. `nn.Dropout` decides about each number independently."""
        return F.dropout1d(change, self.dropout.p, self.training)


@encoder_layer.mistake("dropout on the residual", DROPPED, costs=LAYER_DROPS)
class DropoutOnResidual(Layer):
    def keep(self, norm, x):
        return self.dropout(x)

    def drop(self, norm, change):
        return change
