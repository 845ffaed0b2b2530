#!/usr/bin/env bash
# nbgrader 0.9.6, utils.to_numeric_tz and utils.parse_utc.
#
# Expected: to_numeric_tz says that it "converts a timezone to a format which can be read by parse_utc", and
# `date '+%F %T %z'` writes the same form.
# Seen: parse_utc hands int("+0100") to dateutil as an offset in seconds, so that one hour east of UTC becomes 100
# seconds, and a time in Tokyo is read nearly nine hours late. A zone that is neither a number nor the name of a
# file of the zone database (CEST, JST) is read as UTC, without a word. Due dates and penalties follow from it.
# What to do: write times in UTC, or read them by the zone of the configuration.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "nbgrader==0.9.6"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
from nbgrader.utils import parse_utc, to_numeric_tz

zone = to_numeric_tz("Asia/Tokyo")
seen = {zone: parse_utc(f"2026-07-01 12:00:00 {zone}") for zone in (zone, "+0100", "CEST", "JST", "UTC")}
for name, moment in seen.items():
    print(f"12:00:00 {name:<6} is read as {moment:%H:%M:%S} UTC")
assert zone == "+0900"
found = {name: f"{moment:%H:%M:%S}" for name, moment in seen.items()}
assert found == {
    "+0900": "11:45:00",  # 03:00:00 would be right
    "+0100": "11:58:20",  # 11:00:00
    "CEST": "12:00:00",  # 10:00:00
    "JST": "12:00:00",  # 03:00:00
    "UTC": "12:00:00",
}, found
PYTHON
