#!/usr/bin/env bash
# Installs what is missing, builds Smelt, and tunes an example program: the main job from nothing.
#
#   scripts/demo.sh [PROGRAM] [SECONDS]
#
# PROGRAM is one of models/*.hlo without the ending (default: mobilenet), SECONDS how long candidates may be measured (default: 60).
# Prints the default and the tuned time, the kernels that changed, and where the answer is: build/demo/PROGRAM.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in -h | --help) sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit 0 ;; esac
program=${1:-mobilenet}
seconds=${2:-60}
module=models/$program.hlo
if [[ ! -f $module ]]; then
  echo "demo.sh: no program $program; there are: $(cd models && echo *.hlo | sed 's/\.hlo//g')" >&2
  exit 2
fi
if [[ ! $seconds =~ ^[1-9][0-9]*$ ]]; then
  echo "demo.sh: SECONDS is a whole number above 0, not $seconds" >&2
  exit 2
fi

scripts/setup.sh
cmake --preset release >&2
cmake --build --preset release --target smelt >&2

smelt=build/release/smelt
out=build/demo/$program
# A run folder resumes where it stopped; a demonstration starts anew.
rm -rf "$out"
mkdir -p build/demo
summary=build/demo/$program.json
"$smelt" tune "$module" --out="$out" --hardware-seconds="$seconds" --seed=1 --json >"$summary" </dev/null
python3 scripts/print_changes.py "$smelt" "$module" "$out" "$summary"
