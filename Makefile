# One line per job. Every job first makes sure that .venv is what requirements.lock says.
BIN := $(CURDIR)/.venv/bin
export PATH := $(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help setup lab author classroom check test test-all test-long test-slow bench lint build figures sample grade feedback-zip handout
.PHONY: plan solutions-handout accuracy lock pdf questions site slides new-assignment new-lecture

help:  ## list the jobs
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | awk -F'\t' '{printf "  make %-14s %s\n", $$1, $$2}'

setup:
	@sh tools/set_up.sh $(FOR_ALL) $(PYTHON)

lab: setup  ## read, run and answer: JupyterLab on the course map, on your own copies in workspace/
	@$(BIN)/python tools/lab.py $(LAB_FLAGS)

classroom: FOR_ALL = --for-all
classroom: setup  ## a JupyterHub for a class on this machine, with grading on submission (as root, on Linux)
	@$(BIN)/python -m tools.classroom $(if $(SETTINGS),--settings $(SETTINGS)) run

author: setup  ## write, and grade in the formgrader: JupyterLab on the course's own files
	@$(BIN)/python tools/lab.py --author $(LAB_FLAGS)

TESTS = tests lectures solutions
# bytecode is kept, since without it every run rewrites the asserts of some 200 files anew
PYTEST = OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 2
test: setup lint  ## notebooks, references, a sample of the answers (TESTS=tests/build for a part)
	@$(PYTEST) --nbval -m "not slow and not long" $(TESTS)

test-all: test test-long  ## the same, and all lectures and answers, whole classes, services, browsers, the website: what CI runs

test-long: setup  ## what `make test` leaves to `make test-all`
	@$(PYTEST) -m "long and not slow" --nbval $(TESTS)

test-slow: setup  ## what takes hours: every check with 200 seeds, lectures 1 and 8 with others, planted faults
	@$(PYTEST) -m slow tests
	@$(BIN)/python -m tests.planted_faults

lint: setup  ## ruff, mypy and the grader's import rules on all Python; Prettier and ESLint on what browsers run
	@ruff check . && ruff format --check . && mypy && lint-imports && python -m tools.web_style

check: setup  ## what a change of one assignment, lecture or figure can break, in about a minute (ONLY=a5, 06, soft_lookup)
	@$(if $(ONLY),,$(error say which: make check ONLY=a5))
	@$(BIN)/python tools/check.py $(ONLY)

build: setup $(if $(ONLY),,figures)  ## build lectures/, solutions/, exercises/ and the course map from sources/ (ONLY=02_basic_self_attention for one, EXECUTE=no where lectures changed in text alone)
	@$(BIN)/python sources/build.py $(if $(filter no,$(EXECUTE)),--keep-outputs) $(ONLY)

new-assignment: setup  ## lay out an assignment that is small and complete: make new-assignment NAME=a14_title
	@$(if $(NAME),,$(error say its name: make new-assignment NAME=a14_title))
	@$(BIN)/python tools/new.py assignment $(NAME)

new-lecture: setup  ## lay out a lecture that is short and complete: make new-lecture NAME=13_title
	@$(if $(NAME),,$(error say its name: make new-lecture NAME=13_title))
	@$(BIN)/python tools/new.py lecture $(NAME)

FIGURES = $(or $(ONLY:%=figures/make_%.py),$(wildcard figures/make_*.py))
figures: setup  ## draw figures/*.svg again (ONLY=soft_lookup for one)
	@$(foreach source,$(FIGURES),$(if $(wildcard $(source)),,$(error there is no $(source), see figures/)))
	@for source in $(FIGURES); do $(BIN)/python $$source || exit 1; done

bench: setup  ## how fast the reference code and grading are, against PyTorch's and nbgrader's own
	@$(BIN)/python tools/bench.py

sample: setup  ## grade the sample class and show who got what and why
	@$(BIN)/python -m tests.sample_class

grade: setup  ## grade what lies in submitted/: make grade ASSIGNMENT=a2_self_attention
	@$(if $(ASSIGNMENT),,$(error say which assignment: make grade ASSIGNMENT=a2_self_attention))
	@$(BIN)/python -m autograder grade $(ASSIGNMENT) $(GRADE_FLAGS) || [ $$? -eq 1 ]  # 1: said in the table

feedback-zip: setup  ## grade, and put all feedback pages, one a student, into one file to upload
	@$(if $(ASSIGNMENT),,$(error say which assignment: make feedback-zip ASSIGNMENT=a2_self_attention))
	@$(BIN)/python -m autograder grade $(ASSIGNMENT) --feedback-zip $(GRADE_FLAGS) || [ $$? -eq 1 ]

handout: setup  ## the students' copy, with self-check or without (SELF_CHECK=no), in build/ (ONLY="1-8" for a part)
	@$(BIN)/python -m tools.handout $(if $(filter no,$(SELF_CHECK)),--without-self-check) --only="$(ONLY)"

plan: setup  ## look at the dates of term.toml, and enter them into the gradebook
	@$(BIN)/python -m autograder plan || [ $$? -eq 1 ]  # 1: something is odd, and said

solutions-handout: setup  ## after the deadline: answers with their reasons, as a notebook and a page, in build/solutions/
	@$(if $(ASSIGNMENT),,$(error say which assignment: make solutions-handout ASSIGNMENT=a2_self_attention))
	@$(BIN)/python -m autograder solution $(ASSIGNMENT)

site: setup  ## the website, in build/site/ (REPOSITORY=https://host/owner/name for its buttons, ONLY="1-8" for a part)
	@$(BIN)/python -m tools.website --repository "$(REPOSITORY)" --only="$(ONLY)"

pdf: setup  ## the lectures on paper, in build/pdf/ (needs Chromium; ONLY=2 or ONLY="1-8" for a part)
	@$(BIN)/python -m tools.pdf --only="$(ONLY)"

slides: setup  ## a deck a lecture, in build/slides/ (ONLY=2 or ONLY="1-8" for a part, PDF=yes to print them)
	@$(BIN)/python -m tools.slides --only="$(ONLY)" $(if $(filter yes,$(PDF)),--pdf)

questions: setup  ## the lectures' questions for Moodle, Canvas and Anki, in build/questions/ (ONLY="1-8" for a part)
	@$(BIN)/python -m tools.quiz_banks --only="$(ONLY)"

accuracy: setup  ## try the answers of the banks, and write what came out into docs/grading.md (ONLY=a2_self_attention for one)
	@OMP_NUM_THREADS=1 $(BIN)/python -m tools.accuracy $(ONLY)

lock: setup  ## resolve requirements.lock, classroom.lock and sandbox.lock again from pyproject.toml
	@uv pip compile --quiet --universal --python-version 3.11 --extra dev pyproject.toml -o requirements.lock
	@uv pip compile --quiet --universal --python-version 3.11 --constraint requirements.lock --extra classroom pyproject.toml -o classroom.lock
	@uv pip compile --quiet --no-config --universal --generate-hashes --group sandbox --custom-compile-command "make lock" -o sandbox.lock
