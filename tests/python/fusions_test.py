"""`smelt.jax.optimize`: tuned modules in XLA's place, the same numbers, and nothing left behind."""
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

import jax
import jax.numpy as jnp
import programs
import smelt.jax as sj
from smelt.jax import folder

HERE = pathlib.Path(__file__).resolve().parent


class Folders(unittest.TestCase):
    """Folders with a fusion that differs from XLA's, one of each function."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.scratch.name)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def fused(self, name, f, *arguments, fusion="none", **options):
        path = self.root / f"{name}.smelt"
        if not (path / folder.MANIFEST).is_file():
            sj.fuse(f, *arguments, out=path, fusion=fusion, **options)
        return path

    def silent(self):
        """Every warning of ours is an error."""
        catcher = warnings.catch_warnings()
        catcher.__enter__()
        self.addCleanup(catcher.__exit__, None, None, None)
        warnings.simplefilter("error", sj.SmeltWarning)


def text(f, *arguments):
    """What XLA runs, without where it comes from."""
    lines = f.lower(*arguments).compile().as_text().splitlines()
    return "\n".join(line.split(", metadata=")[0] for line in lines if line.lstrip().startswith(("%", "ROOT ", "ENTRY ")))


class InContext(Folders):
    def setUp(self):
        self.silent()
        self.x, self.scale = programs.values(64, 48), programs.values(48, seed=2)

    def test_a_jitted_function_runs_our_fusions_inside_and_xlas_outside(self):
        f, self.x = jax.jit(programs.normalise), programs.values(40, 48)
        path = self.fused("alone", f, self.x, self.scale)
        before, usual = f(self.x, self.scale), text(f, self.x, self.scale)
        optimization = sj.optimize(path)
        self.assertEqual(optimization.used, [])
        with optimization:
            programs.assert_same(self, f(self.x, self.scale), before)
            ours = text(f, self.x, self.scale)
        self.assertEqual(optimization.used, ["jit_normalise"])
        self.assertNotEqual(ours, usual)
        self.assertIn("wrapped_tanh", ours)
        self.assertNotIn("wrapped_tanh", usual)
        self.assertEqual(text(jax.jit(programs.normalise), self.x, self.scale), usual)
        programs.assert_same(self, f(self.x, self.scale), before, 0)

    def test_a_decorated_function_is_compiled_once(self):
        path = self.fused("normalise", programs.normalise, self.x, self.scale)
        traced = []

        @sj.optimize(path)
        @jax.jit
        def normalise(x, scale):
            traced.append(1)
            return programs.normalise(x, scale)

        for _ in range(3):
            programs.assert_same(self, normalise(self.x, self.scale), programs.normalise(self.x, self.scale))
        self.assertEqual(len(traced), 1)

    def test_gradients_and_values(self):
        step = jax.jit(jax.value_and_grad(programs.energy))
        path = self.fused("gradient", step, self.x, self.scale, fusion="random:3")
        before = step(self.x, self.scale)
        with sj.optimize(path) as optimization:
            programs.assert_same(self, step(self.x, self.scale), before)
        self.assertEqual(len(optimization.used), 1)

    def test_a_function_under_vmap(self):
        batched = jax.jit(jax.vmap(programs.normalise, in_axes=(0, None)))
        xs = programs.values(3, 64, 48)
        path = self.fused("vmap", batched, xs, self.scale)
        before = batched(xs, self.scale)
        with sj.optimize(path) as optimization:
            programs.assert_same(self, batched(xs, self.scale), before)
        self.assertEqual(len(optimization.used), 1)

    def test_scan_with_its_loop_state(self):
        f = jax.jit(programs.scanned)
        carry, xs = programs.values(32, 16), programs.values(7, 32, 16, seed=5)
        before = f(carry, xs)
        for fusion in ("none", "priority", "random:7"):
            with self.subTest(fusion=fusion), sj.optimize(self.fused(f"scan-{fusion}", f, carry, xs, fusion=fusion)) as optimization:
                programs.assert_same(self, f(carry, xs), before)
                self.assertEqual(optimization.used, ["jit_scanned"])

    def test_donated_state_is_written_in_place_and_read_before(self):
        batch = programs.values(8, 16, seed=3), programs.values(8, 4, seed=4)
        usual = jax.jit(programs.adam)
        state = programs.adam_state()
        for _ in range(5):
            state, loss = usual(state, batch)
        for fusion in ("none", "random:1"):
            donating = jax.jit(programs.adam, donate_argnums=0)
            path = self.fused(f"adam-{fusion}", donating, programs.adam_state(), batch, fusion=fusion)
            with self.subTest(fusion=fusion), sj.optimize(path) as optimization:
                ours = programs.adam_state()
                for _ in range(5):
                    ours, our_loss = donating(ours, batch)
                programs.assert_same(self, (ours, our_loss), (state, loss))
                self.assertEqual(optimization.used, ["jit_adam"])

    def test_two_functions_and_what_is_not_tuned_beside_them(self):
        f, g = jax.jit(programs.normalise), jax.jit(programs.energy)
        other = jax.jit(lambda x: jnp.sort(x, axis=0) + 1)
        first = self.fused("normalise", f, self.x, self.scale)
        second = self.fused("energy", g, self.x, self.scale)
        before = f(self.x, self.scale), g(self.x, self.scale), other(self.x)
        usual = text(other, self.x)
        with sj.optimize([first, second]) as optimization:
            programs.assert_same(self, (f(self.x, self.scale), g(self.x, self.scale), other(self.x)), before)
            self.assertEqual(text(other, self.x), usual)
        self.assertEqual(optimization.used, ["jit_normalise", "jit_energy"])

    def test_nested_contexts_add_up_and_unwind(self):
        f, g = jax.jit(programs.normalise), jax.jit(programs.energy)
        x = programs.values(32, 48)
        first, second = self.fused("outer", f, x, self.scale), self.fused("inner", g, x, self.scale)
        usual = text(f, x, self.scale), text(g, x, self.scale)
        with sj.optimize(first):
            self.assertNotEqual(text(f, x, self.scale), usual[0])
            self.assertEqual(text(g, x, self.scale), usual[1])
            with sj.optimize(second):
                self.assertNotEqual(text(f, x, self.scale), usual[0])
                self.assertNotEqual(text(g, x, self.scale), usual[1])
            self.assertEqual(text(jax.jit(programs.energy), x, self.scale), usual[1])
            self.assertNotEqual(text(f, x, self.scale), usual[0])
        self.assertEqual((text(f, x, self.scale), text(g, x, self.scale)), usual)

    def test_the_inner_of_two_answers_for_one_function_counts(self):
        f = jax.jit(programs.normalise)
        x = programs.values(16, 48)
        none, priority = (self.fused(f"both-{fusion}", f, x, self.scale, fusion=fusion) for fusion in ("none", "priority"))
        with sj.optimize(none):
            outer = text(f, x, self.scale)
            with sj.optimize(priority):
                inner = text(f, x, self.scale)
        self.assertIn("wrapped_tanh", outer)
        self.assertNotIn("wrapped_tanh", inner)

    def test_leaving_restores_the_compiler_also_after_an_exception(self):
        from jax._src import cache_key, compiler
        hooks = compiler.compile_or_get_cached, compiler.backend_compile_and_load, cache_key.custom_hook
        path = self.fused("normalise", programs.normalise, self.x, self.scale)
        with self.assertRaises(KeyError), sj.optimize(path):
            self.assertNotEqual(compiler.compile_or_get_cached, hooks[0])
            raise KeyError
        self.assertEqual((compiler.compile_or_get_cached, compiler.backend_compile_and_load, cache_key.custom_hook), hooks)

    def test_other_threads_are_left_alone(self):
        path = self.fused("normalise", programs.normalise, self.x, self.scale)
        usual, theirs = text(jax.jit(programs.normalise), self.x, self.scale), []
        with sj.optimize(path):
            thread = threading.Thread(target=lambda: theirs.append(text(jax.jit(programs.normalise), self.x, self.scale)))
            thread.start()
            thread.join()
            self.assertNotEqual(text(jax.jit(programs.normalise), self.x, self.scale), usual)
        self.assertEqual(theirs, [usual])

    def test_threads_may_compile_the_same_module_at_once(self):
        path = self.fused("normalise", programs.normalise, self.x, self.scale)
        before, results = programs.normalise(self.x, self.scale), []
        def work():
            with sj.optimize(path):
                results.append(jax.jit(lambda x, s: programs.normalise(x, s))(self.x, self.scale))
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(results), 4)
        for result in results:
            programs.assert_same(self, result, before)


class PersistentCache(Folders):
    PROGRAM = """
import sys, jax
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
import programs, smelt.jax as sj
x, scale = programs.values(64, 48), programs.values(48, seed=2)
f = jax.jit(programs.normalise)
def ours():
    return "wrapped_tanh" in f.lower(x, scale).compile().as_text()
before, outside = f(x, scale), ours()
with sj.optimize(sys.argv[2]) as optimization:
    programs.assert_same(None, f(x, scale), before)
    inside = ours()
print(outside, inside, ours(), optimization.used)
"""

    def test_executables_of_both_kinds_are_kept_apart(self):
        path = self.fused("normalise", programs.normalise, programs.values(64, 48), programs.values(48, seed=2))
        cache = self.root / "cache"
        sizes = []
        for _ in range(2):
            done = subprocess.run([sys.executable, "-c", self.PROGRAM, str(cache), str(path)], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}, check=False)
            self.assertEqual(done.stdout.strip(), "False True False ['jit_normalise']", done.stderr)
            sizes.append(sorted(p.name for p in cache.iterdir() if "normalise" in p.name and p.name.endswith("-cache")))
        self.assertEqual(len(sizes[0]), 2)
        self.assertEqual(sizes[0], sizes[1])  # the second process compiled neither again


if __name__ == "__main__":
    unittest.main()
