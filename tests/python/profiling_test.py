"""`smelt.jax.kernel_times`: what XLA makes of a function, timed by JAX's profiler, becomes a corpus that Smelt reads and learns from."""
import csv
import json
import pathlib
import subprocess
import tempfile
import unittest
from unittest import mock

import jax
import jax.numpy as jnp
import programs
import smelt
import smelt.hlo
import smelt.jax as sj
from smelt.jax import profiling
from smelt.jax.profiling import COLUMNS, kernels

# A module as XLA prints it: callees first, one fusion in a loop's body, one that calls another computation, one with a constant that is not printed.
MODULE = """HloModule jit_step, is_scheduled=true, entry_computation_layout={(f32[8,4]{1,0})->f32[8]{0}}

%fused_sine (p.0: f32[8,4]) -> f32[8,4] {
  %p.0 = f32[8,4]{1,0} parameter(0)
  ROOT %s = f32[8,4]{1,0} sine(%p.0), metadata={op_name="jit(step)/{a \\"quoted\\" }/sin" source_line=3}
}

%body (t: (s32[], f32[8,4])) -> (s32[], f32[8,4]) {
  %t = (s32[], f32[8,4]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%t), index=0
  %x = f32[8,4]{1,0} get-tuple-element(%t), index=1
  %loop_fusion = f32[8,4]{1,0} fusion(%x), kind=kLoop, calls=%fused_sine, backend_config={"x":["2"]}
  ROOT %r = (s32[], f32[8,4]{1,0}) tuple(%i, %loop_fusion)
}

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

%fused_sum (p.1: f32[8,4]) -> f32[8] {
  %p.1 = f32[8,4]{1,0} parameter(0)
  %zero = f32[] constant(0)
  ROOT %reduce = f32[8]{0} reduce(%p.1, %zero), dimensions={1}, to_apply=%sum
}

%fused_table (p.2: f32[8]) -> f32[8] {
  %p.2 = f32[8]{0} parameter(0)
  %table = f32[8]{0} constant({...})
  ROOT %m = f32[8]{0} multiply(%p.2, %table)
}

ENTRY %main (x.1: f32[8,4]) -> f32[8] {
  %x.1 = f32[8,4]{1,0} parameter(0)
  %sum_fusion = f32[8]{0} fusion(%x.1), kind=kInput, calls=%fused_sum
  ROOT %table_fusion = f32[8]{0} fusion(%sum_fusion), kind=kLoop, calls=%fused_table
}
"""


def step(x, w):
    y = jnp.tanh(x @ w)
    y = jax.lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) * 0.5 + i, y)
    return (jax.nn.softmax(y, axis=-1) * x).sum(0), y.max(1)


class Kernels(unittest.TestCase):
    def test_a_kernel_is_a_fused_computation_with_what_it_calls(self):
        found = kernels(MODULE)
        self.assertEqual(sorted(found), ["loop_fusion", "sum_fusion"])  # the third one cannot be read back
        self.assertEqual(smelt.hlo.parse(found["loop_fusion"]).inspect()["opcodes"], {"parameter": 1, "sine": 1})
        self.assertIn("to_apply=%sum", found["sum_fusion"])
        self.assertEqual(smelt.hlo.parse(found["sum_fusion"]).inspect()["name"], "fused_sum")
        self.assertNotIn("metadata", found["loop_fusion"])


class Times(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.x, self.w = programs.values(256, 64), programs.values(64, 64, seed=2)

    def test_every_fusion_is_timed_in_every_run(self):
        rows = sj.kernel_times(step, self.x, self.w, runs=4)
        expected = kernels(jax.jit(step).lower(self.x, self.w).compile().as_text())
        self.assertGreater(len(rows), 4)
        self.assertLessEqual({row["kernel"] for row in rows}, set(expected.values()))
        for kernel in set(expected.values()) - {row["kernel"] for row in rows}:
            self.assertIn("compare(", kernel)  # a loop that runs three times anyway needs no look at its counter
        for row in rows:
            seconds = [float(s) for s in row["seconds"].split()]
            self.assertIn(len(seconds), (4, 12))  # once a run; in the loop's body
            self.assertTrue(all(0 < s < 1 for s in seconds), row["seconds"])
            self.assertEqual((row["program"], row["device"]), ("step", jax.devices()[0].device_kind))

    def test_the_table_becomes_a_corpus(self):
        rows = sj.kernel_times(jax.jit(step), self.x, self.w, program="mine", runs=3)
        self.assertEqual(sj.write_times(rows, self.folder / "times.csv"), len(rows))
        with open(self.folder / "times.csv", newline="") as file:
            self.assertEqual(tuple(next(csv.reader(file))), COLUMNS)
        said = subprocess.run([smelt.find_program(), "corpus", "import", self.folder / "times.csv", "--of=chip:mine", "-o", self.folder / "corpus", "--json"],
                              capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(said.stdout)["records"], len(rows))

    def test_a_trace_without_instructions_is_an_error(self):
        with mock.patch.object(profiling, "_samples", return_value={}), self.assertRaisesRegex(RuntimeError, "xla_gpu_enable_command_buffer"):
            sj.kernel_times(step, self.x, self.w, runs=1)

    def test_arguments_that_are_donated_stay(self):
        donating = jax.jit(lambda x: jnp.tanh(x) * 2, donate_argnums=0)
        x = jnp.ones((64, 64))
        self.assertTrue(sj.kernel_times(donating, x, runs=2))
        self.assertEqual(float(x.sum()), 64 * 64)


if __name__ == "__main__":
    unittest.main()
