#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test. Ends with ctest's summary; the exit status is 0 when all passed.
#
#   scripts/test.sh [--preset=release|debug|asan|tsan] [--filter=REGEX]
#
# The presets are those of CMakePresets.json; each builds into build/PRESET.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=release
filter=()
for argument in "$@"; do
  case $argument in
    --preset=release | --preset=debug | --preset=asan | --preset=tsan) preset=${argument#--preset=} ;;
    --filter=?*) filter=(-R "${argument#--filter=}") ;;
    -h | --help) sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) echo "test.sh: unknown argument $argument (known: --preset=release|debug|asan|tsan, --filter=REGEX)" >&2; exit 2 ;;
  esac
done

scripts/setup.sh
# A new folder is built whole, which takes half the time with several files compiled as one; an old one stays as it is.
unity=()
if [[ ! -f build/$preset/CMakeCache.txt ]]; then unity=(-DSMELT_UNITY_BUILD=ON); fi
cmake --preset "$preset" "${unity[@]}"
cmake --build --preset "$preset"

# A finding ends the test at once and says where.
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1:allocator_may_return_null=1}"
# Two tests at a time: more would disturb those that measure, and one of LibTorch's takes a gigabyte.
ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j2 "${filter[@]}" </dev/null
