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

COURSE = Course(
    __name__,
    libraries=("course_utils", "lecture_kit"),
    always_allowed=("course_utils.signoff",),
    letters={
        "d_k": Letter("feature", "features", is_a_factor=True),
        "D": Letter("feature", "features", is_a_factor=True),
        "d_model": Letter("feature", "features", is_a_factor=True),
        "features": Letter("feature", "features", is_a_factor=True),
        "h": Letter("feature", "features", is_a_factor=True),
        "H": Letter("head", "heads", is_a_factor=True),
        "T": Letter("word", "words", is_a_factor=True),
        "S": Letter("word", "words", is_a_factor=True),
        "B": Letter("sentence", "sentences", is_a_factor=True),
        "L": Letter("word", "words"),
        "length": Letter("position", "positions"),
        "d_v": Letter("feature", "features"),
        "2h": Letter("feature", "features"),
        "H·d_k": Letter("feature", "features"),
        "decoder_dim": Letter("feature", "features"),
        "encoder_dim": Letter("feature", "features"),
    },
    handed_over=("lecture_kit.handed_over",),
)
known, load, allowed_modules = COURSE.known, COURSE.load, COURSE.allowed_modules
