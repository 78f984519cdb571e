"""`smelt.hlo` and `smelt.models`, over the C library, in a process that has XLA loaded as well."""
import json
import pathlib
import subprocess
import threading
import unittest

import jax
import jax.numpy as jnp
import programs
import smelt
import smelt.hlo
import smelt.models
from jaxlib import _hlo

MODEL = """HloModule chain
ENTRY main {
  x = f32[64,128]{1,0} parameter(0)
  e = f32[64,128]{1,0} exponential(x)
  n = f32[64,128]{1,0} negate(e)
  w = f32[128,32]{1,0} parameter(1)
  ROOT d = f32[64,32]{1,0} dot(n, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
"""


class Hlo(unittest.TestCase):
    def test_text_and_proto_are_the_same_module(self):
        module = smelt.hlo.parse(MODEL)
        again = smelt.hlo.from_proto(module.to_proto())
        self.assertEqual(module.inspect()["fingerprint"], again.inspect()["fingerprint"])
        self.assertEqual(module.inspect()["fingerprint"], smelt.hlo.parse(str(module)).inspect()["fingerprint"])

    def test_a_program_of_jax_comes_in_and_xla_reads_it_again(self):
        lowered = jax.jit(programs.normalise).lower(programs.values(8, 4), programs.values(4))
        module = smelt.hlo.from_proto(lowered.compiler_ir("hlo").as_serialized_hlo_module_proto())
        facts = module.inspect()
        self.assertEqual(facts["name"], "jit_normalise")
        self.assertEqual(facts["opcodes"]["tanh"], 1)
        fused = module.fuse("priority")
        self.assertLess(len(fused.inspect()["kernels"]), len(facts["kernels"]))
        self.assertIn("fusion(", _hlo.HloModule.from_serialized_hlo_module_proto(fused.to_proto()).to_string())

    def test_the_program_and_the_library_agree(self):
        path = pathlib.Path(smelt.program.checkout() or ".") / "models" / "dqn.hlo"
        if not path.is_file():
            self.skipTest("installed without the checkout's example programs")
        said = json.loads(subprocess.run([smelt.find_program(), "inspect", path, "--fusion=priority", "--json"], capture_output=True,
                                         check=True).stdout)
        module = smelt.hlo.load(path)
        self.assertEqual(module.inspect()["fingerprint"], said["fingerprint"])
        self.assertEqual(sum(kernel["count"] for kernel in module.fuse("priority").inspect()["kernels"]), said["kernels"])

    def test_errors_name_the_place(self):
        with self.assertRaisesRegex(smelt.hlo.SmeltError, r"bad:1:.*"):
            smelt.hlo.parse("HloModul", name="bad")
        with self.assertRaisesRegex(smelt.hlo.SmeltError, "torn.pb"):
            smelt.hlo.from_proto(b"\xff\xff", name="torn.pb")
        with self.assertRaisesRegex(smelt.hlo.SmeltError, "nonsense"):
            smelt.hlo.parse(MODEL).fuse("nonsense")
        with self.assertRaises(FileNotFoundError):
            smelt.hlo.load("no/such/file.hlo")

    def test_text_with_nul_is_an_error_and_not_the_text_before_it(self):
        with self.assertRaises(smelt.hlo.SmeltError):
            smelt.hlo.parse(MODEL + "\0garbage }")


class Models(unittest.TestCase):
    def test_the_analytical_model_predicts_and_ranks(self):
        model = smelt.models.load("analytical")
        self.assertIn("analytical", str(model))
        module = smelt.hlo.parse(MODEL).fuse("none")
        prediction = model.predict(module)
        self.assertAlmostEqual(prediction.seconds, sum(k.seconds * k.count for k in prediction.kernels))
        self.assertGreater(prediction.seconds, 0)
        (ranked,) = model.rank(module, kernel="d", top=3)
        self.assertEqual(len(ranked.tiles), 3)
        self.assertEqual([t.score for t in ranked.tiles], sorted(t.score for t in ranked.tiles))

    def test_the_shipped_model_predicts_and_ranks(self):
        module = smelt.hlo.parse(MODEL).fuse("priority")
        model = smelt.models.load()
        self.assertGreater(model.predict(module).seconds, 0)
        self.assertTrue(any(kernel.tiles for kernel in model.rank(module)))

    def test_errors_name_what_is_missing(self):
        with self.assertRaisesRegex(smelt.models.SmeltError, "no/such.smeltmodel"):
            smelt.models.load("no/such.smeltmodel")
        with self.assertRaisesRegex(smelt.models.SmeltError, "target"):
            smelt.models.load("analytical", target="toaster")
        with self.assertRaisesRegex(smelt.models.SmeltError, "no kernel `absent`"):
            smelt.models.load("analytical").rank(smelt.hlo.parse(MODEL), kernel="absent")

    def test_many_threads_ask_one_model(self):
        model, module, answers = smelt.models.load("analytical"), smelt.hlo.parse(MODEL).fuse("priority"), []
        threads = [threading.Thread(target=lambda: answers.append(model.predict(module).seconds)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(set(answers)), 1)
        self.assertEqual(len(answers), 8)

    def test_xla_compiles_beside_it(self):
        self.assertEqual(float(jax.jit(lambda x: jnp.exp(x) * 0 + 2)(jnp.float32(1))), 2.0)


if __name__ == "__main__":
    unittest.main()
