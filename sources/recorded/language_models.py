"""What lecture 9 claims of its models, with five seeds and at other rates.

    python sources/recorded/language_models.py causal      # 45 minutes on a busy core
    python sources/recorded/language_models.py masked      # 20 minutes
    python sources/recorded/language_models.py tuned       # 25 minutes

`causal` prints a line for each causal model: nats per token above the entropy; for four settings how
probable a sentence of the language is, and the probability of the sentences that can no longer be
generated; and how often the first word of 500 questions is right, if the model predicts it after <bos>, if it
scores whole sentences with "is" and with "are", and with each word of the vocabulary.

`masked` prints how often a masked model fills in that word. `tuned` prints, before and after fine-tuning
all parameters or low-rank updates, how many of 1000 answers are sentences of the language, how many of these end
with the mark that was asked for, and the loss on the language itself.

Shapes: N sentences, B batch, T length with <bos>, <eos> and padding, V vocabulary.
"""

import copy
import sys

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from course_utils.language_models import (
    CausalLanguageModel,
    MaskedLanguageModel,
    mask_words,
    next_token_loss,
    next_token_probabilities,
    sample_next,
)
from lecture_kit import data
from lecture_kit.experiments.known_language import (
    beginnings,
    exact_loss,
    known_language,
    logits_of_beginnings,
    train,
)

SEEDS = range(5)
SETTINGS = {
    "τ 1": {},
    "τ 1, p 0.9": {"top_p": 0.9},
    "τ 1.6, k 5": {"temperature": 1.6, "top_k": 5},
    "τ 1.6, p 0.9": {"temperature": 1.6, "top_p": 0.9},
}
MARKS = "? ."
RANK, TUNING_STEPS = 4, 200
TUNING_RATES = {"low rank": 0.01, "all": 0.002}


def causal_model(seed: int, steps: int, peak: float) -> CausalLanguageModel:
    """The causal model of lecture 9."""
    language = known_language()
    torch.manual_seed(seed)
    size, longest = len(language.vocabulary), language.ids.shape[1]
    model = CausalLanguageModel(size, 64, 4, 2, 128, dropout=0.0, max_len=longest)
    train(model, lambda m, batch, _: next_token_loss(m(batch), batch), steps, seed, peak)
    return model


def drawn_questions(number: int = 250) -> Tensor:
    """Questions that begin with "is", then as many with "are": ids (2 * number, T)."""
    language, generator = known_language(), torch.Generator().manual_seed(0)
    found = []
    for first in ("is ", "are "):
        which = [k for k, text in enumerate(language.sentences) if text.startswith(first)]
        shares = language.probability[which]
        drawn = torch.multinomial(shares, number, replacement=True, generator=generator)
        found.append(language.ids[torch.tensor(which)[drawn]])
    return torch.cat(found)


@torch.no_grad()
def scores(model: nn.Module, ids: Tensor) -> Tensor:
    """The logarithm of each sentence's probability: ids (N, T) → (N,)."""
    found = []
    for batch in ids.split(2000):
        logits = model(batch)[:, :-1].transpose(1, 2)  # (B, V, T - 1)
        found.append(
            -F.cross_entropy(logits, batch[:, 1:], ignore_index=0, reduction="none").sum(1)
        )
    return torch.cat(found)


def first_words_right(model: nn.Module) -> list[float]:
    """Shares of 500 questions: predicted after <bos>, two candidates scored, all words scored."""
    asked = drawn_questions()
    two = torch.tensor(known_language().vocabulary.encode("is are"))
    with torch.no_grad():
        likelier = two[model(asked)[:, 0, two].argmax(dim=-1)]
    right = [(likelier == asked[:, 1]).float().mean().item()]
    words = torch.arange(len(data.SPECIALS), len(known_language().vocabulary))
    for candidates in (two, words):
        filled = asked.repeat_interleave(len(candidates), dim=0)
        filled[:, 1] = candidates.repeat(len(asked))
        best = candidates[scores(model, filled).view(len(asked), -1).argmax(dim=-1)]
        right.append((best == asked[:, 1]).float().mean().item())
    return right


def causal() -> None:
    """Three recipes; the first is the lecture's."""
    language, which = known_language(), beginnings()
    targets = language.ids[:, 1:]
    for steps, peak, seeds in [(600, 0.004, 5), (600, 0.012, 5), (1800, 0.004, 3)]:
        for seed in range(seeds):
            model = causal_model(seed, steps, peak)
            logits, numbers = logits_of_beginnings(model), []
            for settings in SETTINGS.values():
                chances = next_token_probabilities(logits, **settings)[which, targets].double()
                sentence = chances.masked_fill(targets == data.PAD_ID, 1.0).prod(dim=1)  # (N,)
                if not numbers:
                    surprise = -(language.probability * sentence.log()).sum().item()
                    numbers.append(surprise / language.tokens - language.floor)
                lost = language.probability[sentence == 0].sum().item()
                numbers += [sentence.sum().item(), lost]
            numbers += first_words_right(model)
            print("causal", steps, peak, seed, *[f"{x:.4f}" for x in numbers], flush=True)


def masked() -> None:
    """Two recipes; the first is the lecture's."""
    language = known_language()
    mask_id = len(language.vocabulary)

    def loss(model: nn.Module, batch: Tensor, generator: torch.Generator) -> Tensor:
        inputs, targets = mask_words(batch, mask_id, mask_id + 1, (0, 1, 2), generator=generator)
        return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())

    asked = drawn_questions()
    hidden = asked.clone()
    hidden[:, 1] = mask_id
    for steps, peak, seeds in [(1200, 0.004, 5), (1200, 0.008, 3)]:
        for seed in range(seeds):
            torch.manual_seed(seed)
            longest = language.ids.shape[1]
            model = MaskedLanguageModel(mask_id + 1, 64, 4, 2, 128, dropout=0.0, max_len=longest)
            train(model, loss, steps, seed, peak)
            with torch.no_grad():
                filled = model(hidden)[:, 1].argmax(dim=-1)
            right = (filled == asked[:, 1]).float().mean().item()
            print("masked", steps, peak, seed, f"{right:.4f}", flush=True)


class LowRank(nn.Module):
    """A linear map that stays as it is, and an update of low rank that is learned."""

    def __init__(self, linear: nn.Linear, rank: int) -> None:
        super().__init__()
        self.linear = linear
        self.down = nn.Linear(linear.in_features, rank, bias=False)
        self.up = nn.Linear(rank, linear.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x: Tensor) -> Tensor:
        """The map and its update: (..., in_features) → (..., out_features)."""
        return self.linear(x) + self.up(self.down(x))


def with_updates(model: nn.Module) -> nn.Module:
    """A copy whose attention maps have low-rank updates; nothing else is learned."""
    model = copy.deepcopy(model).requires_grad_(False)
    for layer in model.layers:
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(layer.self_attn, name, LowRank(getattr(layer.self_attn, name), RANK))
    return model


def conversations(number: int, generator: torch.Generator) -> Tensor:
    """<bos> mark <eos> <bos> a sentence that ends with the mark <eos>: ids (number, T)."""
    language = known_language()
    short = (language.ids[:, -3:] == data.PAD_ID).all(dim=1).nonzero().squeeze(1)
    shares = language.probability[short]
    drawn = torch.multinomial(shares, number, replacement=True, generator=generator)
    answers = language.ids[short[drawn], :-3]
    prompts = torch.tensor([[data.BOS_ID, 0, data.EOS_ID]]).repeat(number, 1)
    question, stop = language.vocabulary.encode(MARKS)
    is_question = (answers == question).any(dim=1)
    prompts[:, 1] = torch.where(is_question, question, stop)
    return torch.cat([prompts, answers], dim=1)


def tune(model: nn.Module, seed: int, rate: float) -> None:
    """Fine-tune on conversations, with the loss at the answers alone."""
    generator = torch.Generator().manual_seed(seed)
    learned = [part for part in model.parameters() if part.requires_grad]
    optimizer = torch.optim.Adam(learned, lr=rate)
    for step in range(TUNING_STEPS):
        optimizer.param_groups[0]["lr"] = rate * (1 - step / TUNING_STEPS)
        ids = conversations(128, generator)
        targets = ids.clone()
        targets[:, :4] = data.PAD_ID  # the prompt, up to the <bos> of the answer
        logits = model(ids)[:, :-1].transpose(1, 2)
        loss = F.cross_entropy(logits, targets[:, 1:], ignore_index=data.PAD_ID)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def answers_right(model: nn.Module) -> tuple[float, float]:
    """Shares of 1000 answers: in the language, and in the language with the mark asked for."""
    language, generator = known_language(), torch.Generator().manual_seed(1)
    known = set(language.sentences)
    ids = torch.tensor([[data.BOS_ID, 0, data.EOS_ID, data.BOS_ID]]).repeat(1000, 1)
    ids[:, 1] = torch.tensor(language.vocabulary.encode(MARKS)).repeat(500)
    while ids.shape[1] < language.ids.shape[1]:
        following = sample_next(model(ids)[:, -1], generator=generator)
        ended = (ids[:, 4:] == data.EOS_ID).any(dim=1)
        ids = torch.cat([ids, following.masked_fill(ended, data.PAD_ID).unsqueeze(1)], dim=1)
    right = torch.tensor([language.vocabulary.decode(row[3:]) in known for row in ids])
    obeyed = (ids[:, 4:] == ids[:, 1:2]).any(dim=1)
    return right.float().mean().item(), (right & obeyed).float().mean().item()


def tuned() -> None:
    """Before, low-rank updates, and all parameters, for each seed."""
    for seed in SEEDS:
        before = causal_model(seed, 600, 0.004)
        models = {"before": before, "low rank": with_updates(before), "all": copy.deepcopy(before)}
        for name, model in models.items():
            if name in TUNING_RATES:
                tune(model, seed, TUNING_RATES[name])
            learned = sum(part.numel() for part in model.parameters() if part.requires_grad)
            numbers = *answers_right(model), exact_loss(model) - known_language().floor
            print("tuned", seed, f"{name:<9}", learned, *[f"{x:.4f}" for x in numbers], flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"causal": causal, "masked": masked, "tuned": tuned}[sys.argv[1]]()
