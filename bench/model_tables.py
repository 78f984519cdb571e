#!/usr/bin/env python3
"""Tables 2 and 3 of "A Learned Performance Model for TPUs" (MLSys 2021) on a corpus of one's own, with the spread over seeds.

  bench/model_tables.py fusion-corpus,tile-corpus                      # all of these models, 3 seeds: hours
  bench/model_tables.py corpus --models=graphsage --seeds=1 --epochs=8 --work=quick
  bench/model_tables.py corpus --split=least-similar                   # other programs held out than a tenth of the families

model           what it is
graphsage       the shipped architecture: node features, two GraphSAGE layers, sums, means and maxima over nodes
no-graph        the same without graph layers, perceptrons alone: what the edges of a kernel are worth
lstm            an LSTM over the nodes in order
half, quarter, eighth   GraphSAGE from that share of the programs: the learning curve

All seeds are judged on the same programs, which none of them learned from, beside two that are fitted to the first model's training set: gradient
boosted trees on the kernel's columns and pooled columns of its nodes, and the analytical model with a factor for each kind of kernel. A model is trained once: those that the work folder holds are taken from it, and an interrupted training goes on from its
checkpoint. Prints a Markdown table of medians over programs, each the mean over seeds with their range, then the whole table of the
first seed's models as `smelt eval` prints it; writes both to tables.md in the work folder, and the errors by program to errors.json.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHIPPED = ["--model=graphsage", "--layers=2"]
MODELS = {"graphsage": SHIPPED, "no-graph": ["--model=graphsage", "--layers=0"], "lstm": ["--model=lstm"],
          "half": [*SHIPPED, "--learn=0.5"], "quarter": [*SHIPPED, "--learn=0.25"], "eighth": [*SHIPPED, "--learn=0.125"]}
COLUMNS = [("MAPE of 5 us and more, %", "large", "mape"), ("tau", "large", "tau"), ("MAPE below 5 us, %", "small", "mape"), ("tau", "small", "tau"),
           ("tile APE, %", "tiles", "ape"), ("tau", "tiles", "tau"), ("slowdown of the first tile, %", "tiles", "slowdown1")]


def run(command):
    print(" ".join(map(str, command)), file=sys.stderr, flush=True)
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"model_tables.py: {command[1]} ended with status {done.returncode}")
    return done.stdout


def median(contender, task, figure):
    """Over programs, errors in percent; None where the corpus has nothing of the task, or the model no network for it."""
    values = [errors[figure] for errors in contender[task].values() if errors[figure] is not None]
    return (1 if figure == "tau" else 100) * statistics.median(values) if values else None


def cell(values):
    values = [value for value in values if value is not None]
    if not values:
        return "-"
    spread = f" ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{spread}"


def table(by_model):
    lines = ["| model | " + " | ".join(name for name, _, _ in COLUMNS) + " |", "|---|" + "---|" * len(COLUMNS)]
    for name, contenders in by_model.items():
        lines.append(f"| {name} | " + " | ".join(cell([median(c, task, figure) for c in contenders]) for _, task, figure in COLUMNS) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", help="corpus folder, or several separated by commas")
    parser.add_argument("--models", default=",".join(MODELS), help="default: %(default)s")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=24)
    parser.add_argument("--threads", type=int, default=0, help="of LibTorch; 0: its choice")
    parser.add_argument("--split", default="families", help="what is held out, as of `smelt train` (default: %(default)s)")
    parser.add_argument("--test-programs", help="file with the programs to hold out, one a line, instead")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("model-tables"))
    parser.add_argument("--smelt", default=str(ROOT / "build/release/smelt"))
    arguments = parser.parse_args()
    names = arguments.models.split(",")
    for name in names:
        if name not in MODELS:
            parser.error(f"there is no model {name}: {', '.join(MODELS)}")
    missing = [folder for folder in arguments.corpus.split(",") if not pathlib.Path(folder).is_dir()]
    if missing:
        parser.error(f"there is no corpus {missing[0]}")
    arguments.work.mkdir(parents=True, exist_ok=True)
    held_out = [f"--test-programs={arguments.test_programs}"] if arguments.test_programs else []
    files = {}
    for seed in range(1, arguments.seeds + 1):
        for name in names:
            files[name, seed] = file = arguments.work / f"{name}-{seed}.smeltmodel"
            checkpoints = [file.with_name(f"{file.name}.{task}.checkpoint") for task in ("fusion", "tile")]
            if not file.exists() or any(path.exists() for path in checkpoints):
                run([arguments.smelt, "train", arguments.corpus, "-o", file, f"--epochs={arguments.epochs}", f"--patience={arguments.epochs}",
                     "--learning-rate=0.002", f"--threads={arguments.threads}", f"--seed={seed}", f"--split={arguments.split}", *held_out, *MODELS[name]])
    first, *others = files.values()
    evaluate = [arguments.smelt, "eval", first, arguments.corpus, "--boosted", *held_out]
    errors = json.loads(run([*evaluate, *([f"--baseline={','.join(map(str, others))}"] if others else []), "--json"]))
    (arguments.work / "errors.json").write_text(json.dumps(errors, indent=1))
    networks, fitted = errors["contenders"][:len(files)], errors["contenders"][len(files):]
    by_model = {name: [network for network, (of, _) in zip(networks, files) if of == name] for name in names}
    by_model |= {contender["name"]: [contender] for contender in fitted}
    whole = run([*evaluate, *([f"--baseline={','.join(str(files[name, 1]) for name in names[1:])}"] if names[1:] else [])])
    text = f"{table(by_model)}\n```\n{whole}```\n"
    (arguments.work / "tables.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
