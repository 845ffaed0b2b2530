"""The names that lead nowhere but to their own purpose: what a notebook is taken at its word with.

Of a module stands here what may be used of it, and never a module in it that is not listed itself. What
reads a file, imports by a text, sets or reads attributes by a text, runs code in texts, or leads to memory,
frames and other objects' insides is on no list, however honest its use may be.
"""

from __future__ import annotations

import builtins
import cmath
import collections
import collections.abc
import contextlib
import dis
import importlib
import importlib.util
import itertools
import math
import numbers
import random
import re
import statistics
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache, partialmethod
from pathlib import Path
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
    TracebackType,
)
from typing import Any

import numpy as np
import torch
from IPython.core.autocall import ExitAutocall
from torch import nn, optim
from torch.nn import functional, init
from torch.nn.utils import rnn
from torch.optim import lr_scheduler
from torch.utils import data

# built-in functions and types; of `type`, `getattr` and others of its kind see `introspection`
BUILT_IN = frozenset({
    "__file__", "__name__", "abs", "all", "any", "ascii", "bin", "bool", "breakpoint", "bytearray", "bytes",
    "callable", "chr", "classmethod", "complex", "dict", "dir", "display", "divmod", "enumerate", "exit",
    "filter", "float", "format", "frozenset", "hash", "hex", "id", "input", "int", "isinstance",
    "issubclass", "iter", "len", "list", "map", "max", "min", "next", "object", "oct", "ord", "pow",
    "print", "property", "quit", "range", "repr", "reversed", "round", "set", "slice", "sorted",
    "staticmethod", "str", "sum", "super", "tuple", "zip", "Ellipsis", "NotImplemented",
    *(name for name, value in vars(builtins).items()
      if isinstance(value, type) and issubclass(value, BaseException)),
})  # fmt: skip
# what a class may define or set among the names that Python itself looks up
DEFINED = frozenset({
    "__call__", "__doc__", "__enter__", "__exit__", "__getitem__", "__init__", "__iter__", "__len__",
    "__next__", "__post_init__", "__repr__", "__str__",
})  # fmt: skip
# what begins with an underscore and is nobody's secret
PLAIN = frozenset({
    "_", "__", "___", "__call__", "__doc__", "__file__", "__init__", "__len__", "__name__",
    "__qualname__", "__version__", "_forward_hooks", "_forward_pre_hooks",
})  # fmt: skip
# what may be set of modules, and of their settings by how the names of these begin, but for one whose text
# some versions run as code
SWITCHES = frozenset({"torch.backends.cudnn.benchmark", "torch.backends.cudnn.deterministic"})
SETTINGS = {
    "rcParams": ("axes.", "figure.", "font.", "grid.", "image.", "legend.", "lines.", "xtick.", "ytick."),
    "environ": ("CUBLAS_", "CUDA_", "KMP_", "MKL_", "OMP_", "PYTHONHASHSEED", "TOKENIZERS_"),
}  # fmt: skip
RUN_AS_CODE = "axes.prop_cycle"
# lines that IPython reads: magics whose text is code; that do not run while grading, or change nothing but
# what is shown; and those of which only such a text is harmless
RUNNING = frozenset({"capture", "time", "timeit"})
MAGICS = frozenset({
    "!", "bash", "cd", "cmd", "conda", "debug", "html", "latex", "ls", "mamba", "markdown", "matplotlib",
    "micromamba", "pdb", "perl", "pip", "precision", "pwd", "pypy", "python", "python2", "python3", "reset",
    "ruby", "script", "sh", "sx", "system", "uv", "who", "whos", "writefile",
})  # fmt: skip
MAGICS_WITH = {
    "autoreload": re.compile(r"[0-3]?"),
    "config": re.compile(r"InlineBackend\.figure_format *= *['\"]\w+['\"]"),
    "env": re.compile(r"(?:CUBLAS|CUDA|KMP|MKL|OMP)_\w+[= ]\w+"),
    "load_ext": re.compile(r"autoreload"),
    "reload_ext": re.compile(r"autoreload"),
}

# public, but they read or write files and other objects' memory, show frames or set attributes by a text
NOT_HARMLESS = frozenset({
    "as_subclass", "compile", "ctypes", "data_ptr", "dump", "dumps", "format", "format_map",
    "bit_generator", "capsule", "cffi", "from_file", "fromfile", "gi_code", "gi_frame",
    "gi_suspended", "gi_yieldfrom", "load", "loads", "module_load", "profile_hook_step",
    "register_load_state_dict_post_hook", "resolve_conj_", "share_memory", "share_memory_",
    "storage", "tofile", "type", "typed_storage", "untyped_storage", "with_traceback",
})  # fmt: skip


def _public(holder: Any, but: Iterable[str] = ()) -> frozenset[str]:
    """Names of a module or class that it does not hide, without the modules in it."""
    return frozenset(
        name
        for name in dir(holder)
        if not name.startswith("_")
        and name not in but
        and name not in NOT_HARMLESS
        and not isinstance(getattr(holder, name, None), ModuleType)
    )


def _made_there(module: ModuleType, kinds: tuple[type, ...] = (object,)) -> frozenset[str]:
    """Public names of a module for the classes of some kinds that its own package defines."""
    package = module.__name__.partition(".")[0]
    return frozenset(
        name
        for name in _public(module)
        if isinstance(value := getattr(module, name), type)
        and value.__module__.partition(".")[0] == package
        and issubclass(value, kinds)
    )


TORCH = frozenset({
    "BoolTensor", "DoubleTensor", "FloatTensor", "Generator", "IntTensor", "LongTensor", "Size",
    "Tensor", "are_deterministic_algorithms_enabled", "autocast", "bfloat16", "bool", "compile",
    "complex128", "complex64", "default_generator", "device", "double", "dtype", "e", "enable_grad",
    "finfo", "float", "float16", "float32", "float64", "get_default_device", "get_default_dtype",
    "get_float32_matmul_precision", "get_num_threads", "get_rng_state", "half", "iinfo", "inf",
    "inference_mode", "initial_seed", "int", "int16", "int32", "int64", "int8", "is_grad_enabled",
    "is_inference_mode_enabled", "is_tensor", "long", "manual_seed", "nan", "newaxis", "no_grad",
    "pi", "seed", "set_default_device", "set_default_dtype", "set_float32_matmul_precision",
    "set_autocast_enabled", "set_grad_enabled", "set_num_interop_threads", "set_num_threads",
    "set_printoptions", "set_rng_state", "short", "strided", "uint8", "unravel_index",
    "use_deterministic_algorithms", "vmap", "preserve_format", "contiguous_format",
})  # fmt: skip
NUMPY = frozenset({
    "bool_", "complex128", "complex64", "dtype", "e", "errstate", "euler_gamma", "float16",
    "float32", "float64", "floating", "generic", "inf", "int16", "int32", "int64", "int8", "integer",
    "nan", "ndarray", "newaxis", "number", "pi", "uint16", "uint32", "uint64", "uint8",
    # functions in Python of what is compiled
    "all", "allclose", "amax", "amin", "any", "append", "apply_along_axis", "argmax", "argmin", "argsort", "argwhere",
    "around", "array2string", "array_equal", "array_split", "array_str", "atleast_1d", "atleast_2d",
    "atleast_3d", "average", "bincount", "block", "broadcast_arrays", "broadcast_shapes", "broadcast_to",
    "clip", "column_stack", "concatenate", "corrcoef", "cov", "cross", "cumprod", "cumsum", "delete",
    "diag", "diag_indices", "diagonal", "diff", "digitize", "dot", "dsplit", "dstack", "einsum",
    "einsum_path", "empty_like", "expand_dims", "extract", "eye", "fill_diagonal", "flatnonzero", "flip",
    "fliplr", "flipud", "full", "full_like", "geomspace", "gradient", "hanning", "histogram", "hsplit",
    "hstack", "identity", "indices", "inner", "insert", "interp", "isclose", "iscomplexobj", "isin",
    "isneginf", "isposinf", "isreal", "isscalar", "ix_", "kron", "lexsort", "linspace", "logspace",
    "mask_indices", "max", "mean", "median", "meshgrid", "min", "moveaxis", "nan_to_num", "nanargmax",
    "nanmax", "nanmean", "nanmin", "nanstd", "nansum", "nanvar", "ndim", "nonzero", "ones", "ones_like",
    "outer", "pad", "partition", "percentile", "prod", "ptp", "put", "put_along_axis", "quantile",
    "ravel", "ravel_multi_index", "real", "repeat", "reshape", "resize", "roll", "rollaxis", "rot90",
    "round", "row_stack", "searchsorted", "select", "set_printoptions", "seterr", "shape", "sinc", "size",
    "sort", "split", "squeeze", "stack", "std", "sum", "swapaxes", "take", "take_along_axis",
    "tensordot", "tile", "trace", "transpose", "trapezoid", "tri", "tril", "tril_indices", "triu",
    "triu_indices", "unique", "unravel_index", "vander", "var", "vdot", "vsplit", "vstack", "where",
    "zeros_like", "vectorize",
    # and what is compiled
    "arange", "array", "asarray", "ascontiguousarray", "copy", "empty", "frombuffer", "fromiter",
    "matmul", "ndindex", "ndenumerate", "zeros", "s_", "c_", "r_", "mgrid", "ogrid", "asanyarray",
    *(name for name, value in vars(np).items() if isinstance(value, np.ufunc)),
})  # fmt: skip
PYPLOT = frozenset({
    "Axes", "Figure", "annotate", "arrow", "axhline", "axhspan", "axis", "axvline", "axvspan", "bar", "barh",
    "boxplot", "cla", "clf", "clim", "close", "colorbar", "contour", "contourf", "draw", "errorbar",
    "figlegend", "figtext", "figure", "fill", "fill_between", "gca", "gcf", "get_cmap", "grid", "hist",
    "hist2d", "hlines", "imshow", "legend", "loglog", "margins", "matshow", "minorticks_on", "pause",
    "pcolor", "pcolormesh", "pie", "plot", "quiver", "scatter", "semilogx", "semilogy", "sca", "set_cmap",
    "show", "spy", "stackplot", "stairs", "stem", "step", "subplot", "subplot2grid", "subplot_mosaic",
    "subplots", "subplots_adjust", "suptitle", "table", "text", "tick_params", "tight_layout", "title",
    "twinx", "violinplot", "vlines", "xlabel", "xlim", "xscale", "xticks", "ylabel", "ylim", "yscale",
    "yticks",
})  # fmt: skip
COLOURS = frozenset({
    "Blues", "Greens", "Greys", "Oranges", "Purples", "RdBu", "RdBu_r", "Reds", "cividis", "coolwarm", "gray",
    "hot", "inferno", "jet", "magma", "plasma", "tab10", "tab20", "twilight", "viridis",
})  # fmt: skip
TYPES = frozenset({
    "Annotated", "Any", "Callable", "ClassVar", "Dict", "Final", "FrozenSet", "Generic", "Iterable",
    "Iterator", "List", "Literal", "Mapping", "MutableMapping", "NoReturn", "Optional", "Sequence", "Set",
    "Tuple", "Type", "TypeAlias", "TypeVar", "Union", "cast",
})  # fmt: skip

# module: what may be used of it
MODULES: dict[str, frozenset[str]] = {
    "__future__": frozenset({"annotations"}),
    "IPython.display": frozenset({"HTML", "Latex", "Markdown", "Math", "clear_output", "display"}),
    "abc": frozenset({"ABC", "abstractmethod"}),
    "cmath": _public(cmath),
    "collections": frozenset({
        "ChainMap", "Counter", "OrderedDict", "defaultdict", "deque", "namedtuple",
    }),
    "collections.abc": frozenset(collections.abc.__all__),
    "contextlib": frozenset({"ExitStack", "contextmanager", "nullcontext", "suppress"}),
    "copy": frozenset({"copy", "deepcopy"}),
    "dataclasses": frozenset({"asdict", "astuple", "dataclass", "field", "replace"}),
    "einops": frozenset({"einsum", "pack", "rearrange", "reduce", "repeat", "unpack"}),
    "fractions": frozenset({"Fraction"}),
    "functools": frozenset({
        "cache", "cached_property", "cmp_to_key", "lru_cache", "partial", "reduce",
        "total_ordering",
    }),
    "heapq": frozenset({
        "heapify", "heappop", "heappush", "heappushpop", "heapreplace", "merge", "nlargest",
        "nsmallest",
    }),
    "itertools": _public(itertools),
    "logging": frozenset({
        "DEBUG", "ERROR", "INFO", "WARNING", "basicConfig", "debug", "error", "getLogger", "info",
        "warning",
    }),
    "math": _public(math),
    "matplotlib": frozenset({"__version__"}),
    "matplotlib.cm": COLOURS | {"ScalarMappable"},
    "matplotlib.colors": frozenset({"ListedColormap", "LogNorm", "Normalize", "TwoSlopeNorm"}),
    "matplotlib.pyplot": PYPLOT,
    "numbers": _public(numbers),
    "numpy": NUMPY | {"__version__"},
    "numpy.linalg": frozenset(np.linalg.__all__) - {"test"},
    "numpy.random": _public(np.random, ("test",)),
    "numpy.testing": frozenset({
        "assert_allclose", "assert_almost_equal", "assert_array_equal", "assert_equal",
    }),
    "os": frozenset({"chdir", "cpu_count", "getcwd", "makedirs"}),
    "os.path": frozenset({"basename", "dirname", "exists", "isdir", "isfile", "join"}),
    "pdb": frozenset({"set_trace"}),  # which does nothing here, as programs do not run
    "random": _public(random, ("SystemRandom",)),
    "re": frozenset({
        "findall", "finditer", "fullmatch", "compile", "escape", "match", "search", "split", "sub",
        "IGNORECASE",
    }),
    "statistics": frozenset(statistics.__all__),
    "subprocess": frozenset({"PIPE", "Popen", "call", "check_call", "check_output", "run"}),
    "sys": frozenset({
        "executable", "exit", "float_info", "maxsize", "platform", "version", "version_info",
    }),
    "textwrap": frozenset(textwrap.__all__),
    "time": frozenset({"monotonic", "perf_counter", "process_time", "sleep", "strftime", "time"}),
    "torch": TORCH | _public(torch._C._VariableFunctions) | {"__version__"},
    "torch.autograd": frozenset({
        "Function", "Variable", "backward", "detect_anomaly", "grad", "set_detect_anomaly",
    }),
    "torch.cuda": frozenset({
        "current_device", "device_count", "empty_cache", "get_device_name", "is_available",
        "max_memory_allocated", "memory_allocated", "manual_seed", "manual_seed_all", "synchronize",
    }),
    "torch.backends": frozenset(),
    "torch.backends.cudnn": frozenset({"benchmark", "deterministic"}),
    "torch.backends.mps": frozenset({"is_available"}),
    "torch.func": frozenset({"functional_call", "grad", "jacfwd", "jacrev", "jvp", "vjp", "vmap"}),
    "torch.testing": frozenset({"assert_close"}),
    "torch.linalg": _public(torch.linalg),
    "torch.nn": _made_there(nn, (nn.Module, torch.Tensor)) - {"Module"} | {"Module", "Parameter"},
    "torch.nn.functional": frozenset(
        name for name in _public(functional) if callable(getattr(functional, name))
    ) - {"boolean_dispatch", "handle_torch_function"},
    "torch.nn.init": frozenset(name for name in _public(init) if name.endswith("_")),
    "torch.nn.utils": frozenset({
        "clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "vector_to_parameters",
    }),
    "torch.nn.utils.rnn": frozenset(rnn.__all__),
    "torch.optim": _made_there(optim, (optim.Optimizer,)),
    "torch.optim.lr_scheduler": _made_there(lr_scheduler, (lr_scheduler.LRScheduler,)),
    "torch.utils": frozenset(),
    "torch.utils.data": frozenset(
        name
        for name in _made_there(data, (data.Dataset, data.DataLoader, data.Sampler))
        if "Pipe" not in name
    ) | {"default_collate", "random_split"},
    "tqdm": frozenset({"tqdm", "trange"}),
    "tqdm.auto": frozenset({"tqdm", "trange"}),
    "tqdm.notebook": frozenset({"tqdm", "trange"}),
    "typing": TYPES,
    "warnings": frozenset({"catch_warnings", "filterwarnings", "simplefilter", "warn"}),
}  # fmt: skip
KNOWN_AS = {"matplotlib.pyplot.cm": "matplotlib.cm"}

# ------------------------------------------------------------------------------ attributes of objects

OF_LAYERS = frozenset({
    "affine", "batch_first", "bias", "bidirectional", "concentration", "d_model", "dropout",
    "elementwise_affine", "embed_dim", "embedding_dim", "end_dim", "eps", "head_dim", "hidden_size",
    "in_features", "in_proj_bias", "in_proj_weight", "inplace", "input_size", "kernel_size",
    "momentum", "normalized_shape", "num_embeddings", "num_features", "num_heads", "num_layers",
    "out_features", "out_proj", "p", "padding", "padding_idx", "running_mean", "running_var",
    "start_dim", "training", "weight", "bias_hh_l0", "bias_ih_l0", "weight_hh_l0", "weight_ih_l0",
})  # fmt: skip
OF_PICTURES = frozenset({
    "add_artist", "add_patch", "add_subplot", "annotate", "autofmt_xdate", "axes", "axhline",
    "axhspan", "axis", "axvline", "axvspan", "bar", "bar_label", "barh", "boxplot", "cla", "clabel",
    "colorbar", "contour", "contourf", "errorbar", "fill_between", "figure", "flat", "get_figure",
    "pcolor", "set", "get_legend_handles_labels", "get_position", "get_title", "get_xlabel",
    "get_xlim", "get_xticklabels", "get_ylabel", "get_ylim", "get_yticklabels", "grid", "hist",
    "hlines", "images", "imshow", "invert_xaxis", "invert_yaxis", "legend", "lines", "loglog",
    "margins", "matshow", "pcolormesh", "plot", "quiver", "scatter", "semilogx", "semilogy",
    "set_alpha", "set_aspect", "set_axis_off", "set_clim", "set_color", "set_facecolor",
    "set_fontsize", "set_label", "set_linestyle", "set_linewidth", "set_size_inches", "set_text",
    "set_title", "set_inverted", "set_visible", "set_xlabel", "set_xlim", "set_xscale",
    "set_xticklabels", "set_xticks", "set_ylabel", "set_ylim", "set_yscale", "set_yticklabels",
    "set_yticks", "spines", "stem", "step", "subplots", "subplots_adjust", "suptitle", "supxlabel",
    "supylabel", "table", "text", "texts", "tick_params", "ticklabel_format", "tight_layout",
    "title", "twinx", "twiny", "violinplot", "vlines", "xaxis", "yaxis", "ticks_position", "gca",
    "inset_axes", "label_outer", "tick_top", "tick_bottom", "tick_left", "tick_right",
    "xaxis_inverted", "yaxis_inverted", "set_ticks", "set_ticklabels", "set_ticks_position", "ax",
})  # fmt: skip
OF_RESULTS = frozenset({
    "L", "LU", "Q", "R", "S", "U", "V", "Vh", "args", "batch_sizes", "cache_clear", "cache_info",
    "counts", "data", "eigenvalues", "eigenvectors", "end", "failed", "get_last_lr", "setLevel",
    "info", "warning", "debug", "error", "getter", "group", "groups", "indices", "inverse_indices",
    "logabsdet", "message", "name", "param_groups", "saved_tensors", "save_for_backward",
    "mark_dirty", "needs_input_grad", "setter", "sign", "start", "values", "value", "span",
    "default_factory", "maxlen", "dataset", "batch_size", "tensors", "set_description",
    "set_postfix", "write", "bits", "smallest_normal", "resolution", "tiny", "lr", "betas",
    "defaults", "num_batches_tracked", "numerator", "denominator", "sent", "most_common",
})  # fmt: skip
TYPES_OF_OBJECTS = (
    torch.Tensor, torch.Size, torch.Generator, torch.device, torch.dtype, torch.finfo,
    optim.Optimizer, lr_scheduler.LRScheduler, contextlib.ExitStack, np.ndarray, np.float64,
    np.ufunc, np.random.Generator, np.random.RandomState, np.finfo, str, bytes, int, float, complex,
    list, tuple, dict, set, frozenset, range, slice, collections.Counter, collections.OrderedDict,
    collections.deque, random.Random, re.Pattern, re.Match,
)  # fmt: skip


# what functions of a package make or lead to, whose classes a notebook need not name: whatever is drawn
# saves files and chooses what draws, and whatever logs knows where to
MADE_BY_FUNCTIONS = {
    "matplotlib": (
        "matplotlib.axes.Axes", "matplotlib.backend_bases.FigureCanvasBase",
        "matplotlib.backend_bases.FigureManagerBase", "matplotlib.figure.Figure",
    ),
    "logging": ("logging.Logger", "logging.Manager", "logging.StreamHandler"),
}  # fmt: skip
OF_A_CLASS = re.compile(r"""(?:\bself\.|\bdef |\bregister_buffer\(")([A-Za-z]\w*)""")
# of these, every notebook has some: functions, also those that Cython has compiled, errors, which hold
# what lacks an attribute, and `exit`, which holds what runs the notebook
LED_ASTRAY = (
    AsyncGeneratorType, AttributeError, BuiltinFunctionType, CodeType, CoroutineType, ExitAutocall,
    FrameType, FunctionType, GeneratorType, MethodType, ModuleType, NameError, TracebackType,
    type(np.random.default_rng), type(np.random.Generator.normal),
)  # fmt: skip


@cache
def attributes() -> frozenset[str]:
    """Public names of the objects that such functions give, which are no modules."""
    layers = [getattr(nn, name) for name in MODULES["torch.nn"]]
    kinds = (*TYPES_OF_OBJECTS, *layers)
    found = frozenset().union(*map(_public, kinds), *map(_set_in, layers))
    public = frozenset(name for name in found if not name.startswith("_"))
    return (public | OF_LAYERS | OF_PICTURES | OF_RESULTS) - NOT_HARMLESS


@cache
def taken(modules: frozenset[str]) -> frozenset[str]:
    """Names that objects of libraries have beside those, so that a notebook cannot make them its own.

    Args:
        modules: names of `MODULES`, which are imported here to see what their objects have.
    """
    return NOT_HARMLESS.union(_of_any_object(), *map(_of_objects_in, modules)) - attributes()


@cache
def _of_any_object() -> frozenset[str]:
    """Names that attributes have wherever code leads to functions, modules, frames or the kernel."""
    kinds = (*LED_ASTRAY, *TYPES_OF_OBJECTS)
    return frozenset().union(*map(dir, kinds), *map(_set_in, kinds))


@cache
def _of_objects_in(module: str) -> frozenset[str]:
    """Names that attributes have of the objects of a module's classes."""
    kinds = list(_classes_of(module))
    return frozenset().union(*map(dir, kinds), *map(_set_in, kinds))


def prepare() -> None:
    """Look up what most notebooks need, once for all that this process is copied to."""
    taken(frozenset({"torch", "torch.nn", "torch.nn.functional", "math"}))


def _classes_of(module: str) -> Iterator[type]:
    """The classes that a notebook can get at by what it may use of a module."""
    names = sorted(f"{module}.{name}" for name in MODULES[module])
    for place in MADE_BY_FUNCTIONS.get(module.partition(".")[0], names):
        there, _, name = place.rpartition(".")
        value = getattr(importlib.import_module(there), name, None)
        if isinstance(value, type):
            yield value


@lru_cache(maxsize=8)
def of_course(libraries: tuple[str, ...]) -> frozenset[str]:
    """Names of attributes and methods of the course's own classes, as their source has them."""
    found: set[str] = set()
    for library in libraries:
        spec = importlib.util.find_spec(library)
        for folder in (spec and spec.submodule_search_locations) or ():
            for path in Path(folder).rglob("*.py"):
                found.update(OF_A_CLASS.findall(path.read_text(encoding="utf-8")))
    return frozenset(found)


@cache
def _set_in(kind: type) -> frozenset[str]:
    """Names of the attributes that a class gives its objects when they are made."""
    makers = [base.__dict__.get("__init__") for base in kind.__mro__]
    plain = [maker.func if isinstance(maker, partialmethod) else maker for maker in makers]
    return frozenset(
        step.argval
        for maker in plain
        if isinstance(maker, FunctionType)
        for step in dis.get_instructions(maker)
        if step.opname == "STORE_ATTR"
    )
