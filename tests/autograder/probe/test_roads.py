"""Of all that `torch._C` can do, what does not pass the dispatcher is gone where submissions run."""

import re
import subprocess
import sys
import textwrap
from types import ModuleType

import pytest
import torch

from autograder.probe import roads
from autograder.probe.messages import Observation
from autograder.probe.wire import decode
from autograder.sandbox import kernels
from autograder.sandbox.client import KernelClient
from autograder.sandbox.limits import Limits
from tests.autograder.probe.test_op_blocker import X, disallowed_in, questions_about
from tests.sample_class import ISOLATION

# what in a name tells of graphs, of code that is compiled, loaded or run, or of kernels and addresses
TELLING = re.compile(
    r"graph|jit|compil|interpret|load|lower|execut|fus|trac|script|codegen|kernel|address|pointer|raw_|_ir\b",
    re.IGNORECASE,
)
# and why it may stay all the same
OPEN = {
    "TorchScript, whose interpreter calls the dispatcher": (
        r"_?Script\w+|_jit_script_\w+|_create_function_from_trace\w*|_create_graph_by_tracing|"
        r"_jit_trace_\w+|TracingState|_tracer_\w+|_(?:get|set|is)_(?:value_trac\w+|traci\w+)|"
        r"_jit_pass_(?:canonicalize|erase_shape_information|inline|lint)|_jit_(?:un)?flatten|"
        r"_jit_(?:is_script_object|replace_submodule|try_infer_type|resolve_packet|init)|"
        r"CompilationUnit|JITException|_get_caught_jit_\w+|_jit_cat_wo_conditionals|"
        r"_jit_assert_is_instance|_jit_object_is_non_holding|_jit_check_alias_annotation|"
        r"_run_emit_module_hook|_create_\w+_with_type|_check_schema_\w+|_jit_decay_packed_param_input_types|_jit_erase_\w+"
    ),
    "answers a question": (
        r"_jit_(?:get|can|has|llga)_\w+|_jit_\w+_enabled|_jit_is_\w+|_jit_onnx_\w+|_debug_get_\w+|"
        r"_get_graph_exec\w+|_current_graph_task_\w+|_will_engine_execute_node|_dispatch_\w+|"
        r"_get_cpp_backtrace|_compiled\w*|_get_backcompat\w+|_has_tensorexpr_cpp_tests|"
        r"_get_operation_overload|_ivalue\w+|_tensor_impl\w+|_storage_address"
    ),
    "types without a maker of their own, see the methods that are gone": (
        r"Graph|GraphExecutorState|ExecutionPlan|_ShapeComputeGraphMapping|BenchmarkExecutionStats|"
        r"_SafeKernelFunction|PyTorchFile\w+|Deserialization\w+|IODescriptor"
    ),
    "of devices that are not there": (
        r"_(?:mps|mtia|xpu|cuda|XPU|CUDA|MTIA|accelerator|activate|graph_pool|cudnn)\w*|"
        r"_[gs]et_cudnn_depthwise_kernel|_can_use_\w+|_gds\w+|_set_override_stale_capture_stream"
    ),
    "writes": r"_save_\w+",
    "switches nothing that computes": (
        r"_set_graph_executor_optimize|_set_print_stack_traces_on_fatal_signal"
    ),
}  # fmt: skip
# modules in it: bindings of operations, types of results, and what is Python's own machinery
INSIDE = re.compile(
    r"_VariableFunctions|_acc|_autograd|_cpu|_cudart|_distributed\w*|_dynamo|_export|_fft|_functionalization|"
    r"_functions|_functorch|_instruction_counter|_itt|_jit|_jit_tree_views|_linalg|_monitor|_nested|_nn|_nvtx|_onnx|"
    r"_profiler|_return_types|_sparse|_special|_verbose|cpp|_nnapi|_cudnn|_cusparselt|_faulty\w+|_mps\w*"
)


def test_every_callable_of_the_c_module_is_on_a_known_road():
    unknown = []
    for name, value in vars(torch._C).items():
        if isinstance(value, ModuleType):
            known = roads.leads_round(name) or INSIDE.fullmatch(name) or name in sys.modules
        elif callable(value) and TELLING.search(name):
            ways = [way for way in OPEN.values() if re.fullmatch(way, name)]
            known = roads.leads_round(name) or ways
        else:
            continue
        if not known:
            unknown.append(name)
    assert not unknown, "close them in `autograder.probe.roads`, or say why they may stay"


def test_every_pattern_of_a_road_is_of_something():
    names = [name for name in vars(torch._C) if roads.leads_round(name)]
    assert len(names) > 200
    for road, patterns in roads.ROUND_THE_DISPATCHER.items():
        assert any(re.fullmatch(one, name) for one in patterns for name in names), road


def run(code):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )


def test_what_is_closed_is_found_nowhere_in_pytorch():
    code = """
        import gc, sys, torch
        import torch.utils.flop_counter
        from autograder.probe import roads
        builder, graph = torch._C._te.TensorExprKernel, torch._C.parse_ir
        roads.close_all()
        assert not [name for name in vars(torch._C) if roads.leads_round(name)]
        held = [each for each in gc.get_referrers(graph) if isinstance(each, dict) and "__name__" in each]
        assert [each["__name__"] for each in held] == ["__main__"], held
        assert not hasattr(torch._C.Graph, "create") and not hasattr(torch._C.Node, "g_")
        assert "torch._C._te" not in sys.modules
        scripted = torch.jit.script(torch.nn.Linear(2, 2))
        traced = torch.jit.trace(torch.nn.ReLU(), torch.ones(2))
        assert scripted(torch.ones(2)).shape == traced(torch.ones(2)).shape
        print("done")
    """
    done = run(code)
    assert done.stdout == "done\n", done.stderr


def test_operators_that_no_dispatcher_knows_need_tensors_that_cannot_be_made():
    scripted = {schema.name for schema in torch._C._jit_get_all_schemas()}
    scripted -= {name.partition(".")[0] for name in torch._C._dispatch_get_all_op_names()}
    answers = re.compile(
        "norm$|norm_$|softmax|softmin|logsumexp|attention|transformer", re.IGNORECASE
    )
    found = {name for name in scripted if answers.search(name)}
    assert found - {"aten::_no_grad_embedding_renorm_"} == {
        "prim::MKLDNNLayerNorm",
        "prim::MKLDNNLayerNorm_",
    }
    code = """
        import torch
        from autograder.probe import roads
        assert torch.ones(2).to_mkldnn().layout == torch._mkldnn
        roads.close_all()
        for make in (torch.ones(2).to_mkldnn, lambda: torch.empty(2, layout=torch._mkldnn)):
            try:
                make()
            except NotImplementedError as error:
                print(error)
    """
    done = run(code)
    assert done.stdout.count("no tensors of MKLDNN") == 2, done.stderr


# ------------------------------------------------------------------------------ in a kernel

GRAPH = """
graph = '''graph(%x : Float(6, 5, strides=[5, 1], requires_grad=0, device=cpu)):
  %d : int = prim::Constant[value=-1]()
  %n : NoneType = prim::Constant()
  %y : Float(6, 5, strides=[5, 1], requires_grad=0, device=cpu) = aten::softmax(%x, %d, %n)
  return (%y)'''
"""
WAYS = {
    "a kernel of tensor expressions": (
        GRAPH + "kernel = torch._C._te.TensorExprKernel(torch._C.parse_ir(graph))\n"
        "f = lambda x: kernel.run((x,))[0]"
    ),
    "its module by another name": (
        GRAPH + "import sys\nkernel = sys.modules['torch._C._te'].TensorExprKernel(torch.parse_ir(graph))\n"
        "f = lambda x: kernel.run((x,))[0]"
    ),
    "a graph of a text": GRAPH + (
        "g = torch.parse_ir(graph)\nh = torch._C._create_function_from_graph('h', g)\nf = lambda x: h(x)"
    ),
    "a fuser that is switched on": (
        "torch._C._jit_set_texpr_fuser_enabled(True)\ntorch._C._jit_override_can_fuse_on_cpu(True)\n"
        "torch._C._jit_set_te_must_use_llvm_cpu(False)\n"
        "f = torch.jit.script_if_tracing(lambda x: x)\n"
        "unit = torch.jit.CompilationUnit('def f(x):\\n    return torch.softmax(x, -1) * 1.0')\nf = unit.f"
    ),
    "another fuser": (
        "torch._C._jit_set_llga_enabled(True)\n"
        "unit = torch.jit.CompilationUnit('def f(x):\\n    return torch.softmax(x, -1) * 1.0')\nf = unit.f"
    ),
    "a static module": (
        "class M(torch.nn.Module):\n    def forward(self, x): return x.softmax(-1)\n"
        "f = torch._C._jit_to_static_module(torch.jit.script(M().eval())._c)"
    ),
    "a node that is put into a graph": (
        "unit = torch.jit.CompilationUnit('def f(x):\\n    return x * 1.0')\n"
        "g = unit.f.graph\nnode = g.create('aten::softmax', [next(g.inputs())], 1)\n"
        "g.appendNode(node)\nf = unit.f"
    ),
    "a graph that is interpreted": (
        GRAPH + "f = lambda x: torch._C._jit_interpret_graph(torch._C.parse_ir(graph), (x,))"
    ),
    "the lazy device": (
        "import torch._lazy.ts_backend\ntorch._lazy.ts_backend.init()\n"
        "f = lambda x: x.to('lazy').softmax(-1).cpu()"
    ),
    "a mobile module": (
        "class M(torch.nn.Module):\n    def forward(self, x): return x.softmax(-1)\n"
        "held = torch.jit.script(M())._save_to_buffer_for_lite_interpreter()\nimport io\n"
        "lite = torch._C._load_for_lite_interpreter_from_buffer(io.BytesIO(held).read(), None)\n"
        "f = lambda x: lite(x)"
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def zygote():
    yield kernels.own_kernels(ISOLATION)
    kernels.close()


@pytest.mark.parametrize("way", WAYS)
def test_what_is_closed_for_good_has_no_road_round_it(zygote, way):
    disallowed = disallowed_in("a3_scaled_dot_product_attention", "stable_softmax")
    with KernelClient(zygote, Limits(), closed=disallowed) as kernel:
        kernel.run(f"import torch\n{WAYS[way]}", "id", lambda *_: None)
        kernel.run(
            "g = globals().get('f')\ndef f(x):\n    for _ in range(4): y = g(x)\n    return y",
            "id",
            lambda *_: None,
        )
        answers = kernel.ask(questions_about("f", (X,), disallowed))
    [seen] = decode(answers, list[Observation])
    right = isinstance(seen.value, torch.Tensor) and seen.value.shape == X.shape
    assert not (right and torch.allclose(seen.value, X.softmax(-1))), seen
    assert seen.status == "raised"
