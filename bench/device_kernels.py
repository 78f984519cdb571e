#!/usr/bin/env python3
"""Times the kernels that XLA makes of HLO programs on the device that JAX finds (a GPU, say), for `smelt corpus import`. Needs jax with that device.

  python bench/device_kernels.py PROGRAMS -o times.csv --seconds=400

PROGRAMS are HLO texts, or a folder of them; NAME.golden.safetensors beside NAME.before_optimizations.hlo gives the ranges of the inputs. First all are compiled,
several at once, then each one runs alone under JAX's profiler. What the device's compiler refuses is told and left out; what
the time does not reach as well.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "python")]
import xla_time  # noqa: E402
from smelt.jax.profiling import times_of, write_times  # noqa: E402

# To begin and to end a trace takes two seconds on a GPU.
PROGRAMS_A_TRACE = 12

# Kernels are told apart in the trace only where the device gets them one by one; products are XLA's own kernels, not a library's, where it can;
# tiles are not timed while others compile.
GPU_FLAGS = "--xla_gpu_enable_command_buffer= --xla_gpu_cublas_fallback=false --xla_gpu_triton_gemm_any=true --xla_gpu_autotune_level=0"


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", type=pathlib.Path)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True)
    parser.add_argument("--platform", default="gpu", help="what JAX calls it: gpu, tpu, cpu (default gpu)")
    parser.add_argument("--seconds", type=float, default=3600, help="for everything; half of it at most for compiling (default 3600)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="programs that are compiled at once")
    parser.add_argument("--runs", type=int, default=10, help="timed runs of each program (default 10)")
    parser.add_argument("--flags", default=None, help=f"XLA's flags (default for a GPU: {GPU_FLAGS})")
    return parser.parse_args()


def compiled(path, platform, number):
    golden = path.parent / (path.name.split(".")[0] + ".golden.safetensors")
    ranges = xla_time.golden_ranges(golden) if golden.exists() else None
    # The trace knows programs by the names of their modules.
    text = re.sub(r"HloModule [^\s,]+", f"HloModule program_{number}", xla_time.without_aliasing(path.read_text()), count=1)
    return xla_time.Module(text, ranges, platform)


class Progress:
    def __init__(self):
        self.begin = time.monotonic()

    def seconds(self):
        return time.monotonic() - self.begin

    def say(self, line):
        print(f"{self.seconds():5.0f} s  {line}", file=sys.stderr, flush=True)


def times_of_each(programs, runs, progress):
    """One trace for all of them; where one of them fails, one for each."""
    try:
        return times_of([(name, module.executable.hlo_modules()[0].to_string(), module.run) for name, module in programs], runs)
    except Exception as error:  # What one program cannot do says nothing about the next one.
        if len(programs) == 1:
            progress.say(f"{programs[0][0]}: {str(error).splitlines()[0][:160]}")
            return []
        return [row for program in programs for row in times_of_each([program], runs, progress)]


def rows_of(modules, arguments, progress):
    """Rows of all programs, a few to a trace, until the time is over."""
    for first in range(0, len(modules), PROGRAMS_A_TRACE):
        if progress.seconds() > arguments.seconds:
            progress.say(f"no time left for {len(modules) - first} programs")
            return
        programs = modules[first : first + PROGRAMS_A_TRACE]
        yield from times_of_each(programs, arguments.runs, progress)
        for name, module in programs:
            module.free()
        progress.say(f"{min(first + PROGRAMS_A_TRACE, len(modules))} of {len(modules)} programs timed")


def main():
    arguments = read_arguments()
    progress = Progress()
    flags = arguments.flags if arguments.flags is not None else GPU_FLAGS if arguments.platform == "gpu" else ""
    os.environ.update(XLA_FLAGS=flags, TF_CPP_MIN_LOG_LEVEL="3")
    paths = []
    for path in arguments.programs:
        paths += sorted(path.glob("*.before_optimizations.hlo")) or sorted(path.glob("*.hlo")) if path.is_dir() else [path]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        futures = {}
        for number, path in enumerate(paths):
            futures[pool.submit(compiled, path, arguments.platform, number)] = path
            if number == 0:
                concurrent.futures.wait(futures)  # What starts with the first compilation (device, LLVM) crashes at times where several begin at once.
        done, late = concurrent.futures.wait(futures, timeout=arguments.seconds / 2)
        for future in late:
            future.cancel()
            progress.say(f"{futures[future].name}: not compiled in time")
        modules = []
        for future in sorted(done, key=lambda future: futures[future].name):
            name = futures[future].name.split(".")[0]
            if error := future.exception():
                progress.say(f"{name}: {str(error).splitlines()[0][:160]}")
            else:
                modules.append((name, future.result()))
        progress.say(f"{len(modules)} of {len(paths)} programs compiled")
        rows = write_times(rows_of(modules, arguments, progress), arguments.output)
        print(f"{rows} kernels in {progress.seconds():.0f} s: {arguments.output}", flush=True)
        os._exit(0 if rows else 1)  # What still compiles is not waited for.


if __name__ == "__main__":
    main()
