#!/usr/bin/env bash
# nh3 0.3.8 (HTML sanitiser), nh3.clean with its defaults.
#
# Expected: of an element that is not allowed the tag goes and the words stay, as the documentation of `tags` says of
# everything but `clean_content_tags`, and as <foo> still shows.
# Seen: where the element has a name of SVG or MathML (mask, text, path, line, set, view, mi, ...), which in HTML is
# an element without a meaning, everything up to the end of the enclosing element goes too. A sentence about BERT's
# <mask> loses all that follows. nh3 0.3.0 kept the words; 0.3.1 does not.
# What to do: escape what is no allowed element before cleaning, so that it is shown as typed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
for version in 0.3.0 0.3.8; do
  "$folder/venv/bin/pip" install --quiet --disable-pip-version-check "nh3==$version"
  "$folder/venv/bin/python" - "$version" <<'PYTHON'
import sys

import nh3

texts = [
    "<p>BERT puts <mask> over a word. Then it guesses it.</p>",
    "<p>a <set> of tokens, a <view> of a tensor</p>",
    "<p>an <foo> of no standard stays</p>",
]
seen = [nh3.clean(text) for text in texts]
print(sys.argv[1], *seen, sep="\n  ")
kept = [
    "<p>BERT puts  over a word. Then it guesses it.</p>",
    "<p>a  of tokens, a  of a tensor</p>",
    "<p>an  of no standard stays</p>",
]
lost = ["<p>BERT puts </p>", "<p>a </p>", "<p>an  of no standard stays</p>"]
assert seen == (kept if sys.argv[1] == "0.3.0" else lost), seen
PYTHON
done
