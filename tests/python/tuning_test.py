"""`smelt.jax.tune`: searches that are ended, gone on with, and refused."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import jax
import jax.numpy as jnp
import programs
import smelt
import smelt.jax as sj
from fusions_test import HERE


class Tuning(unittest.TestCase):
    # Python leaves SIGINT alone where whoever started it ignores it, as a shell does for what runs behind a script.
    PROGRAM = """
import signal, sys, programs, smelt.jax as sj
signal.signal(signal.SIGINT, signal.default_int_handler)
x, scale = programs.values(64, 48), programs.values(48, seed=2)
tuned = sj.tune(programs.normalise, x, scale, out=sys.argv[1], budget=float(sys.argv[2]), target="xla")
print("returned", tuned.answer, tuned.report["interrupted"])
"""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name) / "run.smelt"
        self.x, self.scale = programs.values(64, 48), programs.values(48, seed=2)

    def test_an_interrupted_search_gives_the_best_so_far_and_is_gone_on_with(self):
        path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
        child = subprocess.Popen([sys.executable, "-c", self.PROGRAM, str(self.folder), "600"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path})
        log = self.folder / "log.txt"
        while not (log.is_file() and "trial " in log.read_text()):  # it has measured something
            self.assertIsNone(child.poll(), child.stderr.read() if child.poll() is not None else "")
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)  # to this process alone, as a notebook does
        output, rest = child.communicate(timeout=120)
        self.assertIn(b"returned", output, rest)
        self.assertIn(b"True", output)
        self.assertNotIn(b"\r", rest)
        self.assertTrue((self.folder / "smelt.json").is_file())
        with sj.optimize(self.folder):
            programs.assert_same(self, jax.jit(programs.normalise)(self.x, self.scale), programs.normalise(self.x, self.scale))
        again = sj.tune(programs.normalise, self.x, self.scale, out=self.folder, budget=15, target="xla", quiet=True)
        self.assertGreater(again.report["known"], 0)
        self.assertIn("XLA", str(again))

    def test_a_measuring_process_that_is_killed_is_started_again(self):
        def descendants(pid):
            with contextlib.suppress(OSError):  # it ended meanwhile
                for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                    for child in (task / "children").read_text().split():
                        yield int(child)
                        yield from descendants(child)

        def kill():
            log = self.folder / "log.txt"
            while not (log.is_file() and "trial " in log.read_text()):
                time.sleep(0.02)
            for pid in descendants(os.getpid()):
                command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
                if b"measure-worker" in command or b"struct.unpack" in command:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
        for target in ("xla", "cpu"):
            with self.subTest(target):
                self.folder, killed = self.folder.with_name(f"{target}.smelt"), []
                killer = threading.Thread(target=kill, daemon=True)
                killer.start()
                tuned = sj.tune(programs.normalise, self.x, self.scale, out=self.folder, budget=20, target=target, quiet=True)
                killer.join(timeout=1)
                if not killed:
                    self.skipTest("this machine is too slow to have measured anything within the budget")
                if tuned.report["measured"] <= 1 and tuned.report["wall_seconds"] > 10:
                    self.skipTest("this machine is too slow to have started the process again within the budget")
                self.assertGreater(tuned.report["measured"], 1, (tuned.report, (self.folder / "log.txt").read_text()))
                with sj.optimize(tuned):
                    programs.assert_same(self, jax.jit(programs.normalise)(self.x, self.scale), programs.normalise(self.x, self.scale))

    def test_loops_and_grouped_convolutions_may_become_functions(self):
        images, kernel, state = programs.values(2, 24, 24, 16), programs.values(3, 3, 1, 16, seed=2), programs.values(32, 20, seed=3)
        tuned = sj.tune(programs.filtered, images, kernel, state, out=self.folder, budget=10, target="xla", quiet=True)
        expected = programs.filtered(images, kernel, state)
        with sj.optimize(tuned):
            programs.assert_same(self, jax.jit(programs.filtered)(images, kernel, state), expected)
        if tuned.answer == "as_given":  # what is faster is for the machine to say
            self.assertEqual((self.folder / "fused.hlo").read_text().count("xla_cpu_small_call"), len(tuned.report["knobs"].get("call", [])))

    def test_both_targets_are_tried_and_the_faster_one_is_the_answer(self):
        tuned = sj.tune(programs.normalise, self.x, self.scale, out=self.folder, budget=24, quiet=True)
        self.assertEqual(tuned.report["targets"], ["xla", "cpu"])
        other = tuned.report["kernels" if tuned.report["target"] == "xla" else "fusions"]
        self.assertGreaterEqual(tuned.speedup, 1.0 if other["answer"] == "xla" else other["speedup"])
        self.assertIn("Fusions in XLA's own code", str(tuned))
        self.assertIn("Kernels called from XLA's program", str(tuned))
        with sj.optimize(tuned):
            programs.assert_same(self, jax.jit(programs.normalise)(self.x, self.scale), programs.normalise(self.x, self.scale))
        with self.assertRaisesRegex(ValueError, "'xla,cpu'"):
            sj.tune(programs.normalise, self.x, self.scale, out=self.folder, target="xla,xla")
        with self.assertRaisesRegex(ValueError, "expected one of 'xla', 'cpu'$"):
            sj.fuse(programs.normalise, self.x, self.scale, out=self.folder, target="xla,cpu")

    def test_a_folder_of_another_function_is_refused_and_kept(self):
        sj.fuse(programs.normalise, self.x, self.scale, out=self.folder)
        manifest = (self.folder / "smelt.json").read_bytes()
        with self.assertRaisesRegex(ValueError, "another function or of other shapes"):
            sj.tune(programs.normalise, self.x[:3], self.scale, out=self.folder)
        self.assertEqual((self.folder / "smelt.json").read_bytes(), manifest)

    def test_wrong_use_is_an_error_before_anything_runs(self):
        with self.assertRaisesRegex(ValueError, "target='gpu'"):
            sj.tune(programs.normalise, self.x, self.scale, out=self.folder, target="gpu")
        with self.assertRaisesRegex(ValueError, "jit_options are for"):
            sj.tune(jax.jit(programs.normalise), self.x, self.scale, out=self.folder, jit_options={"donate_argnums": 0})
        with self.assertRaisesRegex(smelt.ProgramError, "nonsense"):
            sj.fuse(programs.normalise, self.x, self.scale, out=self.folder, fusion="nonsense")
        self.assertFalse((self.folder / "smelt.json").exists())

    def test_a_program_that_cannot_be_evaluated_is_refused_with_the_reason(self):
        def calls_python(x):
            return jax.pure_callback(lambda a: a, jax.ShapeDtypeStruct(x.shape, x.dtype), x) * 2
        with self.assertRaises((smelt.ProgramError, ValueError)) as caught:
            sj.tune(calls_python, self.x, out=self.folder, budget=0.1, quiet=True)
        self.assertIn("callback", str(caught.exception))
        self.assertFalse((self.folder / "smelt.json").exists())

    def test_shapes_are_enough_and_named_arguments_count(self):
        made = sj.fuse(lambda x, *, scale: programs.normalise(x, scale), jax.ShapeDtypeStruct((64, 48), jnp.float32), out=self.folder,
                       example_kwargs={"scale": jax.ShapeDtypeStruct((48,), jnp.float32)}, fusion="none")
        self.assertIn("without measurements", str(made))
        with sj.optimize(made) as optimization:
            f = jax.jit(lambda x, *, scale: programs.normalise(x, scale))
            programs.assert_same(self, f(self.x, scale=self.scale), programs.normalise(self.x, self.scale))
        self.assertEqual(len(optimization.used), 1)

    def test_a_plain_function_takes_the_options_of_jit(self):
        made = sj.fuse(programs.normalise, self.x, self.scale, out=self.folder, jit_options={"donate_argnums": 0})
        with sj.optimize(made) as optimization:
            jax.jit(programs.normalise, donate_argnums=0)(jnp.copy(self.x), self.scale)
        self.assertEqual(optimization.used, ["jit_normalise"])


if __name__ == "__main__":
    unittest.main()
