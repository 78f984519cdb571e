#!/usr/bin/env bash
# Installs everything that building and testing Smelt needs on Debian 12.
#
#   scripts/setup.sh          Debian packages; does nothing, in a moment, when all are there
#   scripts/setup.sh --demo   only those that the smelt tool needs (scripts/demo.sh): no LibTorch, nothing for tests
#   scripts/setup.sh --jax    also .venv/ with JAX from the Python package index, for smelt --target=xla, tests/conformance,
#                             models/dump.py and bench/compare_xla.py; exit status 3, and no .venv/, where the index cannot
#                             be reached
#
# Needs root or sudo where a package is missing. vdla/rtl/resources.sh alone needs yosys too, which this does not install.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tool=(cmake ninja-build ccache mold g++ pkg-config protobuf-compiler python3 llvm-19-dev libprotobuf-dev libabsl-dev
  libsqlite3-dev libxgboost-dev libcli11-dev nlohmann-json3-dev libzstd-dev zlib1g-dev)
training=(libtorch-dev libopenblas0-openmp)
tests=(libgtest-dev libgmock-dev libbenchmark-dev verilator)
# Optional: code for AArch64 is compiled and run in tests (tests/aarch64) where they are.
cross=(g++-aarch64-linux-gnu qemu-user-static)
# Optional: what vdla/xrt is built against. Without them libvdla_xrt.so is not built, and its tests are not there.
cards=(libxrt-dev uuid-dev)
style=(clang-format clang-tidy)
jax=()
jax_packages=(numpy==2.4.6 ml_dtypes==0.6.0 jax==0.10.2 jaxlib==0.10.2)

with_jax=no
for argument in "$@"; do
  case $argument in
    --jax) with_jax=yes jax=(python3-venv ca-certificates) ;;
    --demo) training=() tests=() cross=() cards=() style=() ;;
    -h | --help) sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) echo "setup.sh: unknown argument $argument (known: --demo, --jax)" >&2; exit 2 ;;
  esac
done

if ! command -v dpkg-query >/dev/null; then
  echo "setup.sh: this is no Debian. Install what corresponds to: ${tool[*]} ${training[*]} ${tests[*]} ${cross[*]} ${cards[*]} ${style[*]}" >&2
  exit 1
fi

missing=()
for package in "${tool[@]}" "${training[@]}" "${tests[@]}" "${cross[@]}" "${cards[@]}" "${style[@]}" "${jax[@]}"; do
  if [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) != installed ]]; then missing+=("$package"); fi
done

if ((${#missing[@]})); then
  echo "installing: ${missing[*]}" >&2
  as_root=()
  if [[ $(id -u) != 0 ]]; then
    command -v sudo >/dev/null || { echo "setup.sh: run this as root, or install sudo" >&2; exit 1; }
    as_root=(sudo)
  fi
  # The log is shown only when something fails: a successful installation says how far it is.
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  install() {
    "${as_root[@]}" apt-get update -q &&
      "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
        -o APT::Status-Fd=1 "${missing[@]}"
  }
  progress() {  # apt-get's lines of state, kind:name:percent:words, become a line for every fifth of the work
    local line shown=""
    while IFS= read -r line; do
      if [[ $line =~ ^(dl|pm)status:.*:([0-9]+)\.[0-9]+: ]]; then
        local kind=${BASH_REMATCH[1]} fifths=$((BASH_REMATCH[2] / 20))
        [[ $shown == "$kind$fifths" ]] && continue
        shown=$kind$fifths
        if [[ $kind == dl ]]; then echo "  downloaded $((fifths * 20)) %" >&2; else echo "  installed $((fifths * 20)) %" >&2; fi
      else
        printf '%s\n' "$line"
      fi
    done
  }
  if ! install 2>&1 </dev/null | progress >"$log"; then
    tail -n 40 "$log" >&2
    echo "setup.sh: apt-get failed, see above; the packages are those of Debian 12 (bookworm) and its updates" >&2
    exit 1
  fi
fi

if [[ $with_jax == yes ]]; then
  # The pins are written beside the installation, so that a newer list installs again.
  if [[ ! -x .venv/bin/python || $(cat .venv/smelt-packages 2>/dev/null) != "${jax_packages[*]}" ]]; then
    echo "making .venv with ${jax_packages[*]}" >&2
    if ! { python3 -m venv .venv &&
           .venv/bin/python -m pip install -q --disable-pip-version-check --retries 1 --timeout 20 "${jax_packages[@]}"; } >&2; then
      rm -rf .venv
      echo "setup.sh: JAX could not be installed, see above; everything but what compares with XLA works without it" >&2
      exit 3
    fi
    echo "${jax_packages[*]}" >.venv/smelt-packages
  fi
fi
