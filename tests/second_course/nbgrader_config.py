from autograder.batch.nbgrader_settings import use_engine

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "averages"

use_engine(c)
