"""`mode="kernels"`: kernels of ours, called from XLA's programs."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import programs
import smelt.jax as sj
from fusions_test import HERE, Folders, text
from smelt.jax import folder, kernels


def layer(x, w, b):
    return jax.nn.relu(x @ w + b)


class Kernels(Folders):
    def setUp(self):
        self.silent()
        self.x, self.w, self.b = programs.values(64, 96), programs.values(96, 80, seed=2), programs.values(80, seed=3)

    def kernels(self, name, f, *arguments, **options):
        return self.fused(name, f, *arguments, fusion=options.pop("fusion", "priority"), target="cpu", **options)

    def same_with_kernels(self, name, f, *arguments, fusion="priority", donated=(), calls=1):
        """Compares under a new context; `f` is jitted."""
        def run():
            given = [jax.tree.map(jnp.copy, argument) if number in donated else argument for number, argument in enumerate(arguments)]
            return f(*given)
        before = run()
        path = self.kernels(name, f, *arguments, fusion=fusion)
        self.assertGreaterEqual(json.loads((path / folder.MANIFEST).read_text())["kernels"]["calls"], calls)
        with sj.optimize(path) as optimization:
            programs.assert_same(self, run(), before, 1e-4)
            programs.assert_same(self, run(), before, 1e-4)
        self.assertEqual(len(optimization.used), 1)
        programs.assert_same(self, run(), before, 0)

    def test_jit(self):
        f = jax.jit(layer)
        path = self.kernels("layer", f, self.x, self.w, self.b)
        before = f(self.x, self.w, self.b)
        with sj.optimize(path):
            programs.assert_same(self, f(self.x, self.w, self.b), before)
            self.assertIn('custom_call_target="smelt_kernel"', text(f, self.x, self.w, self.b))
        self.assertNotIn("smelt_kernel", text(f, self.x, self.w, self.b))

    def test_gradients(self):
        def loss(w, x, b):
            return (layer(x, w, b) ** 2).mean()
        self.same_with_kernels("gradient", jax.jit(jax.value_and_grad(loss)), self.w, self.x, self.b)

    def test_vmap(self):
        self.same_with_kernels("vmap", jax.jit(jax.vmap(layer, in_axes=(0, None, None))), programs.values(3, 64, 96), self.w, self.b)

    def test_scan(self):
        def recurrent(state, xs, w):
            def cell(h, x):
                h = jnp.tanh(h @ w + x)
                return h, h.sum(axis=1)
            return jax.lax.scan(cell, state, xs)
        self.same_with_kernels("scan", jax.jit(recurrent), programs.values(32, 64), programs.values(5, 32, 64, seed=4),
                               programs.values(64, 64, seed=5) * 0.2)

    def test_a_large_loop_state_is_not_written_over_while_it_is_read(self):
        def diffuse(state):
            def body(_, s):
                return 0.5 * s + 0.25 * (jnp.roll(s, 1, 0) + jnp.roll(s, 1, 1))
            return jax.lax.fori_loop(0, 6, body, state)
        for fusion in ("none", "priority", "random:5"):
            with self.subTest(fusion=fusion):
                self.same_with_kernels(f"diffuse-{fusion}", jax.jit(diffuse), programs.values(128, 128), fusion=fusion, calls=0)

    def test_donated_state(self):
        batch = programs.values(64, 16, seed=3), programs.values(64, 4, seed=4)
        for fusion in ("none", "priority"):
            with self.subTest(fusion=fusion):
                self.same_with_kernels(f"adam-{fusion}", jax.jit(programs.adam, donate_argnums=0), programs.adam_state(), batch,
                                       donated=(0,), fusion=fusion)

    def test_donated_parameters_that_are_large_enough_for_calls(self):
        def descend(p, g):
            q = p - 0.1 * (g @ p)
            return q, jnp.tanh(p).sum(axis=0)
        self.same_with_kernels("descend", jax.jit(descend, donate_argnums=0), programs.values(128, 128), programs.values(128, 128, seed=7),
                               donated=(0,))

    def test_types_beside_f32(self):
        def mixed(x, w, n):
            y = (x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16)).astype(jnp.float32)
            return jnp.where(n[:, None] > 3, y, -y), (n * n).sum(), x > 0
        f = jax.jit(mixed)
        n = jnp.arange(64, dtype=jnp.int32) % 7
        before = f(self.x, self.w, n)
        with sj.optimize(self.kernels("mixed", f, self.x, self.w, n)):
            programs.assert_same(self, [a.astype(jnp.float32) for a in f(self.x, self.w, n)],
                                 [a.astype(jnp.float32) for a in before], 4e-2)

    def test_complex_numbers(self):
        def filtered(x, y):
            a, b = jnp.fft.fft2(x), jnp.fft.fft2(y)
            product = a * jnp.conj(b) * 0.5 + (1 - 2j) * a
            return jnp.fft.ifft2(product).real, jnp.abs(product), product / (2 + 1j)
        f = jax.jit(filtered)
        x, y = programs.values(4, 64, 64), programs.values(4, 64, 64, seed=2)
        before = f(x, y)
        path = self.kernels("complex", f, x, y)
        self.assertGreater(json.loads((path / folder.MANIFEST).read_text())["kernels"]["calls"], 0)
        with sj.optimize(path):
            for ours, theirs in zip(f(x, y), before, strict=True):
                np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=1e-4, atol=1e-4 * float(np.abs(theirs).max()))

    def test_two_functions_a_changed_shape_and_nesting(self):
        def other(x, w):
            return jnp.exp(-(x @ w))
        f, g = jax.jit(layer), jax.jit(other)
        first, second = self.kernels("layer", f, self.x, self.w, self.b), self.kernels("other", g, self.x, self.w)
        before = f(self.x, self.w, self.b), g(self.x, self.w), f(self.x[:5], self.w, self.b)
        with sj.optimize(first) as outer, sj.optimize(second, mode="kernels") as inner:
            programs.assert_same(self, (f(self.x, self.w, self.b), g(self.x, self.w)), before[:2])
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                programs.assert_same(self, f(self.x[:5], self.w, self.b), before[2], 0)
        self.assertEqual(len(caught), 1)
        self.assertEqual((outer.used, inner.used), (["jit_layer"], ["jit_other"]))

    def test_many_threads_call_the_same_kernels(self):
        f = jax.jit(layer)
        path, before, failures = self.kernels("layer", f, self.x, self.w, self.b), f(self.x, self.w, self.b), []
        def work():
            try:
                with sj.optimize(path):
                    for _ in range(50):
                        programs.assert_same(self, f(self.x, self.w, self.b), before)
            except BaseException as error:
                failures.append(error)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_results_that_differ_are_found(self):
        a = np.array([1.0, 2.0, np.nan, np.inf], np.float32)
        self.assertIsNone(kernels.difference([a], [a * np.float32(1 + 1e-6)]))
        self.assertIn("result 1 at [1]", kernels.difference([a, a], [a, np.array([1, 2.1, np.nan, np.inf], np.float32)]))
        self.assertIn("result 0 at [2]", kernels.difference([a], [np.array([1, 2, 3, np.inf], np.float32)]))
        self.assertIn("whole numbers", kernels.difference([np.arange(3)], [np.arange(3) + 1]))

    def test_the_persistent_cache_keeps_calls_apart_and_finds_them_again(self):
        program = """
import sys, jax
jax.config.update("jax_compilation_cache_dir", sys.argv[1])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
import programs, kernels_test, smelt.jax as sj
x, w, b = programs.values(64, 96), programs.values(96, 80, seed=2), programs.values(80, seed=3)
f = jax.jit(kernels_test.layer)
def ours():
    return "smelt_kernel" in f.lower(x, w, b).compile().as_text()
before, outside = f(x, w, b), ours()
with sj.optimize(sys.argv[2]):
    programs.assert_same(None, f(x, w, b), before)
    inside = ours()
print(outside, inside, ours())
"""
        path = self.kernels("layer", layer, self.x, self.w, self.b)
        names = []
        for _ in range(2):
            done = subprocess.run([sys.executable, "-c", program, str(self.root / "cache"), str(path)], capture_output=True, text=True,
                                  env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])},
                                  check=False)
            self.assertEqual(done.stdout.strip(), "False True False", done.stderr)
            names.append(sorted(p.name for p in (self.root / "cache").iterdir() if "layer" in p.name and p.name.endswith("-cache")))
        self.assertEqual(len(names[0]), 2)
        self.assertEqual(names[0], names[1])


class Unusable(Folders):
    def assert_falls_back(self, path, why, mode=None):
        x, w, b = programs.values(64, 96), programs.values(96, 80, seed=2), programs.values(80, seed=3)
        expected = jax.jit(layer)(x, w, b)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                with sj.optimize(path, mode=mode):
                    programs.assert_same(self, jax.jit(layer)(x, w, b), expected, 0)
        said = [str(warning.message) for warning in caught if issubclass(warning.category, sj.SmeltWarning)]
        self.assertEqual(len(said), 1, said)
        self.assertIn(why, said[0])

    def made(self, name, target="cpu"):
        return self.fused(name, layer, programs.values(64, 96), programs.values(96, 80, seed=2), programs.values(80, seed=3),
                          fusion="priority", target=target)

    def copy(self, name):
        """Whose library this process has not loaded: nobody writes into one that is."""
        path = self.root / f"{name}.smelt"
        shutil.copytree(self.made("native"), path)
        return path

    def edit(self, path, change):
        manifest = json.loads((path / folder.MANIFEST).read_text())
        change(manifest)
        (path / folder.MANIFEST).write_text(json.dumps(manifest))
        return manifest

    def test_folders_of_the_other_mode(self):
        self.assert_falls_back(self.made("of-fusions", target="xla"), "has no kernels", mode="kernels")
        self.assert_falls_back(self.made("of-kernels"), "tuned for kernels", mode="fusions")

    def test_another_processor(self):
        path = self.made("processor")
        self.edit(path, lambda manifest: manifest["kernels"].update(processor="of last year"))
        self.assert_falls_back(path, "another processor")

    def test_a_manifest_whose_kernels_are_damaged(self):
        path = self.made("damaged")
        self.edit(path, lambda manifest: manifest.update(kernels={}))
        self.assert_falls_back(path, "is damaged: `kernels` names no processor")

    def test_a_library_that_was_changed(self):
        path = self.copy("changed")
        library = path / json.loads((path / folder.MANIFEST).read_text())["kernels"]["library"]
        library.write_bytes(library.read_bytes()[:-8])
        self.assert_falls_back(path, "not the file that was tuned")

    def test_a_library_of_something_else(self):
        path = self.copy("foreign")
        name = json.loads((path / folder.MANIFEST).read_text())["kernels"]["library"]
        source = path / "empty.c"
        source.write_text("int nothing;\n")
        (path / name).unlink()
        subprocess.run(["cc", "-shared", "-fPIC", source, "-o", path / name], check=True)
        self.edit(path, lambda manifest: manifest["files"].update({name: hashlib.sha256((path / name).read_bytes()).hexdigest()}))
        self.assert_falls_back(path, "no library of kernels")


if __name__ == "__main__":
    import unittest
    unittest.main()
