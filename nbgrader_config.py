# nbgrader reads this file when it is started in this folder.
from course_utils.validation import sentences_first

c = get_config()  # noqa: F821

c.CourseDirectory.course_id = "attention"
c.CourseDirectory.source_directory = "solutions"
c.CourseDirectory.release_directory = "exercises"

c.ClearSolutions.code_stub = {
    "python": "# Write your answer here and delete the next line.\n"
    'raise NotImplementedError("not answered yet")'
}

# Cells that students deleted, moved or edited are put right before anything runs.
c.Autograde.sanitize_preprocessors = [
    "autograder.notebook.intake.Intake",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.DeduplicateIds",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# Notebooks run in a kernel, checks are decided outside it, and outputs cannot act in a browser.
c.Autograde.autograde_preprocessors = [
    "autograder.notebook.execute.Execute",
    "autograder.notebook.sanitize.Sanitize",
    "nbgrader.preprocessors.IgnorePattern",
    "nbconvert.preprocessors.ClearMetadataPreprocessor",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# Seconds for one cell. A check gives a call five of them and then names the endless loop itself.
c.Execute.timeout = 20

# The kernels' own warnings do not belong between an instructor's results.
c.Execute.extra_arguments = ["--log-level=ERROR"]

# The page that students get, from the command, the formgrader and a batch alike.
c.GenerateFeedback.preprocessors = ["autograder.batch.feedback.Marks"]
c.GenerateFeedback.exporter_class = "autograder.batch.feedback.FeedbackPage"

# The Validate button and `nbgrader validate` begin with what a failed test says.
sentences_first()
