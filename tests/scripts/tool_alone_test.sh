#!/usr/bin/env bash
# The tool alone: configured without LibTorch, GoogleTest and Google Benchmark, it waits for none of them; and `smelt train` says what is missing.
#
#   tool_alone_test.sh SOURCE SMELT FOLDER
set -euo pipefail
source=$1 smelt=$2 folder=$3
fail() { echo "tool_alone_test.sh: $*" >&2; exit 1; }

rm -rf "$folder"
mkdir -p "$folder"
cmake -S "$source" --preset demo -B "$folder/build" -DCMAKE_DISABLE_FIND_PACKAGE_Torch=ON -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON \
  -DCMAKE_DISABLE_FIND_PACKAGE_benchmark=ON >"$folder/configure.log" 2>&1 || { cat "$folder/configure.log"; fail "does not configure"; }
ninja -C "$folder/build" -t commands smelt >"$folder/commands"
[[ -s $folder/commands ]] || fail "nothing is built for smelt"
if grep -n -i -m 3 -e torch -e gtest -e benchmark -e smelt-train "$folder/commands"; then fail "smelt waits for what it does not need"; fi

# Every package that only training, tests and style need is left out of the small list.
for package in libtorch-dev libgtest-dev libbenchmark-dev clang-tidy; do
  grep -q "^[a-z]*=(.*$package" "$source/scripts/setup.sh" || fail "setup.sh does not know $package"
  if sed -n '/^tool=(/,/)/p' "$source/scripts/setup.sh" | grep -q "$package"; then fail "the tool's packages hold $package"; fi
done

cp "$smelt" "$folder/smelt"
status=0
"$folder/smelt" train corpus -o model.smeltmodel 2>"$folder/error" || status=$?
[[ $status == 1 ]] || fail "smelt train without its program ends with $status"
grep -q 'scripts/setup.sh' "$folder/error" || { cat "$folder/error"; fail "smelt train does not say what to do"; }
