"""Whatever is wrong with a folder: XLA compiles as usual, and one warning says why."""
import json
import os
import pathlib
import shutil
import tempfile
import unittest
import warnings

import jax
import programs
import smelt.jax as sj
from smelt.jax import door, folder, optimizing


class Fallback(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.x, cls.scale = programs.values(24, 48), programs.values(48, seed=2)
        cls.good = pathlib.Path(cls.scratch.name) / "good.smelt"
        sj.fuse(programs.normalise, cls.x, cls.scale, out=cls.good, fusion="none")
        cls.result = jax.jit(programs.normalise)(cls.x, cls.scale)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def copy(self):
        path = pathlib.Path(tempfile.mkdtemp(dir=self.scratch.name)) / "copy.smelt"
        shutil.copytree(self.good, path)
        return path

    def edit(self, path, **fields):
        manifest = json.loads((path / folder.MANIFEST).read_text())
        (path / folder.MANIFEST).write_text(json.dumps({**manifest, **fields}))

    def assert_falls_back(self, path, why, f=programs.normalise, arguments=None):
        """Twice the usual result, and one warning."""
        arguments = arguments or (self.x, self.scale)
        expected = jax.jit(f)(*arguments)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(2):
                with sj.optimize(path):
                    programs.assert_same(self, jax.jit(f)(*arguments), expected, 0)
                    jax.clear_caches()
        said = [str(warning.message) for warning in caught if issubclass(warning.category, sj.SmeltWarning)]
        self.assertEqual(len(said), 1, said)
        self.assertIn(why, said[0])
        self.assertIn(str(path), said[0])

    def test_no_folder(self):
        self.assert_falls_back(pathlib.Path(self.scratch.name) / "nowhere", "no such folder")

    def test_a_file_for_a_folder(self):
        self.assert_falls_back(self.good / "fused.pb", "it is a file")

    def test_a_folder_of_something_else(self):
        self.assert_falls_back(pathlib.Path(tempfile.mkdtemp(dir=self.scratch.name)), "has no smelt.json")

    def test_a_search_that_is_not_finished(self):
        path = self.copy()
        (path / folder.MANIFEST).unlink()
        self.assert_falls_back(path, "has no smelt.json")

    def test_a_torn_manifest(self):
        path = self.copy()
        text = (path / folder.MANIFEST).read_text()
        (path / folder.MANIFEST).write_text(text[:len(text) // 2])
        self.assert_falls_back(path, "damaged")

    def test_a_manifest_that_is_no_text(self):
        path = self.copy()
        (path / folder.MANIFEST).write_bytes(b"\xff\xfe\x00")
        self.assert_falls_back(path, "cannot be read")

    def test_a_manifest_of_wrong_types(self):
        for number, fields in enumerate(({"name": 3}, {"files": []}, {"captured": None})):
            with self.subTest(fields):
                path = self.copy()
                self.edit(path, **fields)
                self.assert_falls_back(path, "tune again" if "files" in fields else "damaged")

    def test_a_later_format(self):
        path = self.copy()
        self.edit(path, format=99)
        self.assert_falls_back(path, "format 99")

    def test_another_jaxlib_of_the_folder(self):
        path = self.copy()
        self.edit(path, jaxlib="0.9.1")
        self.assert_falls_back(path, "0.9.1")

    def test_another_jaxlib_of_the_process(self):
        path, version = self.copy(), door.SUPPORTED
        door.SUPPORTED = "0.11.0"
        try:
            self.assert_falls_back(path, "is made for 0.11.0")
        finally:
            door.SUPPORTED = version

    def test_another_number_of_threads(self):
        path = self.copy()
        self.edit(path, threads=folder.threads() + 7)
        self.assert_falls_back(path, f"tuned for {folder.threads() + 7} threads")

    def test_an_answer_that_is_unknown(self):
        path = self.copy()
        self.edit(path, answer="magic")
        self.assert_falls_back(path, "`magic`")

    def test_a_module_that_was_exchanged(self):
        path = self.copy()
        (path / "fused.pb").write_bytes((path / "captured.pb").read_bytes())
        self.assert_falls_back(path, "not the file that was tuned")

    def test_a_module_that_is_missing(self):
        path = self.copy()
        (path / "fused.pb").unlink()
        self.assert_falls_back(path, "cannot be read")

    def exchange(self, content):
        import hashlib
        path = self.copy()
        (path / "fused.pb").write_bytes(content)
        manifest = json.loads((path / folder.MANIFEST).read_text())
        self.edit(path, files={**manifest["files"], "fused.pb": hashlib.sha256(content).hexdigest()})
        return path

    def test_a_module_of_another_shape_in_the_hook(self):
        other = pathlib.Path(tempfile.mkdtemp(dir=self.scratch.name))
        sj.fuse(programs.normalise, programs.values(8, 4), programs.values(4), out=other, fusion="none")
        self.assert_falls_back(self.exchange((other / "fused.pb").read_bytes()), "XLA does not take the tuned")

    def test_bytes_that_are_no_module_in_the_hook(self):
        self.assert_falls_back(self.exchange(b"\x0a\x05hello\xff\xff\xff"), "XLA does not take the tuned")

    def test_passes_that_make_another_module(self):
        path = self.copy()
        self.edit(path, captured="0" * 64)
        self.assert_falls_back(path, "another module of jit_normalise here")

    def test_another_shape(self):
        self.assert_falls_back(self.copy(), "is used for", arguments=(programs.values(25, 48), self.scale))

    def test_another_function_of_that_name(self):
        def normalise(x, scale):
            return programs.normalise(x, scale) + 1
        self.assert_falls_back(self.copy(), "computes something else", f=normalise)

    def test_a_hook_that_meets_an_error_says_nothing_to_xla(self):
        path, fingerprint = self.good, door.fingerprint
        def broken(module):
            raise MemoryError
        with sj.optimize(path):  # the hook itself, as XLA calls it
            replacement = optimizing._Replacement(folder.load(path, None))
            shown = door.with_module_name((path / "captured.pb").read_bytes(), replacement.name)
            with door.transformation(replacement.listen):
                door.fingerprint = broken
                try:
                    self.assertIsNone(door._dispatch(shown))
                finally:
                    door.fingerprint = fingerprint
                self.assertIsNone(door._dispatch((path / "captured.pb").read_bytes()))  # another compilation of this module
                self.assertEqual(door._dispatch(shown), (path / "fused.pb").read_bytes())
            self.assertIsNone(door._dispatch(shown))

    def test_wrong_use_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "mode='faster'"):
            sj.optimize(self.good, mode="faster")
        with self.assertRaisesRegex(ValueError, "needs a folder"):
            sj.optimize()

    def test_a_folder_of_another_function_is_not_overwritten(self):
        path = self.copy()
        with self.assertRaisesRegex(ValueError, "another function or of other shapes"):
            sj.fuse(programs.energy, self.x, self.scale, out=path)
        with sj.optimize(path) as optimization:
            jax.jit(programs.normalise)(self.x, self.scale)
        self.assertEqual(optimization.used, ["jit_normalise"])

    def test_a_program_that_is_not_there_is_named(self):
        import smelt
        before = os.environ.get("SMELT")
        os.environ["SMELT"] = str(self.good / "smelt")
        try:
            with self.assertRaisesRegex(smelt.ProgramError, "SMELT=.*no program is there"):
                smelt.find_program()
        finally:
            if before is None:
                del os.environ["SMELT"]
            else:
                os.environ["SMELT"] = before


if __name__ == "__main__":
    unittest.main()
