#!/usr/bin/env bash
# Prints what the core with the parameters' default values (vdla/configs/pynq.json) takes of an FPGA of Xilinx's 7 series, as Yosys maps it, beside what an XC7Z020
# (the Pynq-Z1's) has. It is an estimate of area after synthesis: nothing is placed, and no clock is promised. Takes about a minute.
#
#   vdla/rtl/resources.sh            the table
#   vdla/rtl/resources.sh --full     Yosys's own report before it
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

command -v yosys >/dev/null || { echo "resources.sh: yosys is not installed (apt-get install yosys)" >&2; exit 3; }
full=no
case ${1:-} in
  "") ;;
  --full) full=yes ;;
  *) sed -n '2,/^set /{s/^# \{0,1\}//p}' "$0" >&2; exit 2 ;;
esac

report=$(mktemp)
trap 'rm -f "$report"' EXIT
# The option -abc9 aborts in Yosys 0.23.
yosys -q -p "read_verilog -I. *.v; synth_xilinx -family xc7 -top vdla; check -assert; tee -q -o $report stat -tech xilinx" 2>&1 |
  grep -v "Resizing cell port" >&2 || true
[[ -s $report ]] || { echo "resources.sh: Yosys made no report, see above" >&2; exit 1; }
if [[ $full == yes ]]; then cat "$report"; fi

awk '
  /=== design hierarchy ===/ { whole = 1 }
  whole && $1 ~ /^LUT[1-6]$|^INV$|^SRL/ { lut += $2 }
  whole && $1 ~ /^RAM32M$|^RAM64M$/ { lut += 4 * $2 }
  whole && $1 ~ /^FD[RSCP]E$/ { flip_flop += $2 }
  whole && $1 == "DSP48E1" { dsp += $2 }
  whole && $1 == "RAMB36E1" { ram += $2 }
  whole && $1 == "RAMB18E1" { ram += $2 / 2 }
  function row(name, used, there) { printf "%-22s %8.1f %8d %6.0f %%\n", name, used, there, 100 * used / there }
  END {
    printf "%-22s %8s %8s\n", "", "core", "XC7Z020"
    row("LUTs", lut, 53200)
    row("flip-flops", flip_flop, 106400)
    row("DSP slices", dsp, 220)
    row("block RAMs of 36 kbit", ram, 140)
  }' "$report"
