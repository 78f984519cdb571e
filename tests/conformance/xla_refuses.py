#!/usr/bin/env python3
"""What XLA's reader refuses, Smelt refuses; what it accepts, Smelt accepts.

The modules of attributes.hlo, and those of XLA's own tests where the corpora stand beside the checkout, are changed one attribute at a
time (mutants.py): words that nobody knows, values of another kind, numbers out of range, attributes twice, none, or elsewhere, and edits
without a plan. Each mutant is read by XLA's reader (jaxlib's) and by Smelt's. XLA's does not verify, so Smelt without its verifier must
accept what XLA accepts, and Smelt with it refuse what XLA refuses. An abort of XLA's is a refusal; an abort of Smelt's is a fault.

Each difference must match a line of xla_differences.tsv, which says why it is one.

  xla_refuses.py [--smelt PATH] [--library PATH] [--mutants N] [--seed S] [--own] [--list] [--differences]

Exit status 0: no difference without a reason; 1: there is one; 77: there is no jaxlib, nothing was checked.
"""
import argparse, collections, json, os, pathlib, pickle, random, re, resource, signal, subprocess, sys, tempfile

import mutants

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
LARGEST = 4000  # bytes of a module of the corpora
SECONDS = 20  # for one text
MEMORY = 6 << 30


def seeds(own=False):
    """(name, text) of each module that is changed; `own`: those of this folder alone."""
    for number, text in enumerate((HERE / "attributes.hlo").read_text().split("\n-----\n")):
        yield f"attributes.hlo {number + 1}", text
    for folder in () if own else ("parser_ok", "lit", "exec"):
        for path in sorted((ROOT / "../shared/corpora/xla" / folder).glob("*.hlo")):
            if path.stat().st_size <= LARGEST:
                yield f"{folder}/{path.name}", path.read_text()


def verdicts(read, texts):
    """For each text (accepted, message), read in a child process; where that ends, the text is refused and a new child goes on."""
    answers = []
    while len(answers) < len(texts):
        receiver, sender = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(receiver)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with os.fdopen(sender, "wb") as pipe:
                for text in texts[len(answers):]:
                    signal.alarm(SECONDS)
                    pickle.dump(read(text), pipe)
                    pipe.flush()
            os._exit(0)
        os.close(sender)
        with os.fdopen(receiver, "rb") as pipe:
            while True:
                try:
                    answers.append(pickle.load(pipe))
                except (EOFError, pickle.UnpicklingError):
                    break
        _, status = os.waitpid(child, 0)
        if len(answers) < len(texts):
            ended = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"status {os.WEXITSTATUS(status)}"
            answers.append((False, f"the process ends: {ended}"))
    return answers


def xla_reads(text):
    from jaxlib import _hlo
    try:
        _hlo.hlo_module_from_text(text)
        return True, ""
    except Exception as refusal:
        return False, str(refusal)


def smelt_reads(text):
    from smelt import hlo
    try:
        hlo.parse(text)
        return True, ""
    except hlo.SmeltError as refusal:
        return False, str(refusal)


def smelt_reads_unverified(program, text):
    with tempfile.NamedTemporaryFile("w", suffix=".hlo", errors="surrogateescape") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([program, "inspect", "--no-verify", file.name], capture_output=True, text=True, errors="replace", timeout=60)
    if done.returncode not in (0, 1):
        return False, f"the process ends: status {done.returncode}"
    return done.returncode == 0, done.stderr


def differences():
    """The rows of xla_differences.tsv."""
    known = {path.split(".")[-1] for _, text in seeds(own=True) for path, *_ in mutants.targets(text) if not re.search(r"(?:frontend_attributes|statistics)\.", path)}
    names = "|".join(re.escape(name) + '"' for name in sorted(known))
    rows = []
    for line in (HERE / "xla_differences.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            refuses, where, message, reason = line.split("\t")
            rows.append((refuses, re.compile(where), re.compile(message.replace("KNOWN", names)), reason))
    return rows


def one_line(message):
    return " ".join(message.split())[:300]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    parser.add_argument("--library", default=str(ROOT / "build/release/libsmelt.so"))
    parser.add_argument("--mutants", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--own", action="store_true", help="change the modules of attributes.hlo alone")
    parser.add_argument("--list", action="store_true", help="every difference without a reason, not the first twenty")
    parser.add_argument("--differences", action="store_true", help="an example of each difference that has a reason")
    options = parser.parse_args()
    try:
        import jaxlib._hlo  # noqa: F401
    except ImportError:
        print("jaxlib is not installed for this Python: nothing was checked (scripts/setup.sh --jax)")
        sys.exit(77)
    os.environ["SMELT_LIBRARY"] = options.library
    sys.path.insert(0, str(ROOT / "python"))
    import smelt.hlo  # noqa: F401

    rows = differences()
    named = list(seeds(options.own))
    good = [seed for seed, (accepted, _) in zip(named, verdicts(xla_reads, [text for _, text in named])) if accepted]
    unread = [name for name, _ in named if name.startswith("attributes.hlo") and name not in dict(good)]
    made = mutants.make(good, options.mutants, random.Random(options.seed))
    texts = [mutant.text for mutant in made]
    xla, ours = verdicts(xla_reads, texts), verdicts(smelt_reads, texts)

    counts, unexplained, used = collections.Counter(), [], collections.defaultdict(list)
    for mutant, (theirs, why), (mine, because) in zip(made, xla, ours):
        counts["refused by XLA" if not theirs else "accepted by XLA"] += 1
        if because.startswith("the process ends"):
            unexplained.append((mutant, "smelt ends", because))
            continue
        if theirs and not mine:
            mine, because = smelt_reads_unverified(options.smelt, mutant.text)
            counts['verified away'] += mine
        if theirs == mine:
            counts["the same"] += 1
            continue
        refuses, message = ("xla", why) if not theirs else ("smelt", because)
        row = next((row for row in rows if row[0] == refuses and row[1].search(mutant.where) and row[2].search(" ".join(message.split()))), None)
        if row is None:
            unexplained.append((mutant, f"{refuses} alone refuses", message))
        else:
            used[row].append((mutant, message))
    for mutant, what, message in unexplained[:None if options.list else 20]:
        print(f"{mutant.seed}: {mutant.where}: {mutant.kind}: {what}: {one_line(message)}\n    {mutant.shown()}", flush=True)
    if options.differences:
        for row, examples in used.items():
            mutant, message = examples[0]
            print(f"{row[0]} alone refuses, {len(examples)}: {row[3]}\n    {mutant.where}: {mutant.kind}: {one_line(message)}\n    {mutant.shown()}")
    print(f"{len(made)} mutants of {len(good)} modules, seed {options.seed}: XLA refuses {counts['refused by XLA']} and accepts {counts['accepted by XLA']}; "
          f"the same answer {counts['the same']}, with a reason in the table {sum(map(len, used.values()))} ({len(used)} of its {len(rows)} lines), "
          f"without {len(unexplained)}; {counts['verified away']} that XLA's reader accepts break a rule of Smelt's verifier")
    for name in unread:
        print(f"{name}: XLA refuses it as it stands")
    sys.exit(1 if unexplained or unread else 0)


if __name__ == "__main__":
    main()
