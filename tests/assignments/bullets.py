"""What holds each bullet of the assignments' texts: the wrong answers that break it, and just it.

By assignment, the beginning of a bullet and what it needs. A bullet that promises something has wrong
answers (names of the banks', or of named mistakes) that lose points; one that leaves something free has
right answers that make use of it; one about grading has tests; one that only tells has nothing.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Needs:
    breaks: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()


TELLS = Needs()


def breaks(*names, uses=()):
    return Needs(breaks=names, uses=uses)


def uses(*names):
    return Needs(uses=names)


def tested(*names):
    return Needs(tests=names)


BARRED = tested(
    "tests/autograder/probe/test_op_blocker.py::test_no_road_leads_to_the_answer_itself",
    "tests/autograder/checks/test_source_rules.py::test_the_answer_itself_is_found",
    "tests/assignments/test_bullets.py::test_what_the_text_calls_disallowed_is_disallowed",
)
STOOD_IN = tested(
    "tests/autograder/grade/test_grading.py::test_ours_stands_in_only_once_all_that_comes_before_is_decided",
    "tests/autograder/checks/test_follow_through.py::test_a_stand_in_earns_every_point_by_itself",
)
EVERYWHERE = {
    "Write your answer where it says so": TELLS,
    "`check` tries your code on": TELLS,
}

BULLETS = {
    "a1_rnn_attention": {
        "Any code that does": uses("joined_by_loops", "InEinsum", "InLoops"),
        "Anything that would be the answer itself": BARRED,
        "Your code must not change its inputs": breaks(
            "joined_in_place", "StateChanged", "AnnotationsChanged", "MaskChanged", "in_float32",
            "joined_for_contiguous_states", "ContiguousInputsOnly", "detached", "WeightsDetached", "FrozenKeys",
        ),
        "The inputs have shapes that fit": TELLS,
        "**A hidden word**": breaks(
            "mask applied after the softmax", "NotLargeEnough", "MaskAsLengths",
        ),
        "**A sentence in which everything is hidden**": breaks(
            "LargeNumberAlone", "InfinityAlone", "RaisesWhereAllIsHidden",
        ),
        "There is no dropout": breaks("DropoutThatActs"),
    },
    "a2_self_attention": {
        "Any code that does": uses("weights_by_loops", "context_by_einsum", "batch_by_three_loops"),
        "Anything that would be the answer itself": BARRED,
        "A function never changes its inputs": breaks(
            "weights_that_change_their_input", "batch_in_place", "in_float32", "detached", "context_detached",
            "batch_without_gradient_for_the_keys",
        ),
        "A later part may call": STOOD_IN,
        "The lecture writes": TELLS,
        "**Nothing here is scaled.**": breaks("scaled although unscaled was asked"),
        "`f` maps a `(T, D)` tensor": breaks("asked_about_tables_alone"),
        "`permutation` is a `LongTensor`": breaks("permutation undone in the wrong direction"),
        "Two results count as equal": breaks(
            "exact equality", "too strict with large numbers, too generous with small ones", "tolerance too wide",
        ),
        "The result is a plain Python `bool`": breaks("asked_for_a_numpy_bool"),
    },
    "a3_scaled_dot_product_attention": {
        "Any code that does": uses("sentence_by_loops", "attention_by_broadcasting"),
        "Anything that would be the answer itself": BARRED,
        "A function never changes its inputs": breaks(
            "softmax_in_place_on_the_input", "sentence_that_scales_its_input",
            "attention_that_scales_the_query_itself", "attention_that_changes_the_mask",
        ),
        "Part 2 may call": STOOD_IN,
        "The score of two words": breaks("not scaled"),
        "Every finite score is allowed": breaks("overflow", "one maximum for the whole array"),
        "A score of $-\\infty$": breaks("softmax_without_infinities"),
        "Only the values count here": uses("sentence_in_double"),
        "**Axes.**": breaks("attention_for_three_axes_by_number", "value width assumed = key width"),
        "**What a mask is for.**": breaks("inverted mask"),
        "**Shape of the mask.**": breaks(
            "attention_with_a_mask_per_head", "hidden by a number that is not low enough", "mask in the weights alone",
        ),
        "**Nothing to attend to.**": breaks(
            "NaN where nothing is visible", "attention_with_nan_in_the_gradient",
        ),
        "**Large scores.**": breaks("attention_of_exponentials"),
        "**Tensors.**": breaks(
            "in_float32", "without_gaps", "attention_with_detached_weights",
        ),
        "You need not check": TELLS,
    },
    "a4_masks": {
        "Any code that does": uses("causal_by_loops", "decoder_by_comparing_positions"),
        "Anything that would be the answer itself": BARRED,
        "A later part may call": STOOD_IN,
        "You may call `causal_mask`": uses("decoder_from_two_masks"),
        "Again only keys are hidden": breaks("pads hidden as queries too"),
        "Where a sentence *begins*": breaks("padding sees itself", "rows without any True opened"),
    },
    "a5_multi_head_attention": {
        "Any code that does": uses("split_by_a_loop", "WithEinsum", "WithALoopOverHeads"),
        "Anything that would be the answer itself": BARRED,
        "You may bring a": uses("AsInTheLecture"),
        "Your code must not change its inputs": breaks(
            "scaled_in_place", "merge_in_place", "ChangesItsQuery", "ChangesItsMask", "in_float32", "without_gaps",
            "detached",
        ),
        "Part 3 may call": STOOD_IN,
        "**The mask** comes ready": breaks(
            "a mask of three axes taken for one per sentence", "masks of four axes alone",
            "the first head's mask for all",
        ),
        "**A hidden weight is exactly 0**": breaks(
            "mask after the softmax", "WithANumberThatIsNotLargeEnough",
        ),
        "**A query that may attend to nothing**": breaks(
            "NaN where nothing is visible", "hidden keys shared where nothing is visible", "WithNanInTheGradient",
        ),
        "**Large scores** give weights": breaks("softmax that overflows", "WithOneMaximumForAllRows"),
        "There is no dropout": breaks("DropoutThatActs", "KeepsTheContextsOfEarlierCalls"),
    },
    "a6_positional_encoding": {
        "Any code that does": uses("table_by_two_loops", "WithALoopOverWords"),
        "In all three parts": BARRED,
        "A function never changes its inputs": breaks(
            "InPlace", "WithTheRowsOfItsFirstCall", "WithTheSumOfItsFirstCall",
        ),
        "A later part may call": STOOD_IN,
        "`length` and `d_model` are whole numbers": TELLS,
        "`d_model` may be **odd**": breaks(
            "last column empty at odd widths", "odd width treated like the even one below",
        ),
        "The result is `float32`": breaks("float64 returned"),
        "At positions in the thousands": breaks(
            "table_with_coarse_angles", uses=("table_by_turning_step_by_step",)
        ),
        "The module has no parameters": breaks(
            "WithAFrozenParameter", uses=("WithoutSavingTheTable",)
        ),
        "Dropout acts on the **sum**": breaks(
            "dropout on the positions only", "dropout in eval mode", "DroppingWholeWords",
            "DroppingWithoutMakingUpForIt",
        ),
        "If $T$ is greater than `max_len`": breaks(
            "WithoutACheck", "WithAnErrorTooEarly", "WithAnAssert",
        ),
        "The result has the dtype and the device": breaks(
            "in_float32", "WithATableOfNumPysNumbers", "detached",
        ),
        "`x` itself stays as it was": breaks("AddedInPlaceWithoutNoGrad", "without_gaps"),
        "Draw with `imshow`": breaks("picture_of_curves", uses=("picture_by_matshow",)),
        "The function opens no other figure": breaks(
            "picture_beside_an_empty_figure", "picture_as_printed", "figure closed",
        ),
        "The colours and the shape of the cells": uses("picture_with_ten_colours_and_half_transparent"),
    },
    "a7_dropout_and_layer_norm": {
        "Any code that does": uses("ByLoop", "ByEinsum", "BySentence"),
        "Anything that would be the answer itself": BARRED,
        "In parts 1 and 2 you write an `nn.Module`": breaks(
            "NoModule", "in_float32", "InPlace", "without_gaps", "detached", "FrozenParameters", "ScalesItsQuery",
        ),
        "Part 2 may use your": STOOD_IN,
        "The dots stand for any leading axes": breaks("right for three axes only", "batch axis"),
        "There is one mode": breaks("RunningStatistics"),
        "Where all features of a token are equal": breaks("NanInTheGradient", "epsilon missing"),
        "You need not think of tokens": TELLS,
        "The softmax runs over the $S$ keys": breaks("softmax over the queries", "OnlyAsManyKeysAsQueries", "FixedWidth"),
        "In train mode, each weight becomes 0": breaks(
            "NotMadeUpFor", "SameNumberInEachRow", "dropout in eval mode",
            "rows made to sum to one after the dropout",
        ),
        "Whether `nn.Dropout` does the work": breaks(
            "DropoutIsNoSubmodule", uses=("ByHandWrittenDropout",)
        ),
        "In each draw every weight becomes 0": breaks(
            "one mask for all rows", "whole rows dropped", "sums_with_masks_shared_by_pairs",
            "not divided by 1 − rate", "sums_repaired", "one mask for all draws",
        ),
        "For the standard deviation": breaks("unbiased standard deviation", "variance returned"),
        "Where all draws give a row the same sum": breaks("spread_by_a_difference_of_squares"),
        "With a `generator`": breaks(
            "sums_by_dropout_alone", "nothing drawn from the generator itself", "sums_by_numpy",
            uses=("sums_by_bernoulli", "sums_by_functional_dropout"),
        ),
        "Without a `generator`": breaks("sums_seeded_where_no_generator_is"),
        "The two results have the dtype": breaks(
            "sums_in_double_precision", "sums_of_weights_overwritten", uses=("sums_from_masked_copies",),
        ),
        "First question": TELLS,
        "Second question": TELLS,
        "No points off": TELLS,
    },
    "a8_transformer_layer": {
        "Any code that does": uses("NetworkByEinsum", "LayerOneSentenceAtATime"),
        "Nothing is trained here": breaks(
            "NetworkWithMapsOfOtherNames", "NetworkWithMapsInAList", "LayerWithEverythingInAList",
        ),
        "You may import `course_utils.attention`": uses("LayerInTwoLines"),
        "Anything that would be the answer itself": BARRED,
        "Masks are `bool`": breaks(
            "mask inverted", "turned_in_place", "LayerThatChangesItsInput", "LayerThatChangesTheMask", "in_float32",
            "without_gaps", "detached", "LayerWithADetachedResidual",
        ),
        "Part 2 may use your class": STOOD_IN,
        "`dropout` is the probability": breaks(
            "NetworkThatDoesNotScaleWhatIsLeft", "NetworkThatDropsWholeWords", "NetworkWithItsOwnDefault",
            "dropout in eval mode",
        ),
        "It makes no difference": uses("NetworkDroppingBeforeTheReLU"),
        "Residual connection and norm": breaks("residual inside the network", "norm inside the network"),
        "**The mask** comes ready": breaks(
            "LayerForMasksOfOneSentence", "one more axis for the mask", "stops where no mask is given", "always causal",
        ),
        "Where the mask hides everything": breaks("LayerOfNaNs", "LayerThatLooksEvenlyWhereAllIsHidden"),
        "**Dropout** acts in train mode only": breaks(
            "no dropout behind attention", "no dropout behind the feed-forward network",
            "no dropout inside the network", "a fixed dropout behind the sublayers",
        ),
    },
    "a9_transformer": {
        "Any code that does": uses("LayerByEinsum", "ModelByEinsum", "decoded_one_sentence_at_a_time"),
        "Nothing is trained here": breaks("LayerWithNormsInAList", "ModelWithLayersInAPythonList"),
        "You may import what you need": uses("LayerOnTopOfTheEncoders"),
        "Anything that would be the answer itself": BARRED,
        "Masks are `bool`": breaks(
            "masks inverted", "turned_in_place", "decoded_with_the_source_overwritten", "in_float32",
            "detached", "ModelWithADetachedMemory",
        ),
        "If part 1 is wrong": STOOD_IN,
        "`None` hides nothing": breaks("always causal"),
        "`dropout` is the probability in the three": breaks(
            "no dropout behind self-attention", "no dropout behind cross-attention",
            "no dropout behind the feed-forward network", "no dropout inside the network",
        ),
        "Where a mask hides everything": breaks("LayerThatAddsALargeNegativeNumber"),
        "`tgt` is **already shifted**": breaks(
            "ModelThatShiftsOnceMore", "the future leaks", "a position does not see itself",
        ),
        "No word attends to padding": breaks(
            "source mask missing in the encoder", "memory mask missing", "pad_id taken to be 0",
        ),
        "Logits are raw": breaks("softmax before the loss", "a norm on top of the decoder"),
        "A source or target longer than `max_len`": breaks(
            "argument max_len not kept", "ModelThatAssertsItsLengths", "ModelThatRefusesASourceOfMaxLen",
        ),
        "Your results are compared at real words": uses("ModelWithACausalMaskAlone"),
        "`dropout` is the probability everywhere": breaks(
            "dropout not handed on to the layers", "no dropout on words plus positions",
        ),
        "`num_layers` may be 0": breaks("ModelForOneLayer"),
        "Column 0 is `bos_id`": breaks("BOS left out", "EOS left out"),
        "A row that has ended gets": breaks("finished rows keep growing", "a row ended by padding"),
        "When every row has ended": breaks("decoded_longer_and_cut", "EOS ignored"),
        "Every part of the model is in eval mode": breaks(
            "decoding in train mode", "model left in eval mode", "only the model itself has its mode back",
        ),
    },
    "a10_language_models": {
        "Any code that does": uses("RowByRow", "loss_by_loops", "drawn_by_gumbel", "merges_by_a_heap"),
        "You may import what you need": uses("WithFunctionalLinear", "WithOwnLayers"),
        "Anything that would be the answer itself": BARRED,
        "Inputs are never changed": breaks(
            "logits changed", "ids_hidden_in_place", "word_counts_emptied", "ids_overwritten",
            "torch_seeded_with_the_generator",
        ),
        "Ids are `int64`": breaks(
            "ids_of_32_bits", "detached", "OutputCutOffFromTheTable", "a_number_of_python",
        ),
        "Row $t$ of the logits": breaks(
            "no mask", "mask leaks by one", "word itself hidden", "mask in the first layer only",
        ),
        "**Every id is a word**": breaks("id 0 taken for padding", "ZeroHasNoVector"),
        "The layers are": breaks(
            "one layer repeated", "layers before the norm", "dropout not handed on", uses=("WithOwnLayers",),
        ),
        "The logits are made": breaks(
            "OutputOfItsOwn", "OutputWithABias", "embedding times √d_model", "a norm after the last layer",
            "softmax of the logits",
        ),
        "Where $T$ is larger": breaks("no ValueError beyond max_len", "cut off in silence", "max_len itself refused"),
        "How the weights start": uses("WithFunctionalDropout"),
        "The last place's logits": breaks("not shifted", "rolled", "last target left out"),
        "A target counts when": breaks(
            "padding of the input in place of the target", "both input and target looked at", "padding counted",
        ),
        "`pad_id` may be any": breaks("pad_id fixed at 0", "mean of sentence means"),
        "Logits of hundreds": breaks("log of the softmax", "probabilities kept from zero"),
        "`temperature=0` takes": breaks("temperature 0 divides by zero", "temperature clamped"),
        "`None` cuts nothing": breaks("top_p = 1 refused"),
        "A logit of −∞": breaks(
            "infinities_made_finite", "exponentials that overflow", "one maximum for all rows",
        ),
        "A ValueError says that the temperature": breaks(
            "anything_goes", "no check at temperature 0", "top_p not checked",
        ),
        "With a `generator`, all random numbers come from it. The same": breaks(
            "generator ignored", "nothing drawn from the generator itself", "seeded anew",
            uses=("drawn_by_the_inverse",),
        ),
        "You need not care": TELLS,
        "Every token whose id": breaks(
            "special tokens chosen", "only the first special id left out", "the same places in every sentence",
            "share fixed", "exactly the share chosen",
        ),
        "In `targets` stands": breaks("targets taken after masking", "0 in place of −100", "targets everywhere"),
        "In `inputs`, each chosen": breaks(
            "all chosen words masked", "a tenth of the rest", "one random word for all places",
            "the last id never drawn", "only the first ids drawn", "a fate that the word decides",
        ),
        "Whether special ids are left": uses("masked_without_special_random_words"),
        "With a `generator`, all random numbers come from it; with": breaks(
            "numbers_of_python", "generator_used_for_one_of_three_draws",
        ),
        "Every pair of neighbouring": breaks("counts ignored", "each pair counted once a word", "pairs across words"),
        "The most frequent pair": breaks(
            "of equal pairs the first one seen", "of equal pairs the smallest joined text", "the rarest pair",
        ),
        "A pair is joined everywhere": breaks(
            "joined from right to left", "only the first place in a word joined", "not counted again",
        ),
        "The result holds": breaks(
            "one merge too many", "stops when pairs stand only once", "stops with an error when no pair is left",
        ),
        "Words have one letter": breaks("upper and lower case taken for one"),
        "Lists or tuples": uses("merges_by_a_heap"),
    },
    "a11_fast_attention": {
        "Any code that does": uses("cached_word_by_word", "HeadByHead", "tiles_in_two_passes", "window_by_loops"),
        "You may import `course_utils.attention`": uses("cached_with_the_courses_softmax", "HeadByHead"),
        "Anything that would be the answer itself": BARRED,
        "Inputs are never changed": breaks(
            "scaled_in_place", "in_float32_throughout", "sums_in_float32", "detached_cache",
        ),
        "Masks are `bool`": breaks(
            "mask the wrong way round", "hidden where it should show", "numbers for bool",
        ),
        "New word $i$ stands": breaks("mask from the top left", "word itself hidden", "past hidden"),
        "Scores are divided by $\\sqrt{d_k}$. The keys": breaks("not scaled", "scaled keys kept"),
        "Handing the second result": breaks(
            "only the new words given back", "only the old cache given back", "an empty cache refused",
        ),
        "The cache that was given": breaks("cached tensors changed", "a memory outside the function"),
        "The queries are the **last**": breaks("queries taken for the first words", "square_of_queries"),
        "So the window counts": breaks("one word too many", "one word too few"),
        "The window may be longer": breaks("window larger than the text refused"),
        "A ValueError says that there are more": breaks(
            "no ValueError", "more queries than keys let through", "a window below 1 let through",
        ),
        "Query head $h$ uses": breaks(
            "KeyHeadsTiled", "the first key head for all", "num_kv_heads taken for the size of a group",
        ),
        "Heads are cut and merged": breaks(
            "reshape without transpose", "heads merged without transpose", "divided by the root of another width",
        ),
        "A hidden weight is exactly 0": breaks(
            "NaN where nothing may be attended to", "weights where nothing may be attended to",
            "NaN in gradients where nothing may be attended to",
        ),
        "Where `num_heads` does not": breaks("ErrorWithoutNumbers", "an assert for the ValueError"),
        "There are no further": breaks("WithAFurtherNorm"),
        "It equals scaled": breaks(
            "last block dropped", "only the output rescaled", "only the sum rescaled", "nothing rescaled",
        ),
        "Scores may be far above": breaks(
            "no maximum taken off", "maximum that does not begin at −∞", "one maximum for all rows",
        ),
        "A mask may hide": breaks(
            "the average where nothing may be attended to", "NaN from a hidden block",
            "the first block's mask for every block",
        ),
        "**At no time may new": breaks(
            "everything at once", "keys_copied_first", "sums_of_each_block_kept",
            "the mask copied for all heads",
        ),
    },
    "a12_modern_block": {
        "Any code that does": uses("TokenByToken", "rotary_by_complex_numbers", "ByGlu", "HeadByHead"),
        "You may import `course_utils.attention`": uses("WithTheCoursesAttention"),
        "Anything that would be the answer itself": BARRED,
        "Inputs are never changed": breaks(
            "x changed in place", "turned_in_place", "float32 always", "detached", "MendsTheMask",
            "by_single_complex_numbers", "NormsInSingle", uses=("rotary_in_float32",),
        ),
        "Nothing is remembered": breaks(
            "tables_kept_by_length", "RemembersItsPositions", "RemembersThePositionsOfEachLength",
            "CountsItsFirstWords", "RemembersItsMask", "RemembersItsRoots", "RemembersItsGate",
        ),
        "Masks are `bool`": breaks("mask upside down"),
        "The mean is taken": breaks("mean over other axes than the features", "sum of squares instead of their mean"),
        "γ is `weight`": breaks("ZerosFirst", "WithABias", "one plus the weight"),
        "ε is `eps`": breaks("ε outside the root", "ε fixed"),
        "Features $2k$": breaks("halves for neighbours", "pairs taken from the two halves"),
        "The pair is turned": breaks("turned the other way", "exponent k / d_k", "base ignored"),
        "All heads of a sentence": breaks("batch axis taken for heads", "positions along the heads"),
        "Every position is divided": breaks("factor multiplied", "factor ignored", "whole-number division by factor"),
        "If $d_k$ is odd": breaks("the_last_feature_as_it_is"),
        "The dot is": breaks("added instead of multiplied", "no gate"),
        "`F.silu`, `F.scaled": uses("ByFunctional", "WithPyTorchsAttention", "rotary_by_complex_numbers"),
        "`d_ff` is taken": uses("ByFunctional"),
        "There is no dropout, and there are no further parameters.": breaks("dropout inside", "WithBiases"),
        "Heads are cut and merged": breaks(
            "reshape without transpose", "turned before the heads are cut", "values turned",
        ),
        "Scores are divided": breaks("not scaled", "divided by √d_model"),
        "A head in which a word may attend": breaks(
            "the average where nothing may be attended to", "AverageWhereOneHeadIsBlind", "NothingWhereOneHeadIsBlind",
            "AddsMinusInfinity",
        ),
        "Where `num_heads` does not": breaks("heads that do not fit pass"),
    },
    "a13_looking_inside": {
        "Any code that does": uses("score_by_loops", "ablated_by_zero_columns", "patched_layer_by_layer", "lens_by_hooks"),
        "You may import the course's modules": uses("patched_by_hooks", "lens_layer_by_layer"),
        "Anything that would be the answer itself": BARRED,
        "Inputs are never changed": breaks(
            "score_that_clears_the_rest", "ablated_with_its_list_emptied", "lens_that_remembers",
            "float32 always", "patched_with_what_was_kept_last_time",
        ),
        "The model is in **eval mode**": breaks(
            "run in train mode", "model left in eval mode", "all parts in train mode afterwards",
            "the model's own mode given to all its parts",
        ),
        "Nothing of yours stays": breaks(
            "hook left", "ablated_with_columns_divided", "hooks of others removed", "ablated_and_frozen",
            "ablated_without_gradients_of_others", "ablated_with_a_note_on_it", "ablated_in_another_list",
            "ablated_with_parameters_of_its_own", "patched_and_kept_in_the_model", "lens_with_rows_on_the_model",
        ),
        "All of this also holds": breaks(
            "hook left after an error", "w_o not put back after an error", "patched_with_a_layer_left",
            "left in eval mode after an error",
        ),
        "Gradients need not flow": uses(
            "ablated_by_hooks", "ablated_by_another_module", "patched_in_a_copy", "lens_with_layers_taken_off",
        ),
        "**All** earlier copies": breaks("nearest copy only", "mean over the copies", "largest of the copies"),
        "Queries of the first copy": breaks("first copy counted as zeros", "one diagonal"),
        "Where `start` + `period`": breaks("no error where nothing is repeated", "a copy that is cut short refused"),
        "The weights may be any finite numbers": breaks("rows divided by their sum", "detached"),
        "What each of these heads hands": breaks(
            "output of w_o zeroed", "later layers do not see the change", "one position only",
        ),
        "Where `means` is given": breaks("means ignored", "means added"),
        "Pairs come in any order": breaks("ablated_by_the_number_of_a_pair", "ablated_where_something_is_named"),
        "A pair outside the model": breaks("pairs outside the model pass", "negative numbers pass"),
        "The input of `model.layers[layer]`": breaks(
            "all positions, or the clean run's logits", "one sentence's vector for all", "the layer's output",
        ),
        "Both runs are in eval mode": breaks("clean run in train mode", "corrupted run in train mode"),
        "A layer or position outside": breaks("negative positions pass", "shapes not compared"),
        "Row 0 is": breaks("embeddings left out", "attention's outputs for the stream", "mask forgotten"),
        "So the last row": breaks("norm applied twice", "no norm in the last row"),
        "The result is one tensor": breaks("a list of rows"),
    },
}  # fmt: skip
