"""What is asked, and what is right: a folder for each assignment.

| file | what is in it |
|---|---|
| `notebook.py` | the text that students get, with the answers that they do not |
| `rubric.py` | what is drawn, what decides, the parts and their steps |
| `mistakes.py` | the right answers in steps, and the wrong ones that have a name; a folder where they are many |
| `answers/` | right and wrong answers by which all of that is tested: the bank, a file for each part |

The grader knows none of these by name; it asks for them here.
"""

from autograder.checks.course import Course, Letter

SENTENCES, WORDS, HEADS = ("sentence", "sentences"), ("word", "words"), ("head", "heads")
FEATURES = ("feature", "features")
COURSE = Course(
    __name__,
    libraries=("course_utils", "lecture_kit"),
    always_allowed=("course_utils.signoff",),
    letters={
        **{
            letter: Letter(*FEATURES, is_a_factor=True)
            for letter in ("d_k", "D", "d_model", "features", "h")
        },
        "H": Letter(*HEADS, is_a_factor=True),
        "T": Letter(*WORDS, is_a_factor=True),
        "S": Letter(*WORDS, is_a_factor=True),
        "B": Letter(*SENTENCES, is_a_factor=True),
        "L": Letter(*WORDS),
        "length": Letter("position", "positions"),
        **{
            letter: Letter(*FEATURES)
            for letter in ("d_v", "2h", "H·d_k", "decoder_dim", "encoder_dim")
        },
    },
)
known, load, allowed_modules = COURSE.known, COURSE.load, COURSE.allowed_modules
