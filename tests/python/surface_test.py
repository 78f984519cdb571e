"""What a user meets: wrong use, decorated functions, warnings, pickles, what `tune` says and what it leaves behind."""
import asyncio
import json
import logging
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from unittest import mock

import jax
import jax.numpy as jnp
import programs
import smelt
import smelt.jax as sj
from fusions_test import Folders, text
from smelt.jax import comparison, door, optimizing, result, search, timing, tuning


class Surface(Folders):
    def setUp(self):
        self.x, self.scale = programs.values(64, 48), programs.values(48, seed=2)

    def path(self):
        return self.fused("normalise", programs.normalise, self.x, self.scale)


class WrongUse(Surface):
    def test_what_is_no_folder_is_named(self):
        for wrong in (None, 123, [None], b"folder"):
            with self.subTest(wrong), self.assertRaisesRegex(TypeError, "takes folders of smelt.jax.tune"):
                sj.optimize(wrong)

    def test_leaving_without_entering(self):
        with self.assertRaisesRegex(RuntimeError, "has not entered it"):
            sj.optimize(self.path()).__exit__(None, None, None)

    def test_out_that_is_a_file(self):
        file = self.root / "file"
        file.write_text("")
        with self.assertRaisesRegex(ValueError, "a file is there"):
            sj.tune(programs.normalise, self.x, self.scale, out=file)
        self.assertEqual(file.read_text(), "")

    def test_a_budget_that_is_none(self):
        for wrong in (0, -1, float("nan"), float("inf"), "60", True):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, "budget="):
                sj.tune(programs.normalise, self.x, self.scale, out=self.root / "never", budget=wrong)
        self.assertFalse((self.root / "never").exists())

    def test_a_program_that_is_missing_is_found_out_before_anything_is_traced(self):
        traced = []
        with mock.patch.dict(os.environ, SMELT=str(self.root / "nothing")), self.assertRaisesRegex(smelt.ProgramError, "no program is there"):
            sj.tune(lambda x: traced.append(1) or x, self.x, out=self.root / "never.smelt")
        self.assertEqual((traced, (self.root / "never.smelt").exists()), ([], False))

    def test_nothing_is_left_of_a_call_that_ends_before_the_search(self):
        with mock.patch.object(door, "capture", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            sj.tune(programs.normalise, self.x, self.scale, out=self.root / "interrupted.smelt", quiet=True)
        self.assertFalse((self.root / "interrupted.smelt").exists())

    def test_a_folder_of_something_else_is_left_as_it_is(self):
        other = self.root / "other"
        other.mkdir(exist_ok=True)
        (other / "module.pb").write_bytes(b"mine")
        with self.assertRaises(Exception):
            sj.tune(programs.normalise, self.x, self.scale, out=other, quiet=True)
        self.assertEqual((other / "module.pb").read_bytes(), b"mine")


class Decorated(Surface):
    def inside(self, f):
        return "wrapped_tanh" in text(f, self.x, self.scale)

    def test_a_generator_runs_inside_and_its_caller_outside(self):
        seen = []

        @sj.optimize(self.path())
        def steps(count):
            for _ in range(count):
                seen.append(self.inside(jax.jit(programs.normalise)))
                sent = yield "step"
            return sent

        def whole():
            seen.append((yield from steps(1)))
        generator = whole()
        self.assertEqual(next(generator), "step")
        self.assertFalse(self.inside(jax.jit(programs.normalise)))
        with self.assertRaises(StopIteration):
            generator.send("end")
        self.assertEqual(seen, [True, "end"])
        self.assertEqual(optimizing._context.value, ())

    def test_a_generator_is_closed_and_thrown_into(self):
        ends = []

        @sj.optimize(self.path())
        def steps():
            try:
                yield 1
            except ValueError:
                yield 2
            finally:
                ends.append(len(optimizing._context.value))
        generator = steps()
        next(generator)
        self.assertEqual(generator.throw(ValueError()), 2)
        generator.close()
        self.assertEqual(ends, [1])

    def test_a_coroutine_runs_inside_and_others_between_its_steps_outside(self):
        seen = {}

        @sj.optimize(self.path())
        async def tuned():
            seen["before"] = len(optimizing._context.value)
            await asyncio.sleep(0.01)
            seen["after"] = self.inside(jax.jit(programs.normalise))
            return "result"

        async def other():
            await asyncio.sleep(0)
            seen["other"] = len(optimizing._context.value)

        async def both():
            return await asyncio.gather(tuned(), other())
        self.assertEqual(asyncio.run(both())[0], "result")
        self.assertEqual(seen, {"before": 1, "after": True, "other": 0})

    def test_what_cannot_be_wrapped_is_refused(self):
        async def stream():
            yield 1
        with self.assertRaisesRegex(TypeError, "asynchronous generator"):
            sj.optimize(self.path())(stream)
        with self.assertRaisesRegex(TypeError, "decorates functions"):
            sj.optimize(self.path())("step")


class Objects(Surface):
    def test_results_can_be_hashed_pickled_and_loaded(self):
        made = sj.fuse(programs.normalise, self.x, self.scale, out=self.root / "kept.smelt", fusion="none")
        for again in (pickle.loads(pickle.dumps(made)), sj.Tuned.load(made), sj.Tuned.load(str(self.root / "kept.smelt"))):
            self.assertEqual(again, made)
            self.assertEqual(hash(again), hash(made))
            self.assertEqual((again.answer, again.verified), ("as_given", False))

    def test_loading_what_is_none_says_why(self):
        with self.assertRaisesRegex(ValueError, "no such folder"):
            sj.Tuned.load(self.root / "nowhere")
        with self.assertRaisesRegex(ValueError, "has no smelt.json"):
            sj.Tuned.load(self.root)

    def test_a_context_can_be_pickled(self):
        optimization = pickle.loads(pickle.dumps(sj.optimize(self.path())))
        with optimization:
            self.assertIn("wrapped_tanh", text(jax.jit(programs.normalise), self.x, self.scale))
        self.assertIn("normalise.smelt", repr(optimization))


class Warned(Surface):
    def test_a_warning_stands_at_the_users_line_and_names_only_what_differs(self):
        def many(x, scale, other, last):
            return programs.normalise(x, scale) + other["a"] + other["b"] + last
        a, b = programs.values(64, 1, seed=5), programs.values(64, 1, seed=6)
        path = self.fused("many", many, self.x, self.scale, {"a": a, "b": b}, 1.0)
        f = jax.jit(many)
        with warnings.catch_warnings(record=True) as caught, sj.optimize(path):
            warnings.simplefilter("always")
            f(self.x, self.scale, {"a": a, "b": b[:1]}, 1.0)  # here
        (warning,) = [w for w in caught if issubclass(w.category, sj.SmeltWarning)]
        self.assertEqual(warning.filename, __file__)
        self.assertIn("# here", pathlib.Path(__file__).read_text().splitlines()[warning.lineno - 1])
        self.assertIn("was tuned for other['b'] of f32[64,1] and is used for f32[1,1]. ", str(warning.message))

    def test_a_folder_that_is_none_is_warned_of_where_it_is_named(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            sj.optimize(self.root / "gone.smelt")
        self.assertEqual(caught[0].filename, __file__)

    def test_types_are_read_from_signatures(self):
        self.assertEqual(door.arguments_of("(tensor<24x48xf32>, tensor<i32>, tensor<2xcomplex<f32>>, tensor<3xf8E4M3FN>) -> tensor<4xf32>"),
                         ["f32[24,48]", "i32[]", "c64[2]", "f8E4M3FN[3]"])


class Threads(Surface):
    def test_two_folders_of_one_function_in_two_threads_at_once(self):
        x = programs.values(20, 48)
        folders = [self.fused(f"at-once-{fusion}", programs.normalise, x, self.scale, fusion=fusion) for fusion in ("none", "priority")]
        for _ in range(3):
            f, barrier, found = jax.jit(programs.normalise), threading.Barrier(2), {}
            def work(path):
                with warnings.catch_warnings(), sj.optimize(path):
                    barrier.wait()
                    compiled = f.lower(x, self.scale).compile()
                    found[path] = compiled.as_text()
            said = []
            with mock.patch.object(optimizing, "_warn", lambda *words: said.append(words)):
                threads = [threading.Thread(target=work, args=(path,)) for path in folders]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            self.assertEqual(said, [])
            self.assertIn("wrapped_tanh", found[folders[0]])
            self.assertNotIn("wrapped_tanh", found[folders[1]])
            jax.clear_caches()


class Rule(unittest.TestCase):
    """Which of two programs is faster."""

    @staticmethod
    def child(usual, ours, usual_block=None, ours_block=None):
        return {"usual": [usual] * 5, "ours": [ours] * 5, "usual_blocks": [usual_block or usual], "ours_blocks": [ours_block or ours]}

    def test_a_gain_that_every_process_sees_is_one(self):
        judged = comparison.judge([self.child(2.0 + d, 1.0) for d in (0, 0.02, 0.01, 0.03)])
        self.assertTrue(judged.better)
        self.assertAlmostEqual(judged.speedup, 2.015, 3)
        self.assertTrue(1.9 < judged.low < judged.speedup < judged.high < 2.1)

    def test_in_turn_and_in_blocks_must_agree(self):
        self.assertFalse(comparison.judge([self.child(2.0, 1.0, 1.0, 1.01)] * 6).better)
        self.assertFalse(comparison.judge([self.child(1.0, 1.01, 2.0, 1.0)] * 6).better)

    def test_what_one_process_says_is_not_enough_nor_what_they_contradict(self):
        self.assertFalse(comparison.judge([self.child(2.0, 1.0)]).better)
        self.assertFalse(comparison.judge([self.child(1.5, 1.0), self.child(1.0, 1.3), self.child(1.4, 1.0)]).better)

    def test_a_program_is_never_faster_than_itself(self):
        import random
        draw = random.Random(1)
        def noisy():
            return {key: [draw.lognormvariate(0, 0.05) for _ in range(9)] for key in ("usual", "ours", "usual_blocks", "ours_blocks")}
        better = sum(comparison.judge([noisy() for _ in range(6)]).better for _ in range(300))
        self.assertLessEqual(better, 3)

    def test_programs_are_measured_in_turn_and_in_blocks(self):
        calls = []
        comparison.measure(lambda: calls.append("u"), lambda: calls.append("o"), 0.02)
        found = comparison.measure(lambda: None, lambda: sum(range(2000)), 0.02)
        self.assertGreater(min(found["ours"]), max(0, min(found["usual"])))
        self.assertEqual(len(found["usual"]), len(found["ours"]))
        self.assertTrue(found["usual_blocks"] and len(found["usual_blocks"]) == len(found["ours_blocks"]))


    def test_a_process_that_fails_is_tried_once_more(self):
        first = self.child(2.0, 1.0)
        def runs(*replies):
            done = [subprocess.CompletedProcess([], status, out, b"it broke") for status, out in replies]
            return mock.patch.object(comparison.subprocess, "run", side_effect=done)
        good = (0, json.dumps(first).encode())
        with mock.patch.object(comparison, "CHILDREN", 4):
            with runs((-9, b""), good, good, good):
                self.assertEqual(comparison.compare(pathlib.Path("any"), lambda: 1e6, first).children, 4)
            with runs(good, (-9, b""), (-9, b"")), self.assertRaisesRegex(smelt.ProgramError, "status -9: it broke"):
                comparison.compare(pathlib.Path("any"), lambda: 1e6, first)


    def test_other_processes_time_kernels_also_where_xla_cannot_write_its_code_down(self):
        for f in (lambda x: jnp.tanh(x @ x.T), lambda x: jnp.tanh(jnp.sort(x, axis=0) @ x.T)):
            with self.subTest(f), tempfile.TemporaryDirectory() as scratch:
                path, x = pathlib.Path(scratch), programs.values(64, 64)
                sj.fuse(f, x, out=path / "run.smelt", fusion="priority", target="cpu")
                made = json.loads((path / "run.smelt" / "smelt.json").read_text())["kernels"]
                module = (path / "run.smelt" / made["module"]).read_bytes()
                computation = tuning.lower(f, [x])
                usual, ours = door.Program(computation, [x]), door.Program(computation, [x], module)
                timing.save(path, computation, usual, ours, module, path / "run.smelt" / made["library"], [x])
                first = comparison.measure(usual.run, ours.run, 0.05)
                with mock.patch.object(comparison, "CHILDREN", 2):
                    self.assertEqual(comparison.compare(path, lambda: 1e6, first).children, 2)


class Words(unittest.TestCase):
    REPORT = {"answer": "kernels", "target": "cpu", "calls": 32, "default_ms": 1.67, "best_ms": 1.1, "speedup": 1.518, "interval": [1.41, 1.63],
              "checked": "XLA's own", "wall_seconds": 38.2, "budget_seconds": 40.0}

    def test_three_lines(self):
        said = result.words(pathlib.Path("step.smelt"), self.REPORT).splitlines()
        self.assertEqual(len(said), 3)
        self.assertEqual(said[0], "XLA 1.67 ms, Smelt 1.1 ms, 1.52 times [1.41, 1.63]")
        self.assertEqual(said[1], "changed: kernels of Smelt's own are called in 32 places; results agree with XLA's own")
        self.assertIn("smelt.jax.optimize('step.smelt')", said[2])
        self.assertIn("took 38 s of 40 s", said[2])

    def test_nothing_found_and_nothing_timed(self):
        said = result.words(pathlib.Path("a"), {**self.REPORT, "answer": "xla", "interval": [0.97, 1.02], "speedup": 0.99})
        self.assertIn("nothing faster beyond doubt: the best ran at 0.99 times [0.97, 1.02]", said)
        self.assertIn("nothing was timed", result.words(pathlib.Path("a"), {"answer": "xla", "target": "xla", "why": "no time"}))


class Telling(unittest.TestCase):
    def test_lines_go_to_the_logger_and_progress_is_no_part_of_an_error(self):
        script = ("import sys, time\nerr = sys.stderr\nerr.write('tuning takes about 3 s\\n')\n"
                  "err.write('\\rmoves 1 of 3 s')\nerr.write('\\rmoves 2 of 3 s\\n')\nerr.write('f.hlo:1: no such thing\\n'); sys.exit(1)")
        with self.assertLogs("smelt", "INFO") as logged:
            status, lines = search._run([sys.executable, "-c", script], subprocess.DEVNULL)
        self.assertEqual((status, lines), (1, ["f.hlo:1: no such thing"]))
        self.assertFalse([line for line in logged.output if "\r" in line])
        self.assertTrue(any("takes about 3 s" in line for line in logged.output))

    def test_without_a_handler_progress_is_seen_unless_quiet(self):
        logger = logging.getLogger("smelt")
        with mock.patch.object(logging.getLogger(), "handlers", []), mock.patch.object(logger, "handlers", []):
            with search.telling(quiet=False):
                self.assertTrue(logger.isEnabledFor(logging.INFO) and logger.handlers)
            self.assertEqual(logger.handlers, [])
            with search.telling(quiet=True):
                self.assertEqual(logger.handlers, [])


class Beyond(Surface):
    """Programs that the evaluator does not know, or cannot judge, under both targets."""

    def tuned(self, name, f, *arguments, target):
        done = sj.tune(f, *arguments, out=self.root / f"{name}.{target}.smelt", target=target, budget=12, quiet=True)
        with sj.optimize(done):
            programs.assert_same(self, f(*arguments), f.__wrapped__(*arguments), 1e-4)
        return done

    def test_a_custom_call(self):
        f = jax.jit(lambda x: jax.lax.top_k(jnp.tanh(x @ x.T), 4))
        done = self.tuned("top_k", f, programs.values(96, 96), target="cpu")
        self.assertIn("TopK", done.report["why"] + str(done))
        self.assertIn("TopK", sj.Tuned.load(done).report["why"])
        self.assertNotIn("evaluator's", done.report["checked"])

    def test_a_collective(self):
        mesh = jax.sharding.Mesh(jax.devices()[:1], ("i",))
        spec = jax.sharding.PartitionSpec("i")
        f = jax.jit(jax.shard_map(lambda x: jax.lax.psum(jnp.exp(x) * x, "i"), mesh=mesh, in_specs=spec, out_specs=jax.sharding.PartitionSpec()))
        for target in ("xla", "cpu"):
            with self.subTest(target):
                done = self.tuned("psum", f, programs.values(64, 64), target=target)
                self.assertIn(done.answer, result.CHANGED)

    def test_an_instruction_that_jaxlib_cannot_write_as_stablehlo(self):
        f = jax.jit(lambda x: jax.lax.mulhi(x, x + 3))
        done = self.tuned("mulhi", f, jnp.arange(64, dtype=jnp.int32) * 123456789, target="xla")
        self.assertEqual(done.answer, "xla")
        self.assertIn("mulhi", done.report["why"])

    def test_an_ill_conditioned_result(self):
        f = jax.jit(lambda a: jnp.linalg.solve(a @ a, a[0]))
        for target in ("xla", "cpu"):
            with self.subTest(target):
                a = programs.values(48, 48)
                done = sj.tune(f, a, out=self.root / f"solve.{target}.smelt", target=target, budget=4, quiet=True)
                self.assertIn(done.answer, result.CHANGED)

    def test_a_module_that_passes_of_ours_would_simplify_is_tuned_as_it_is(self):
        f = jax.jit(lambda x: jnp.sort(jax.lax.optimization_barrier(x.astype(jnp.float32) * 2), axis=0))
        done = sj.tune(f, programs.values(64, 64), out=self.root / "simple.smelt", target="cpu", budget=10, quiet=True)
        self.assertNotIn("another module", done.report["why"])

    def test_a_compilation_beyond_what_the_child_knows(self):
        with mock.patch.object(search, "run", side_effect=search.Beyond("XLA refuses the module: no handler")):
            done = sj.tune(jax.jit(programs.normalise), self.x, self.scale, out=self.root / "unknown.smelt", budget=60, target="xla", quiet=True)
        self.assertEqual((done.answer, done.speedup, done.interval), ("xla", 1.0, (1.0, 1.0)))
        self.assertIn("no handler", str(sj.Tuned.load(done)))


if __name__ == "__main__":
    unittest.main()
