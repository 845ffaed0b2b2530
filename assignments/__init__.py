"""What is asked, and what is right: a folder for each assignment.

| file | what is in it |
|---|---|
| `notebook.py` | the text that students get, with the answers that they do not |
| `rubric.py` | what is drawn, what decides, the parts and their steps |
| `mistakes.py` | the right answers in steps, and the wrong ones that have a name; a folder where they are many |
| `answers/` | right and wrong answers by which all of that is tested: the bank, a file for each part |

The grader knows none of these by name; it asks for them here.
"""

from autograder.checks.course import Course

COURSE = Course(
    __name__,
    libraries=("course_utils", "lecture_kit"),
    always_allowed=("course_utils.signoff",),
    handed_over=("course_utils.handed_over",),
)
known, load, allowed_modules = COURSE.known, COURSE.load, COURSE.allowed_modules
