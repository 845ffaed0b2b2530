"""Slow answers that are right: number by number, and everything with everything."""

import torch

from assignments.a13_looking_inside.answers.bank import BANK
from assignments.common.slow import (
    each_word,
    mapped,
    mapped_at_once,
    turned_by_numbers,
    turned_by_products,
    weighed,
    weighed_at_once,
)
from autograder.bank.answers import LOOPS, PRODUCTS
from course_utils.evaluation import evaluating


def refuse_period(weights, period, start):
    if start + period >= weights.shape[-1]:
        raise ValueError(f"from {start} on, nothing repeats after {period} tokens")


@BANK.right("induction_score", slow=LOOPS)
def score_number_by_number(weights, period, start=0):
    refuse_period(weights, period, start)
    B, H, T, _ = weights.shape
    scores = []
    for h in range(H):
        total = weights.new_zeros(())
        for b in range(B):
            for i in range(start + period, T):
                for j in range(start + 1, i + 1):
                    if (i + 1 - j) % period == 0:
                        total = total + weights[b, h, i, j]
        scores.append(total / (B * (T - start - period)))
    return torch.stack(scores)


@BANK.right("induction_score", slow=PRODUCTS)
def score_by_products(weights, period, start=0):
    refuse_period(weights, period, start)
    B, _, T, _ = weights.shape
    places = torch.arange(T)
    later = (places >= start + period).to(weights.dtype)
    known = (places > start).to(weights.dtype)
    back = places.unsqueeze(1) + 1 - places
    follows = ((back > 0) & (back % period == 0)).to(weights.dtype)
    return torch.einsum("bhij,ij,i,j->h", weights, follows, later, known) / (B * later.sum())


class Numbers:
    """A model's own steps, number by number."""

    @staticmethod
    def norm(norm, x):
        def word(word):
            total = sum(word[j] * word[j] for j in range(len(word)))
            root = (total / len(word) + norm.eps) ** 0.5
            return torch.stack([word[j] / root * norm.weight[j] for j in range(len(word))])

        return each_word(word, x)

    @staticmethod
    def linear(layer, x):
        return each_word(lambda word: mapped(layer, word), x)

    @staticmethod
    def embed(table, ids):
        words = [
            [table.weight[token, j] for j in range(table.embedding_dim)]
            for row in ids
            for token in row
        ]
        return torch.stack([torch.stack(word) for word in words]).view(*ids.shape, -1)

    @staticmethod
    def unembed(table, x):
        def word(word):
            logits = []
            for v in range(table.num_embeddings):
                total = word.new_zeros(())
                for j in range(len(word)):
                    total = total + table.weight[v, j] * word[j]
                logits.append(total)
            return torch.stack(logits)

        return each_word(word, x)

    turned = staticmethod(turned_by_numbers)

    @staticmethod
    def attend(q, k, v, seen):
        pairs = zip(q, k, v, strict=True)
        return torch.stack(
            [
                torch.stack([weighed(*head, seen)[0] for head in zip(*one, strict=True)])
                for one in pairs
            ]
        )


class Products:
    """A model's own steps, everything with everything."""

    @staticmethod
    def norm(norm, x):
        square = torch.einsum("...i,...i->...", x, x).unsqueeze(-1) / x.shape[-1]
        return x * (square + norm.eps) ** -0.5 * norm.weight

    linear = staticmethod(mapped_at_once)

    @staticmethod
    def embed(table, ids):
        if ids.max() >= table.num_embeddings:
            raise IndexError(f"there is no word {ids.max()}")
        hot = (ids.unsqueeze(-1) == torch.arange(table.num_embeddings)).to(table.weight.dtype)
        return torch.einsum("btv,vd->btd", hot, table.weight)

    @staticmethod
    def unembed(table, x):
        return (x.unsqueeze(-2) * table.weight).sum(-1)

    turned = staticmethod(turned_by_products)

    @staticmethod
    def attend(q, k, v, seen):
        return weighed_at_once(q, k, v, seen)[0]


def after(way, layer, x, change=lambda context: context):
    """The stream after a layer; what its heads give, (B, H, T, d_k), may be changed."""
    T, H = x.shape[1], layer.num_heads
    normed, places = way.norm(layer.norm1, x), torch.arange(T)
    q, k, v = (
        way.linear(each, normed).unflatten(-1, (H, -1)).transpose(1, 2)
        for each in (layer.w_q, layer.w_k, layer.w_v)
    )
    q, k = way.turned(q, places, layer.base), way.turned(k, places, layer.base)
    context = change(way.attend(q, k, v, torch.ones(T, T, dtype=torch.bool).tril()))
    x = x + way.linear(layer.w_o, context.transpose(1, 2).flatten(2))
    normed, network = way.norm(layer.norm2, x), layer.feed_forward
    gate = way.linear(network.w_gate, normed)
    return x + way.linear(network.w_down, gate * gate.sigmoid() * way.linear(network.w_up, normed))


def logits(way, model, x):
    return way.unembed(model.embedding, way.norm(model.norm, x))


def ablated(way, model, token_ids, heads, means):
    L, H = len(model.layers), model.layers[0].num_heads
    for layer, head in heads:
        if not (0 <= layer < L and 0 <= head < H):
            raise ValueError(f"there is no head {head} in a layer {layer}")
    with evaluating(model):
        x = way.embed(model.embedding, token_ids)
        for number, layer in enumerate(model.layers):

            def silenced(context, number=number):
                parts = list(context.unbind(1))
                for its_layer, head in heads:
                    if its_layer == number:
                        mean = 0 if means is None else means[number, head]
                        parts[head] = 0 * parts[head] + mean
                return torch.stack(parts, 1)

            x = after(way, layer, x, silenced)
        return logits(way, model, x)


def patched(way, model, clean_ids, corrupted_ids, layer, position):
    if clean_ids.shape != corrupted_ids.shape:
        raise ValueError(f"{clean_ids.shape} and {corrupted_ids.shape} are not the same")
    if not 0 <= layer < len(model.layers) or not 0 <= position < clean_ids.shape[1]:
        raise ValueError(f"there is no {layer=} or no {position=}")
    with evaluating(model):
        clean = way.embed(model.embedding, clean_ids)
        x = way.embed(model.embedding, corrupted_ids)
        for number, each in enumerate(model.layers):
            if number == layer:
                x = torch.cat(
                    [x[:, :position], clean[:, position : position + 1], x[:, position + 1 :]], 1
                )
            elif number < layer:
                clean = after(way, each, clean)
            x = after(way, each, x)
        return logits(way, model, x)


def lens(way, model, token_ids):
    with evaluating(model):
        x = way.embed(model.embedding, token_ids)
        rows = [logits(way, model, x)]
        for layer in model.layers:
            x = after(way, layer, x)
            rows.append(logits(way, model, x))
        return torch.stack(rows)


@BANK.right("ablate_heads", slow=LOOPS)
def ablate_number_by_number(model, token_ids, heads, means=None):
    return ablated(Numbers, model, token_ids, heads, means)


@BANK.right("ablate_heads", slow=PRODUCTS)
def ablate_by_products(model, token_ids, heads, means=None):
    return ablated(Products, model, token_ids, heads, means)


@BANK.right("patch_activation", slow=LOOPS)
def patch_number_by_number(model, clean_ids, corrupted_ids, layer, position):
    return patched(Numbers, model, clean_ids, corrupted_ids, layer, position)


@BANK.right("patch_activation", slow=PRODUCTS)
def patch_by_products(model, clean_ids, corrupted_ids, layer, position):
    return patched(Products, model, clean_ids, corrupted_ids, layer, position)


@BANK.right("logit_lens", slow=LOOPS)
def lens_number_by_number(model, token_ids):
    return lens(Numbers, model, token_ids)


@BANK.right("logit_lens", slow=PRODUCTS)
def lens_by_products(model, token_ids):
    return lens(Products, model, token_ids)
