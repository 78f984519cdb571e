"""Makes a wheel of the package for pip: what PEP 517 asks for, and nothing that would have to be fetched first.

Beside the sources the wheel holds `smelt/_checkout.py`, which says where the checkout is that it was installed from: the `smelt`
program and its library are built there.
"""
import base64
import hashlib
import pathlib
import tarfile
import tomllib
import zipfile

HERE = pathlib.Path(__file__).resolve().parent


def _project():
    return tomllib.loads((HERE / "pyproject.toml").read_text())["project"]


def _metadata(project):
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {project['version']}", f"Summary: {project['description']}",
             f"License: {project['license']['text']}", f"Requires-Python: {project['requires-python']}"]
    lines += [f"Classifier: {line}" for line in project["classifiers"]]
    for extra, packages in project["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {package}; extra == "{extra}"' for package in packages]
    lines += ["Description-Content-Type: text/markdown", "", (HERE / project["readme"]).read_text()]
    return "\n".join(lines)


def _checkout():
    root = HERE.parent
    return str(root) if (root / "CMakePresets.json").is_file() else ""


def _sources():
    for path in sorted((HERE / "smelt").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            yield str(path.relative_to(HERE)), path.read_bytes()


def _write_wheel(folder, files):
    project = _project()
    name = f"{project['name']}-{project['version']}"
    info = f"{name}.dist-info"
    files = list(files)
    files.append((f"{info}/METADATA", _metadata(project).encode()))
    files.append((f"{info}/WHEEL", b"Wheel-Version: 1.0\nGenerator: smelt\nRoot-Is-Purelib: true\nTag: py3-none-any\n"))
    record = []
    wheel = pathlib.Path(folder) / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files:
            archive.writestr(path, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record.append(f"{path},sha256={digest},{len(content)}")
        archive.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,", ""]))
    return wheel.name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _write_wheel(wheel_directory, [*_sources(), ("smelt/_checkout.py", f"PATH = {_checkout()!r}\n".encode())])


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write_wheel(wheel_directory, [("smelt.pth", f"{HERE}\n".encode())])


def build_sdist(sdist_directory, config_settings=None):
    project = _project()
    name = f"{project['name']}-{project['version']}"
    archive = pathlib.Path(sdist_directory) / f"{name}.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for path in ("pyproject.toml", "build_backend.py", project["readme"], *(path for path, _ in _sources())):
            tar.add(HERE / path, f"{name}/{path}")
    return archive.name
