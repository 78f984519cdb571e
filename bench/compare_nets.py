#!/usr/bin/env python3
"""Speed of whole networks beside ONNX Runtime, OpenVINO and XLA: ResNets, MobileNets, DQN, DCGAN, LSTM, BERT; batch 1, float32.

  bench/compare_nets.py [NAME...] --python=VENV/bin/python [--peers=FOLDER] [--threads=1] [--rounds=5] [--json=FILE]

FOLDER has the scripts that time the peers (nets.py, netdefs.py, setup.sh; by default ../shared/peers) and VENV is what its setup.sh made. Each
network is written once there for all of them; Smelt gets the HLO that JAX makes of it. Every round times each system in turn on the same cores;
a figure is the median over the rounds of a round's median.

ONNX Runtime and OpenVINO have the weights beforehand and fold and pack them, so Smelt knows them too (--constant=all-but:INPUTS) beside the best
of these two and XLA. XLA reads weights as arguments: beside its better setting, with or without its library, Smelt reads them so as well.
`speed` is the rival's time divided by Smelt's: above 1 Smelt is faster.

Exit status: 0; 1 if a network failed; 2 for wrong use or where the peers are not there.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import peers  # noqa: E402
from compare_xla import Failed, cpu_name  # noqa: E402

NETS = ("resnet18", "resnet50", "mobilenet_v1", "mobilenet_v2", "dqn", "dcgan", "lstm_lm_1", "lstm_lm_35", "bert_base")
NO_LIBRARY = "--xla_disable_hlo_passes=dot-library-rewriter"
# Name, the peer of nets.py, its options, whether it has the weights as arguments.
PEERS = (("onnxruntime", "onnxruntime", {}, False), ("openvino", "openvino", {}, False), ("xla", "xla", {}, True),
         ("xla_no_library", "xla", {"xla_flags": NO_LIBRARY}, True))
BARS = {"known": (1.1, 0.9), "arguments": (1.6, 0.95)}

# Runs in the peers' environment: writes the HLO of a network and prints the numbers of its parameters that are inputs.
DUMP = """
import os, sys
os.environ['JAX_PLATFORMS'] = 'cpu'
sys.path.insert(0, sys.argv[1])
import jax, netdefs
f, weights, inputs = netdefs.jax_function(sys.argv[2])
lowered = jax.jit(f, keep_unused=True).lower(weights, *inputs)
open(sys.argv[3], 'w').write(lowered.compiler_ir('hlo').as_hlo_text())
print(','.join(str(len(weights) + i) for i in range(len(inputs))))
"""


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    peers.add_arguments(parser, NETS, seconds=0.6)
    return peers.parse(parser, NETS, "nets.py")


class Peer:
    """A peer with one network, loaded and waiting in a process of nets.py."""

    def __init__(self, arguments, net, name, peer, options, folder):
        self.name, self.rounds = name, []
        words = json.dumps([peer, net, arguments.threads, {"out": str(folder / f"{name}.npz"), **options}])
        self.errors = open(folder / f"{name}.err", "w+")
        self.process = subprocess.Popen([arguments.python, arguments.peers / "nets.py", "--worker", words], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, text=True, bufsize=1)
        ready = self.reply()
        if "error" in ready:
            raise Failed(f"{name}: {ready['error'][:160]}")

    def reply(self):
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            lines = self.errors.read().strip().splitlines()
            raise Failed(f"{self.name}: " + (lines[-1][:160] if lines else "ended without a word"))
        return json.loads(line)

    def measure(self, seconds):
        print(json.dumps({"budget": seconds, "min_runs": 3}), file=self.process.stdin, flush=True)
        self.rounds.append(statistics.median(self.reply()["ms"]))

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def dump(arguments, net, folder):
    module = folder / f"{net}.hlo"
    done = subprocess.run([arguments.python, "-c", DUMP, arguments.peers, net, module], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed("JAX: " + (done.stderr.strip().splitlines() or ["ended without a word"])[-1][:160])
    return module, done.stdout.strip()


def compare(arguments, net, folder):
    """One row of the table. Whatever was started is ended, also when something fails."""
    module, inputs = dump(arguments, net, folder)
    known, given, started = [], [], []
    try:
        for name, peer, options, _ in PEERS:
            print(f"{net}: {name}", file=sys.stderr)
            started.append(Peer(arguments, net, name, peer, options, folder))
        for number in range(arguments.rounds):
            print(f"{net}: round {number + 1} of {arguments.rounds}", file=sys.stderr)
            known.append(peers.smelt_ms(arguments, module, f"all-but:{inputs}"))
            given.append(peers.smelt_ms(arguments, module))
            for peer in started:
                peer.measure(arguments.seconds)
    finally:
        for peer in started:
            peer.close()
    ms = {peer.name: statistics.median(peer.rounds) for peer in started}
    row = {"net": net, "known_ms": statistics.median(known), "arguments_ms": statistics.median(given), "peers_ms": ms}
    of_arguments = [name for name, _, _, arguments_too in PEERS if arguments_too]
    row["known_rival"] = min(ms, key=ms.get)
    row["arguments_rival"] = min(of_arguments, key=ms.get)
    row["known_speed"] = ms[row["known_rival"]] / row["known_ms"]
    row["arguments_speed"] = ms[row["arguments_rival"]] / row["arguments_ms"]
    return row


def print_table(arguments, rows):
    print(f"{cpu_name()}, {arguments.threads} thread(s), {arguments.rounds} rounds, ms")
    print(f"{'network':<14}{'known':>9}{'speed':>7}  {'best of all':<15}{'arguments':>10}{'speed':>7}  {'XLA':<15}"
          + "".join(f"{name:>16}" for name, *_ in PEERS))
    for row in rows:
        if "error" in row:
            print(f"{row['net']:<14}{row['error']}")
            continue
        print(f"{row['net']:<14}{row['known_ms']:>9.3f}{row['known_speed']:>7.2f}  {row['known_rival']:<15}{row['arguments_ms']:>10.3f}"
              f"{row['arguments_speed']:>7.2f}  {row['arguments_rival']:<15}" + "".join(f"{row['peers_ms'][name]:>16.3f}" for name, *_ in PEERS))
    summary = {}
    for kind, (mean_bar, least_bar) in BARS.items():
        speeds = [row[f"{kind}_speed"] for row in rows if "error" not in row]
        if not speeds:
            continue
        mean = math.exp(statistics.fmean(map(math.log, speeds)))
        met = len(speeds) == len(rows) and mean >= mean_bar and min(speeds) >= least_bar
        summary[kind] = {"geometric_mean": mean, "least": min(speeds), "met": met}
        said = "weights known, beside the best of all" if kind == "known" else "weights as arguments, beside XLA"
        print(f"{said}: geometric mean {mean:.2f}, least {min(speeds):.2f} (bars {mean_bar} and {least_bar}: {'met' if met else 'not met'})")
    return summary


def main():
    arguments = read_arguments()
    rows = []
    for net in arguments.names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                rows.append(compare(arguments, net, pathlib.Path(folder)))
            except Failed as failure:
                rows.append({"net": net, "error": str(failure)})
    summary = print_table(arguments, rows)
    if arguments.json:
        arguments.json.write_text(json.dumps({"cpu": cpu_name(), "threads": arguments.threads, "rounds": arguments.rounds, "summary": summary,
                                              "rows": rows}, indent=1) + "\n")
    return 1 if any("error" in row for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
