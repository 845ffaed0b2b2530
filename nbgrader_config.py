# nbgrader reads this file when it is started in this folder.
from autograder.batch.nbgrader_settings import use_engine
from autograder.validation import sentences_first

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "attention"

# Notebooks are run, decided and explained by the course's grader.
use_engine(c)

# The Validate button and `nbgrader validate` begin with what a failed test says.
sentences_first()
