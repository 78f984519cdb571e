"""Cases that are made in a child, for libraries that end their process on some of them.

The child calls `serve(units, first)`: units are (name, cases) where `cases()` makes them, one after another. The parent goes through
`cases(argv)`: where the child ends, the next one begins behind the unit that ended it, which is told in a line.
"""
import os
import pickle
import subprocess
import sys


def serve(units, first):
    with os.fdopen(os.dup(1), "wb") as pipe:
        os.dup2(2, 1)  # libraries print
        for number, (name, make) in list(enumerate(units))[first:]:
            pickle.dump((number, name), pipe)
            pipe.flush()
            try:
                for case in make():
                    pickle.dump((None, case), pipe)
                    pipe.flush()
            except Exception as refusal:
                print(f"{name}: not made: " + " ".join(str(refusal).split())[:200], file=sys.stderr)
    return 0


def cases(argv, library):
    first = 0
    while True:
        child = subprocess.Popen([sys.executable, *argv, f"--serve={first}"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        name = None
        try:
            while True:
                number, value = pickle.load(child.stdout)
                if number is None:
                    yield value
                else:
                    first, name = number + 1, value
        except (EOFError, pickle.UnpicklingError):
            child.wait()
        finally:
            child.kill()
        if child.returncode == 0 or name is None:
            return
        print(f"{name}: {library} itself ends with status {child.returncode}", flush=True)
