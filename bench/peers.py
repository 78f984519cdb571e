"""What compare_layers.py and compare_nets.py share: where the peers are, and one timing of Smelt beside them.

  peers.add_arguments(parser, NAMES); arguments = peers.parse(parser, NAMES, "layers.py")
  ms = peers.smelt_ms(arguments, module, constant="1")      # raises Failed
"""
import json
import os
import pathlib
import subprocess

from compare_xla import Failed

ROOT = pathlib.Path(__file__).resolve().parent.parent


def add_arguments(parser, names, seconds):
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {' '.join(names)}; default: all")
    parser.add_argument("--peers", type=pathlib.Path, default=ROOT.parent / "shared/peers",
                        help="folder with the scripts that time the peers (default %(default)s)")
    parser.add_argument("--python", type=pathlib.Path, required=True, help="of the environment that the peers' setup.sh made")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5, help="at least 5 for a result to quote (default)")
    parser.add_argument("--seconds", type=float, default=seconds, help="of each system and round (default %(default)s)")
    parser.add_argument("--smelt", type=pathlib.Path, default=ROOT / "build/release/smelt")
    parser.add_argument("--json", type=pathlib.Path, help="write all figures there")


def parse(parser, names, script):
    """The arguments, checked: wrong use, a program or a script that is not there, ends the process with status 2."""
    arguments = parser.parse_args()
    for name in arguments.names:
        if name not in names:
            parser.error(f"there is no {name}: {', '.join(names)}")
    if arguments.rounds < 1 or arguments.threads < 1:
        parser.error("--rounds, --threads: at least 1")
    if arguments.threads > len(os.sched_getaffinity(0)):
        parser.error(f"--threads={arguments.threads}: this process may use {len(os.sched_getaffinity(0))} processors")
    if not (arguments.peers / script).is_file():
        parser.error(f"no {script} in {arguments.peers}: give --peers, the folder with the scripts that time the peers")
    for program, what in ((arguments.smelt, "build it (scripts/test.sh), or give --smelt"), (arguments.python, "run the peers' setup.sh")):
        if not os.access(program, os.X_OK):
            parser.error(f"no program at {program}: {what}")
    arguments.names = arguments.names or list(names)
    return arguments


# What holds each library to AVX2, and the processor that Smelt makes such code for.
AVX2 = {"ONEDNN_MAX_CPU_ISA": "AVX2", "DNNL_MAX_CPU_ISA": "AVX2", "OPENBLAS_CORETYPE": "Haswell", "BLIS_ARCH_TYPE": "haswell",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}
AVX2_CPU = "haswell"


def add_isa(parser):
    parser.add_argument("--isa", choices=("native", "avx2"), default="native",
                        help="avx2: rivals are held to AVX2 and Smelt's code is for cpu:haswell, as on a processor that has no more")


def held_to_avx2(arguments):
    return getattr(arguments, "isa", "native") == "avx2"


def peer_environment(arguments):
    """The environment that a peer is started in."""
    return {**os.environ, **AVX2} if held_to_avx2(arguments) else None


def smelt(arguments, verb, module, *words):
    """What `smelt VERB MODULE` writes, on the last processors, which the peers' scripts use too."""
    cpu = f"{AVX2_CPU}," if held_to_avx2(arguments) else ""
    command = [arguments.smelt, verb, module, f"--target=cpu:{cpu}threads={arguments.threads}", *words]
    processors = sorted(os.sched_getaffinity(0))[-arguments.threads:]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, processors))
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise Failed("smelt: " + (lines[-1][:160] if lines else f"exit {done.returncode}"))
    return done.stdout


def known_words(constant):
    """The words that say which parameters are known beforehand, if any are."""
    return [] if constant is None else [f"--constant={constant}"]


def smelt_ms(arguments, module, constant=None, schedule=None):
    """Median of one `smelt bench`. `constant`: parameters that are known beforehand; `schedule`: a file of the kernels' schedules, else the defaults."""
    words = known_words(constant) + ([] if schedule is None else [f"--schedule={schedule}"])
    return json.loads(smelt(arguments, "bench", module, f"--seconds={arguments.seconds}", "--json", *words))["median_ms"]
