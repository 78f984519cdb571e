"""`smelt.jax.build`: a function with its weights as a folder, run through libsmelt_run, beside JAX."""
import pathlib
import tempfile
import unittest

import jax
import jax.numpy as jnp
import numpy as np
import programs
import smelt
import smelt.jax as sj


def network(params, images, temperature):
    """A convolution with an inference's batch normalisation, and a dense layer; one weight is not used."""
    x = jax.lax.conv_general_dilated(images, params["conv"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    norm = params["norm"]
    x = (x - norm["mean"]) * jax.lax.rsqrt(norm["variance"] + 1e-3) * norm["scale"] + norm["offset"]
    x = jax.nn.relu(x).mean(axis=(1, 2))
    return jax.nn.softmax((x @ params["dense"].T) / temperature), x


class Build(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.scratch.name)
        cls.params = {"conv": programs.values(3, 3, 8, 16), "dense": programs.values(10, 16, seed=1), "unused": programs.values(3),
                      "norm": {"mean": programs.values(16, seed=2), "variance": programs.values(16, seed=3) ** 2, "scale": programs.values(16, seed=4),
                               "offset": programs.values(16, seed=5)}}
        cls.images, cls.temperature = programs.values(2, 8, 8, 8, seed=6), np.float32(0.7)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def expect(self, got):
        for mine, theirs in zip(got, network(self.params, self.images, self.temperature), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=2e-4, atol=2e-5)

    def test_weights_are_part_of_the_module(self):
        built = sj.build(network, self.params, self.images, self.temperature, weights=0, out=self.root / "m")
        self.assertEqual(len(built.inputs), 2)
        self.expect(built(self.images, self.temperature))
        self.expect(built(self.images, self.temperature))
        self.expect(sj.Deployed(self.root / "m", threads=1)(self.images, self.temperature))

    def test_without_weights_everything_is_an_argument(self):
        built = sj.build(network, self.params, self.images, self.temperature, out=self.root / "all")
        self.expect(built(self.params, self.images, self.temperature))

    def test_shapes_are_enough_for_what_is_no_weight(self):
        built = sj.build(network, self.params, jax.ShapeDtypeStruct(self.images.shape, jnp.float32), jax.ShapeDtypeStruct((), jnp.float32),
                         weights=[0], out=self.root / "shapes")
        self.expect(built(self.images, self.temperature))

    def test_a_search_comes_before(self):
        built = sj.build(network, self.params, self.images, self.temperature, weights=0, budget=4, out=self.root / "searched")
        self.expect(built(self.images, self.temperature))

    def test_wrong_use_is_named(self):
        with self.assertRaisesRegex(ValueError, "weights=3: there are 3 positional arguments"):
            sj.build(network, self.params, self.images, self.temperature, weights=3, out=self.root / "never")
        with self.assertRaisesRegex(ValueError, "keep_unused=True"):
            sj.build(jax.jit(network), self.params, self.images, self.temperature, weights=0, out=self.root / "never")
        with self.assertRaisesRegex(smelt.ProgramError, "is no deployable module"):
            sj.Deployed(self.root / "never")
        built = sj.build(jnp.tanh, self.images, out=self.root / "tanh")
        with self.assertRaisesRegex(TypeError, "takes 1 arrays, 2 were given"):
            built(self.images, self.images)
        with self.assertRaisesRegex(TypeError, r"argument 0 .* is float64\[2\], expected float32\[2, 8, 8, 8\]"):
            built(np.zeros(2))


if __name__ == "__main__":
    unittest.main()
