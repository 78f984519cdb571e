"""The processor that a figure is from, as one phrase for tables: `AMD EPYC, family 25, model 17`."""
import pathlib
import platform


def processor():
    """Names of virtual machines say little (`AMD EPYC`): the family and model tell a Zen 4 from a Zen 5. Only the name where the system has no such numbers."""
    words = {}
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            key, _, value = line.partition(":")
            words.setdefault(key.strip(), value.strip())
    except OSError:
        pass
    name = words.get("model name") or platform.processor() or platform.machine()
    if "cpu family" in words and "model" in words:
        return f"{name}, family {words['cpu family']}, model {words['model']}"
    return name
