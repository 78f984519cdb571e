#!/usr/bin/env bash
# Installs what is missing, builds the smelt tool, and tunes an example program: the main job from nothing, in less than ten minutes.
#
#   scripts/demo.sh [PROGRAM] [SECONDS]
#
# PROGRAM is one of models/*.hlo without the ending (default: attention), SECONDS how long tuning may take (default: 45).
# Prints the default and the tuned time, which kernels changed and why, and where the answer is: build/demo/PROGRAM.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case ${1:-} in -h | --help) sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit 0 ;; esac
program=${1:-attention}
seconds=${2:-45}
module=models/$program.hlo
if [[ ! -f $module ]]; then
  echo "demo.sh: no program $program; there are: $(cd models && echo *.hlo | sed 's/\.hlo//g')" >&2
  exit 2
fi
if [[ ! $seconds =~ ^[1-9][0-9]*$ ]]; then
  echo "demo.sh: SECONDS is a whole number above 0, not $seconds" >&2
  exit 2
fi

step() { echo "demo.sh, after $SECONDS s: $*" >&2; }
step "installing what is missing (first time: about 130 MB)"
scripts/setup.sh --demo
# A build folder that holds more already, tests say, keeps it.
preset=demo
if grep -q '^SMELT_TESTS:[A-Z]*=ON' build/release/CMakeCache.txt 2>/dev/null; then preset=release; fi
step "compiling the smelt tool (first time: some minutes)"
cmake --preset "$preset" >&2
cmake --build --preset "$preset" --target smelt >&2

smelt=build/release/smelt
out=build/demo/$program
# A run folder resumes where it stopped; a demonstration starts anew.
rm -rf "$out"
mkdir -p build/demo
summary=build/demo/$program.json
step "tuning $module for $seconds s"
"$smelt" tune "$module" --out="$out" --budget="$seconds" --seed=1 --json >"$summary" </dev/null
python3 scripts/print_changes.py "$smelt" "$module" "$out" "$summary"
step "done"
