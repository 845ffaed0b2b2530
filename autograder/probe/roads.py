"""Which ways of `torch._C` lead round PyTorch's dispatcher, where a part's disallowed operations are closed.

What builds, rewrites or compiles graphs may put a softmax of its own into them, what is loaded may hold one,
what hands out an operation's kernel calls it directly, and what makes tensors of addresses reads what is
not its own. Operators of TorchScript that no dispatcher knows work on tensors of MKLDNN alone, which can no
longer be made. No notebook needs any of it, so that it is taken out of every process for submissions.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch

# by what they do; each is a pattern for the whole name of something that `torch._C` holds
ROUND_THE_DISPATCHER = {
    "compile": (
        r"_te", r"_aoti", r"_nativert", r"_lazy", r"_lazy_ts_backend", r"_fuse_to_static_module",
        r"_jit_pass_(?!canonicalize$|erase_shape_information$|inline$|lint$)\w+",
        r"_jit_to_(?:backend|static)\w*", r"StaticModule", r"_freeze_module",
        r"_compile_graph_to_code_table", r"_quantize_ondevice_ptq_dynamic", r"_nn_module_to_mobile",
    ),
    "switch what compiles": (
        r"_jit_(?:set|override|texpr|nvfuser|opt|register|clear|fuser|debug)_\w+",
        r"_debug_set_\w+", r"_set_graph_exec_\w+",
    ),
    "build or run graphs": (
        r"parse_ir", r"_jit_(?:interpret|differentiate|decomposition|shape|run)_?\w*",
        r"_create_function_from_graph", r"_last_executed_\w+",
        r"_generate_upgraders_graph", r"_propagate_\w+", r"_replace_overloaded_method_decl",
        r"ThroughputBenchmark", r"_test_only_\w+",
    ),
    "load": (
        r"_?import_ir_module\w*", r"_load_\w+", r"_backport_\w+", r"LiteScriptModule", r"_get_mobile_\w+",
        r"_get_model_\w+", r"_pickle_load_obj", r"_gds_\w+", r"_enable_mobile_\w+",
    ),
    "hand out kernels": (r"_dispatch_get_computed_kernel_for_dispatch_key",),
    "read addresses": (
        r"_construct_storage_from_data_pointer", r"_data_address", r"_tensor_impl_raw_handle",
        r"_wrap_tensor_impl", r"_cuda_CUDAAllocator", r"_xpu_XPUAllocator",
    ),
}  # fmt: skip
# of what remains, methods that do the same
METHODS = {
    "Graph": r"create\w*|insert\w*|append\w*|prepend\w*|setInsertPoint|addInput|makeMultiOutputIntoTuple",
    "Node": r"\w+_|add\w+|replace\w+|insert\w+|copyAttributes",
    "Block": r"add\w+",
    "CompilationUnit": r"create_function",
    "_DispatchModule": r"impl_with_aoti_compile",
}
# which make tensors of MKLDNN, and where
MKLDNN = {"to_mkldnn": "CPU", "empty.memory_format": "MkldnnCPU"}
_PATTERN = re.compile("|".join(name for names in ROUND_THE_DISPATCHER.values() for name in names))


_LIBRARY = torch.library.Library("aten", "IMPL")  # what it registers lasts as long as itself


def leads_round(name: str) -> bool:
    """Whether what `torch._C` holds under a name does not pass the dispatcher."""
    return _PATTERN.fullmatch(name) is not None


def close_all() -> None:
    """Take all of it out of PyTorch, for good, in a process for submissions."""
    closed = {name: value for name, value in vars(torch._C).items() if leads_round(name)}
    inside = {id(one): one for value in closed.values() for one in (value, *_inside(value))}
    for module in [each for each in sys.modules.values() if isinstance(each, ModuleType)]:
        if module.__name__.partition(".")[0] == "torch":
            held = vars(module)
            for name in [name for name, value in list(held.items()) if id(value) in inside]:
                del held[name]
    for name in [name for name, module in sys.modules.items() if id(module) in inside]:
        del sys.modules[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that others are put in place of PyTorch's kernels
        for operation, key in MKLDNN.items():
            _LIBRARY.impl(operation, _no_mkldnn, key)
    for kind, names in METHODS.items():
        own = getattr(torch._C, kind)
        for name in [name for name in vars(own) if re.fullmatch(names, name)]:
            if not name.startswith("_"):
                delattr(own, name)


def _no_mkldnn(*_: Any, **__: Any) -> Any:
    raise NotImplementedError("there are no tensors of MKLDNN while a notebook is graded")


def _inside(value: Any) -> Iterator[Any]:
    """What stands in a module of `torch._C` itself; of what is no such module, nothing."""
    if isinstance(value, ModuleType):
        for inner in vars(value).values():
            if callable(inner) and getattr(inner, "__module__", None) == value.__name__:
                yield inner
