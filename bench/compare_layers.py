#!/usr/bin/env python3
"""Speed of single layers beside oneDNN and BLAS libraries: convolutions C1 to C12, depthwise D1 to D9, matrix products.

  bench/compare_layers.py [NAME...] --python=VENV/bin/python [--peers=FOLDER] [--threads=1] [--rounds=5] [--isa=avx2] [--type=s8] [--direct] [--json=FILE]

FOLDER has the scripts that time the peers (layers.py, setup.sh; by default ../shared/peers) and VENV is what its setup.sh made. Every round
times each peer and then Smelt's default schedule of each layer, on the same cores; a figure is the median over the rounds of a round's median.

A layer's rivals are those that do what Smelt does. oneDNN's convolutions have their weights repacked before the timing, so Smelt knows them
beforehand too (--constant); the faster of oneDNN's layouts counts, its Winograd in a column of its own (Smelt takes Winograd's algorithm where
that is expected to pay; with --direct it sums directly as well). Products are beside libraries that
read plain matrices, BLAS and oneDNN, and Smelt packs in the call. `speed` is the rival's time divided by Smelt's: above 1 Smelt is faster.

With --type=s8 layers take bytes and give sums of 32 bits, and oneDNN is the rival (rivals/onednn_bytes.cc, compiled for each version that
setup.sh left). Held to AVX2 it halves the weights to keep sums of pairs in 16 bits, so its results differ there; Smelt's are exact.

Exit status: 0; 1 if a layer failed; 2 for wrong use or where the peers are not there.
"""
import argparse
import functools
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import peers  # noqa: E402
from compare_xla import Failed, cpu_name  # noqa: E402
from layers import CONVOLUTIONS, DEPTHWISE, NAMES, PRODUCTS, module_of  # noqa: E402

BYTES = pathlib.Path(__file__).resolve().parent / "rivals/onednn_bytes.cc"

RIVALS = ("onednn_debian", "onednn_gomp", "openblas", "blis", "mkl_of_torch")
BARS = {"convolutions C2 to C12": (0.95, 0.85, [name for name in CONVOLUTIONS if name != "C1"]),
        "depthwise": (0.95, 0.85, list(DEPTHWISE)), "products": (0.95, 0.85, list(PRODUCTS))}
TYPES = {"f32": NAMES, "s8": [*CONVOLUTIONS, *PRODUCTS]}


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    peers.add_arguments(parser, NAMES, seconds=0.2)
    peers.add_isa(parser)
    parser.add_argument("--rivals", default=",".join(RIVALS), help="default: %(default)s; onednn_sycl where it is installed")
    parser.add_argument("--direct", action="store_true", help="convolutions by direct sums alone, on both sides")
    parser.add_argument("--type", choices=list(TYPES), default="f32", help="of the operands (default %(default)s)")
    arguments = peers.parse(parser, NAMES, "layers.py")
    if arguments.names == list(NAMES):
        arguments.names = TYPES[arguments.type]
    for name in arguments.names:
        if name not in TYPES[arguments.type]:
            parser.error(f"{name} is not compared in {arguments.type}: {', '.join(TYPES[arguments.type])}")
    return arguments


def layer_of_peer(row):
    """The name here of a layer of the peers' script; None for one that is not here."""
    name = row["layer"]
    if name in NAMES:
        return name
    if not name.startswith("mm_"):
        return None
    shape = tuple(int(extent) for extent in name.split("_")[1].split("x"))
    return next((product for product, extents in PRODUCTS.items() if extents == shape), None)


def is_rival(row):
    """Whether it does what Smelt does: the direct sum (oneDNN's Winograd is shown beside it), of matrices that nobody packed before the timing."""
    return row["algorithm"] != "winograd" and row["format"] != "packed"


def machine_peak(arguments):
    """The processors' arithmetic and bandwidth as the peers' script measures them."""
    done = subprocess.run([arguments.python, arguments.peers / "layers.py", "--peak", f"--threads={arguments.threads}"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"the peers' layers.py --peak: exit {done.returncode}\n{done.stderr[-600:]}")
    return json.loads(done.stdout)


def rivals_of_bytes(arguments, folder):
    """{name: program}, compiled for each oneDNN that setup.sh left; ends the process with status 2 where there is none."""
    built = {}
    for name in arguments.rivals.split(","):
        if not name.startswith("onednn_"):
            continue
        root = pathlib.Path(arguments.python).parent.parent / "peers" / name
        flags = [] if name == "onednn_debian" else [f"-I{root}/include", f"-L{root}/lib", f"-Wl,-rpath,{root}/lib", "-fopenmp"]
        program = folder / name
        done = subprocess.run(["c++", "-O2", "-std=c++17", BYTES, "-o", program, *flags, "-ldnnl"], capture_output=True, text=True)
        if done.returncode == 0:
            built[name] = program
        else:
            print(f"no {name}: {(done.stderr.splitlines() or ['does not compile'])[0]}", file=sys.stderr)
    if not built:
        print("no oneDNN to compare with: run the peers' setup.sh", file=sys.stderr)
        sys.exit(2)
    return built


def bytes_round(arguments, rivals):
    """As peers_round, of layers of bytes."""
    words = []
    for layer in arguments.names:
        words += ["conv", layer, *CONVOLUTIONS[layer]] if layer in CONVOLUTIONS else ["product", layer, *PRODUCTS[layer]]
    processors = sorted(os.sched_getaffinity(0))[-arguments.threads:]
    times = {}
    for name, program in rivals.items():
        done = subprocess.run([program, str(arguments.seconds), *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env={**(peers.peer_environment(arguments) or os.environ), "OMP_NUM_THREADS": str(arguments.threads)},
                              preexec_fn=lambda: os.sched_setaffinity(0, processors))
        if done.returncode != 0:
            sys.exit(f"{name}: exit {done.returncode}\n{done.stderr[-600:]}")
        for row in map(json.loads, done.stdout.splitlines()):
            times.setdefault(row["layer"], []).append((f"{name} {row['format']}", row["median_ms"], row["format"] != "packed"))
    return times


def peers_round(arguments, folder):
    """{layer: [(name, ms, whether it is a rival of the direct sum or of plain matrices)]} of one round."""
    file = folder / "peers.json"
    file.unlink(missing_ok=True)
    command = [arguments.python, arguments.peers / "layers.py", "--rounds=1", f"--threads={arguments.threads}", f"--budget={arguments.seconds}",
               f"--peers={arguments.rivals}", f"--json={file}"]
    if len(arguments.names) == 1 and arguments.names[0] not in PRODUCTS:
        command.append(f"--filter={arguments.names[0]}")
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=peers.peer_environment(arguments))
    if done.returncode != 0:
        sys.exit(f"the peers' layers.py: exit {done.returncode}\n{done.stderr[-600:]}")
    times = {}
    for row in json.loads(file.read_text())["rows"]:
        layer = layer_of_peer(row)
        if layer is None:
            continue
        # Named after the library: oneDNN's own rows say `peer` by version.
        name = " ".join(word for word in (row["group"], row["algorithm"], row["format"]) if word not in ("-", "plain", "matmul", "direct"))
        times.setdefault(layer, []).append((name, row["median_ms"], is_rival(row)))
    return times


def direct_schedule(arguments, module):
    """A file beside the module with the schedule of its kernel, which is the layer, by direct sums."""
    file = module.with_suffix(".schedule")
    file.write_text(peers.smelt(arguments, "inspect", module, "--kernel=layer", "--tile=direct", "--schedule", *peers.known_words("1")))
    return file


def measure(arguments):
    ours, theirs, errors = {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        modules = {layer: module_of(folder, layer, arguments.type) for layer in arguments.names}
        one_round = functools.partial(peers_round, arguments, folder)
        if arguments.type == "s8":
            one_round = functools.partial(bytes_round, arguments, rivals_of_bytes(arguments, folder))
        for number in range(arguments.rounds):
            print(f"round {number + 1} of {arguments.rounds}: peers", file=sys.stderr)
            times = one_round()
            for layer, rows in times.items():
                for name, ms, rival in rows:
                    theirs.setdefault(layer, {}).setdefault((name, rival), []).append(ms)
            for layer, module in modules.items():
                print(f"round {number + 1} of {arguments.rounds}: {layer}", file=sys.stderr)
                try:
                    schedule = direct_schedule(arguments, module) if arguments.direct and layer in CONVOLUTIONS else None
                    ours.setdefault(layer, []).append(peers.smelt_ms(arguments, module, None if layer in PRODUCTS else "1", schedule))
                except Failed as failure:
                    errors[layer] = str(failure)
    rows = []
    for layer in arguments.names:
        medians = {key: statistics.median(rounds) for key, rounds in theirs.get(layer, {}).items()}
        rivals = {name: ms for (name, rival), ms in medians.items() if rival}
        others = {name: ms for (name, rival), ms in medians.items() if not rival}
        row = {"layer": layer, "rivals_ms": rivals, "others_ms": others}
        if layer in errors:
            row["error"] = errors[layer]
        else:
            row["smelt_ms"] = statistics.median(ours[layer])
            row["smelt_rounds_ms"] = ours[layer]
            if rivals:
                row["rival"] = min(rivals, key=rivals.get)
                row["speed"] = rivals[row["rival"]] / row["smelt_ms"]
        rows.append(row)
    return rows


def print_table(arguments, rows, peak):
    print(f"{cpu_name()}, {arguments.threads} thread(s), {arguments.isa} code, {arguments.type}, {'direct sums alone, ' if arguments.direct else ''}{arguments.rounds} rounds, peak {peak['peak_gflops']:.0f} GF/s, triad {peak['triad_gb_s']:.1f} GB/s")
    print(f"{'layer':<10}{'smelt ms':>10}{'rival ms':>10}{'speed':>8}  {'rival':<22} best other")
    for row in rows:
        if "error" in row:
            print(f"{row['layer']:<10}{row['error']}")
            continue
        other = min(row["others_ms"].items(), key=lambda item: item[1], default=None)
        said = f"{other[0]} {other[1]:.4f}" if other else ""
        rival = f"{row['rivals_ms'][row['rival']]:>10.4f}{row['speed']:>8.2f}  {row['rival']:<22}" if "rival" in row else f"{'':>10}{'':>8}  {'none':<22}"
        print(f"{row['layer']:<10}{row['smelt_ms']:>10.4f}{rival} {said}")
    summary = {}
    for group, (mean_bar, least_bar, names) in BARS.items():
        speeds = [row["speed"] for row in rows if row["layer"] in names and "speed" in row]
        if not speeds:
            continue
        mean = math.exp(statistics.fmean(map(math.log, speeds)))
        met = mean >= mean_bar and min(speeds) >= least_bar
        summary[group] = {"geometric_mean": mean, "least": min(speeds), "met": met}
        print(f"{group}: geometric mean {mean:.2f}, least {min(speeds):.2f} of the rival's speed (bars {mean_bar} and {least_bar}: {'met' if met else 'not met'})")
    return summary


def main():
    arguments = read_arguments()
    peak = machine_peak(arguments)
    rows = measure(arguments)
    summary = print_table(arguments, rows, peak)
    if arguments.json:
        arguments.json.write_text(json.dumps({"cpu": cpu_name(), "threads": arguments.threads, "type": arguments.type, "isa": arguments.isa, "direct": arguments.direct, "rounds": arguments.rounds, "peak": peak,
                                              "summary": summary, "rows": rows}, indent=1) + "\n")
    return 1 if any("error" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
