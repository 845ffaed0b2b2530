"""What is disallowed stays closed by whatever name or road it is called, and is open again afterwards."""

import math
import textwrap

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from assignments import load
from autograder.bank.measure import verdict_on
from autograder.checks.source_rules import with_back_ways
from autograder.probe.messages import CallRequest, Observation, Questions
from autograder.probe.op_blocker import DisallowedError, OpBlocker, kernels_of
from autograder.probe.probe import answer
from autograder.probe.wire import decode, encode

GENERATOR = torch.Generator().manual_seed(3)
Q, K, V = torch.randn(3, 1, 2, 4, 8, generator=GENERATOR)  # (B, H, T, D) each
X = torch.randn(6, 5, generator=GENERATOR)

# name -> a definition of `f(q, k, v)`, as a submission could have it
ATTENTION = {
    "by its name": "f = lambda q, k, v: F.scaled_dot_product_attention(q, k, v)",
    "by a joined name": "f = lambda q, k, v: getattr(F, '_'.join(['scaled', 'dot_product', 'attention']))(q, k, v)",
    "of the C module": "f = lambda q, k, v: torch._C._nn.scaled_dot_product_attention(q, k, v)",
    "of aten": "f = lambda q, k, v: torch.ops.aten.scaled_dot_product_attention(q, k, v)",
    "its mathematical form": "f = lambda q, k, v: torch.ops.aten._scaled_dot_product_attention_math(q, k, v)[0]",
    "its fast form": "f = lambda q, k, v: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)[0]",
    "as an overload, redispatched": """
        op = torch.ops.aten.scaled_dot_product_attention.default
        def f(q, k, v):
            return op.redispatch(torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), q, k, v)
    """,
    "decomposed": "f = lambda q, k, v: torch.ops.aten.scaled_dot_product_attention.default.decompose(q, k, v)",
    "looked up for TorchScript": """
        op = torch._C._jit_get_operation('aten::' + 'scaled_dot_product' + '_attention')[0]
        f = lambda q, k, v: op(q, k, v)
    """,
    "compiled by TorchScript": """
        unit = torch.jit.CompilationUnit('''
        def f(q, k, v):
            return torch._C._nn.scaled_dot_product_attention(q, k, v)
        ''')
        f = unit.f
    """,
    "traced before": """
        import warnings
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            f = torch.jit.trace(lambda q, k, v: F.scaled_dot_product_attention(q, k, v), (Q, K, V), check_trace=False)
    """,
    "made a graph before": """
        import torch.fx
        f = torch.fx.symbolic_trace(lambda q, k, v: F.scaled_dot_product_attention(q, k, v))
    """,
    "in another thread": """
        from concurrent.futures import ThreadPoolExecutor
        def f(q, k, v):
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(F.scaled_dot_product_attention, q, k, v).result()
    """,
    "in a thread that was there before": """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(1)
        pool.submit(int).result()
        f = lambda q, k, v: pool.submit(F.scaled_dot_product_attention, q, k, v).result()
    """,
    "without torch functions": """
        def f(q, k, v):
            with torch._C.DisableTorchFunction():
                return F.scaled_dot_product_attention(q, k, v)
    """,
    "wrapped as a torch function": """
        from torch.overrides import wrap_torch_function
        f = wrap_torch_function(lambda q, k, v: (q, k, v))(F.scaled_dot_product_attention)
    """,
    "below autograd": """
        def f(q, k, v):
            with torch._C._AutoDispatchBelowAutograd():
                return F.scaled_dot_product_attention(q, k, v)
    """,
    "vectorised": "f = lambda q, k, v: torch.vmap(F.scaled_dot_product_attention)(q, k, v)",
    "made functional": "f = lambda q, k, v: torch.func.functionalize(F.scaled_dot_product_attention)(q, k, v)",
    "in a lower precision that is none": """
        def f(q, k, v):
            with torch.autocast('cpu', enabled=False):
                return F.scaled_dot_product_attention(q, k, v)
    """,
    "of sentences of different lengths": """
        def f(q, k, v):
            q, k, v = (torch.nested.as_nested_tensor([*x]) for x in (q, k, v))
            return torch.stack(F.scaled_dot_product_attention(q, k, v).unbind())
    """,
    "with a derivative": "f = lambda q, k, v: torch.func.vjp(F.scaled_dot_product_attention, q, k, v)[0]",
    "from a checkpoint": """
        from torch.utils.checkpoint import checkpoint
        f = lambda q, k, v: checkpoint(F.scaled_dot_product_attention, q, k, v, use_reentrant=False)
    """,
    "with a kernel of one's own that calls it": """
        mine = torch.library.Library('mine_too', 'FRAGMENT')
        mine.define('f(Tensor q, Tensor k, Tensor v) -> Tensor')
        mine.impl('f', lambda q, k, v: F.scaled_dot_product_attention(q, k, v), 'CPU')
        f = lambda q, k, v: torch.ops.mine_too.f(q, k, v)
    """,
    "where the error is caught": """
        def f(q, k, v):
            try:
                return F.scaled_dot_product_attention(q, k, v)
            except BaseException:
                return (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v
    """,
    "as a module": """
        def f(q, k, v):
            inner = nn.MultiheadAttention(8, 1, bias=False, batch_first=True).requires_grad_(False)
            inner.in_proj_weight.copy_(torch.eye(8).repeat(3, 1))
            inner.out_proj.weight.copy_(torch.eye(8))
            return inner(q[0], k[0], v[0], need_weights=True)[0][None]
    """,
}  # fmt: skip

# name -> a definition of `f(x)`, the softmax of the rows of x
SOFTMAX = {
    "of a tensor": "f = lambda x: x.softmax(-1)",
    "by a joined name": "f = lambda x: getattr(torch, 'soft' + 'max')(x, -1)",
    "of the C module": "f = lambda x: torch._C._special.special_softmax(x, -1)",
    "as a module": "f = nn.Softmax(-1)",
    "turned round": "f = lambda x: F.softmin(-x, -1)",
    "of its logarithm": "f = lambda x: x.log_softmax(-1).exp()",
    "safe": "f = lambda x: torch._safe_softmax(x, -1)",
    "with a tangent": "f = lambda x: torch.func.jvp(lambda x: x.softmax(-1), (x,), (x,))[0]",
    "masked": "f = lambda x: torch._masked_softmax(x, torch.zeros_like(x, dtype=torch.bool), -1)",
    "of a sparse tensor": "f = lambda x: torch.sparse.softmax(x.to_sparse(), -1).to_dense()",
    "of a distribution": "f = lambda x: torch.distributions.Categorical(logits=x).probs",
    "through a loss": """
        def f(x):
            rows, columns = x.shape
            each = x.repeat_interleave(columns, 0), torch.arange(columns).repeat(rows)
            return (-F.cross_entropy(*each, reduction='none')).exp().reshape(rows, columns)
    """,
    "of a sum of exponentials": "f = lambda x: (x - x.logsumexp(-1, keepdim=True)).exp()",
    "of a running sum of exponentials": "f = lambda x: (x - x.logcumsumexp(-1)[:, -1:]).exp()",
    "as attention without values": """
        f = lambda x: F.scaled_dot_product_attention(x, torch.eye(x.shape[1]), torch.eye(x.shape[1]), scale=1.0)
    """,
}  # fmt: skip

# name -> a definition of `f(x)`, the layer norm of the rows of x
NORM = {
    "as a module": "f = lambda x: nn.LayerNorm(x.shape[-1], eps=1e-5)(x)",
    "by a joined name": "f = lambda x: getattr(F, 'layer' + '_norm')(x, x.shape[-1:])",
    "as torch has it": "f = lambda x: torch.layer_norm(x, x.shape[-1:])",
    "its native form": "f = lambda x: torch.native_layer_norm(x, x.shape[-1:], None, None, 1e-5)[0]",
    "as one group": "f = lambda x: F.group_norm(x, 1)",
    "as an instance": "f = lambda x: F.instance_norm(x[None], eps=1e-5)[0]",
    "as a batch, turned": "f = lambda x: F.batch_norm(x.T, None, None, training=True).T",
    "of what is centred": "f = lambda x: F.rms_norm(x - x.mean(-1, keepdim=True), x.shape[-1:], eps=1e-5)",
    "compiled by TorchScript": """
        f = torch.jit.CompilationUnit('''
        def f(x):
            return torch.layer_norm(x, [x.shape[-1]])
        ''').f
    """,
}  # fmt: skip

CASES = [
    ("a3_scaled_dot_product_attention", "scaled_dot_product_attention", ATTENTION, (Q, K, V),
     functional.scaled_dot_product_attention(Q, K, V)),
    ("a3_scaled_dot_product_attention", "stable_softmax", SOFTMAX, (X,), X.softmax(-1)),
    ("a7_dropout_and_layer_norm", "LayerNorm", NORM, (X,), functional.layer_norm(X, (5,))),
]  # fmt: skip
ROADS = [
    pytest.param(assignment, part, source, inputs, right, id=f"{part}-{name}")
    for assignment, part, sources, inputs, right in CASES
    for name, source in sources.items()
]


def disallowed_in(assignment, part):
    """What an `OpBlocker` closes while this part is asked."""
    chosen = load(assignment)
    own = chosen.part(part).disallowed
    return {
        "names": list(with_back_ways(chosen.disallowed if own is None else own)),
        "libraries": [],
    }


def written(source):
    """What a cell defines as ``f``."""
    names = {
        "__name__": "cell",
        "torch": torch,
        "nn": nn,
        "F": functional,
        "math": math,
        "np": np,
        "Q": Q,
        "K": K,
        "V": V,
    }
    exec(textwrap.dedent(source).replace("'''\n        ", "'''\n"), names)
    return names["f"]


def asked(f, inputs, disallowed):
    """What the probe reports of a call, with what is disallowed closed."""
    [seen] = decode(answer(questions_about("f", inputs, disallowed), {"f": f}), list[Observation])
    return seen


def questions_about(subject, inputs, disallowed):
    names = [f"x{number}" for number in range(len(inputs))]
    request = CallRequest(subject=subject, arguments=list(inputs), names=names)
    return encode(Questions(requests=[request], disallowed=disallowed))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("assignment", "part", "source", "inputs", "right"), ROADS)
def test_no_road_leads_to_the_answer_itself(assignment, part, source, inputs, right):
    f = written(source)
    free = asked(f, inputs, {"names": [], "libraries": []})
    torch.testing.assert_close(free.value, right)
    assert not free.used
    closed = asked(f, inputs, disallowed_in(assignment, part))
    assert closed.used
    torch.testing.assert_close(asked(f, inputs, {"names": [], "libraries": []}).value, right)


def test_what_is_not_barred_works_while_something_is():
    def f(q, k, v):
        q = functional.layer_norm(q, q.shape[-1:])
        return functional.dropout((q @ k.mT).softmax(-1), 0.0) @ v

    disallowed = disallowed_in("a3_scaled_dot_product_attention", "scaled_dot_product_attention")
    torch.testing.assert_close(asked(f, (Q, K, V), disallowed).value, f(Q, K, V))


def test_who_calls_what_is_barred_is_told_so():
    with OpBlocker(disallowed_in("a7_dropout_and_layer_norm", "LayerNorm")) as wall:
        with pytest.raises(DisallowedError, match="`layer_norm` is the answer itself"):
            functional.layer_norm(X, (5,))
        with pytest.raises(DisallowedError, match="`LayerNorm` is the answer itself"):
            nn.LayerNorm(5)
    assert wall.found == ["layer_norm", "LayerNorm"]
    assert nn.LayerNorm(5)(X).shape == X.shape


def test_a_wall_that_cannot_be_closed_leaves_all_open(monkeypatch):
    monkeypatch.setattr(OpBlocker, "_close_functions", lambda *_: 1 / 0)
    with (
        pytest.raises(ZeroDivisionError),
        OpBlocker(disallowed_in("a7_dropout_and_layer_norm", "LayerNorm")),
    ):
        pass
    assert nn.LayerNorm(5)(X).shape == X.shape


def test_nothing_is_closed_where_nothing_is_barred():
    assert kernels_of(()) == ()
    with OpBlocker({"names": [], "libraries": []}) as wall:
        functional.scaled_dot_product_attention(Q, K, V)
    assert wall.found == []


def test_a_part_that_swallows_the_error_is_barred_by_name():
    """`decide` says what was used, and awards nothing, though the numbers are right."""
    name = "a3_scaled_dot_product_attention"

    def scaled_dot_product_attention(query, key, value, mask=None):
        weights = (query @ key.mT / math.sqrt(query.shape[-1])).softmax(dim=-1)
        try:
            return getattr(functional, "scaled_dot_product" + "_attention")(
                query, key, value
            ), weights
        except RuntimeError:
            return weights @ value, weights

    part = load(name).part("scaled_dot_product_attention")
    verdict = verdict_on(name, part, scaled_dot_product_attention)
    assert verdict.earned == 0
    assert "uses `scaled_dot_product_attention`, which is the answer itself" in verdict.remark


# name -> `f(x)` whose result works out the softmax of the rows when it is looked at, as `later` does
LATE = {
    "as its shape": """
        class Late(np.ndarray):
            @property
            def shape(self):
                plain = self.view(np.ndarray)
                if self.todo:
                    self.todo = False
                    plain[...] = later(torch.from_numpy(plain)).numpy()
                return plain.shape
        def f(x):
            late = x.numpy().copy().view(Late)
            late.todo = True
            return late
    """,
    "when it is taken out of its graph": """
        class Late(nn.Parameter):
            def detach(self):
                return later(torch.Tensor.detach(self))
        f = lambda x: Late(x.clone(), requires_grad=False)
    """,
    "as an attribute of a plain tensor": """
        def f(x):
            late = x.clone()
            late.detach = lambda: later(x)
            return late
    """,
    "as items of a list": """
        class Late(list):
            def __iter__(self):
                yield later(self.x)
        def f(x):
            late = Late([x])
            late.x = x
            return late
    """,
}  # fmt: skip


@pytest.mark.parametrize("name", LATE)
def test_no_answer_is_worked_out_after_it_was_handed_over(name):
    f = written(LATE[name])
    calls = []

    def later(x):
        calls.append(x)
        return x.softmax(-1)

    f.__globals__["later"] = later
    disallowed = disallowed_in("a3_scaled_dot_product_attention", "stable_softmax")
    seen = asked(f, (X,), disallowed)
    values = seen.value if isinstance(seen.value, list) else [seen.value]
    arrays = [torch.as_tensor(one) for one in values if isinstance(one, torch.Tensor | np.ndarray)]
    assert not any(torch.allclose(one, X.softmax(-1)) for one in arrays)
    assert seen.used or not calls


def test_what_cannot_be_looked_at_is_the_answers_own_error():
    class Odd(list):
        def __iter__(self):
            raise LookupError("not now")

    seen = asked(lambda x: Odd(), (X,), {"names": [], "libraries": []})
    assert (seen.status, seen.error.type, seen.error.message) == (
        "raised",
        "LookupError",
        "not now",
    )
