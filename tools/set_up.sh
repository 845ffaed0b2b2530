#!/bin/sh
# Set up the course with the first Python that starts: sh tools/set_up.sh [--for-all] [PYTHON]
#
# A name on PATH is not yet a Python: pyenv, for one, leaves programs there that stop with an error
# where no version is chosen. tools/set_up.py looks further if the one found here is too old.
for_all=
if [ "$1" = --for-all ]; then
  for_all=--for-all
  shift
fi
asked=--asked
if [ $# = 0 ]; then
  asked=
  set -- python3 python3.14 python3.13 python3.12 python3.11 python
fi
for python in "$@"; do
  if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 6))' 2>/dev/null; then
    exec "$python" "$(dirname "$0")/set_up.py" $for_all $asked
  fi
done
echo "set-up stopped: the course needs Python 3.11 or newer; tried $*, and none of them starts." >&2
"$1" --version >&2
echo "Install a newer Python, or name one: make PYTHON=/path/to/python3.12 lab
Where pyenv is in use, 'pyenv versions' lists what it has and 'pyenv local 3.12' chooses one." >&2
exit 1
