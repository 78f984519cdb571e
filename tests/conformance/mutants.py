"""Changed modules: each known attribute with a wrong word, a wrong kind, a number out of range, twice, missing, elsewhere; and edits without
a plan.

What is changed is found in the text by its form, so that an attribute that is new in attributes.hlo needs no line here: `name=value`
wherever it stands (instruction, header, inside another attribute), and besides shapes, layouts and literals.
"""
import collections
import dataclasses
import re

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|\'[^\'\n]*\'|-?\d+\.\d+(?:e[+-]?\d+)?|-?\d+(?:e[+-]?\d+)?(?![\w.-])|%?[A-Za-z_][\w.-]*|->|<=|\s+|.', re.S)
ATTRIBUTE = re.compile(r"(?<![\w.\-%])([A-Za-z_][\w-]*)=(?=[^=])")
LAYOUT = re.compile(r"(?<=\])\{[\d:][^{}]*\}")
DIMENSIONS = re.compile(r"(?<=[a-z0-9])\[[^\[\]']*\](?!<=)")
CONSTANT = re.compile(r"(?<=constant)\((?:[^()\n]|\((?:[^()\n]|\([^()\n]*\))*\))*\)")
INSTRUCTION = re.compile(r"^\s*(?:ROOT )?%?[\w.\-]+ = .*?([a-z][a-z0-9\-]*)\(", re.M)

# These stand in place of a whole value.
VALUES = ["", "7", "-1", "1.5", "bogus", '"bogus"', "{}", "{0}", "{bogus}", "{{0}}", "true", "1", "()", "[0]", "99999999999999999999", "f32[2]", "%p", "{-1}",
          "{1000}", '{"bogus"}', "{0,0}", "{0,}", "none"]
NUMBERS = ["-1", "7", "1000", "2147483648", "9223372036854775808", "1.5", "bogus", '"0"', ""]
WORDS = ["bogus", "7", '"bogus"', ""]


@dataclasses.dataclass
class Mutant:
    seed: str   # name of the module
    where: str  # what was changed: path of names, such as `compare.direction` or `header.replica_count`
    kind: str
    original: str
    first: int  # what stands from here
    last: int   # to here
    new: str    # became this
    line: int

    @property
    def text(self):
        return self.original[:self.first] + self.new + self.original[self.last:]

    def shown(self):
        lines = self.text.splitlines()
        return " | ".join(line.strip() for line in lines[max(0, self.line):self.line + 1])[:400]


def value_end(text, at):
    """Behind the value that begins here: brackets and strings are whole; what follows a bracket directly belongs to it."""
    depth = 0
    for token in TOKEN.finditer(text, at):
        piece = token.group()
        if piece in ("(", "[", "{"):
            depth += 1
        elif piece in (")", "]", "}"):
            if depth == 0:
                return token.start()
            depth -= 1
        elif depth == 0 and (piece == "," or piece.isspace()):
            # mesh[...] {...} and devices=[2]0,1
            rest = text[token.end():token.end() + 1]
            if piece == " " and rest == "{" and text[token.start() - 1] == "]" or piece == "," and rest.isdigit():
                continue
            return token.start()
    return len(text)


def targets(text):
    """(path, first, behind the name, behind the value) of everything that is changed."""
    found = []
    for match in ATTRIBUTE.finditer(text):
        found.append([match.group(1), match.start(), match.end(), value_end(text, match.end())])
    for pattern, name in ((LAYOUT, "layout"), (DIMENSIONS, "dimension sizes"), (CONSTANT, "literal")):
        for match in pattern.finditer(text):
            found.append([name, match.start(), match.start(), match.end()])
    header = text.find("\n\n") if text.startswith(("HloModule", "//")) else 0
    opcodes = [(match.start(), match.group(1)) for match in INSTRUCTION.finditer(text)]
    for name, first, value, last in found:
        path = [name]
        for outer, _, from_, to in found:
            if from_ <= first and last <= to and (from_, to) != (value, last) and outer != name:
                path.insert(0, outer)
        before = [opcode for at, opcode in opcodes if at < first]
        path.insert(0, "header" if first < header else before[-1] if before else "module")
        yield ".".join(path), first, value, last


def planned(name, text):
    """Every mutant that the plan has of a module."""
    instructions = [match.end() for match in re.finditer(r"= [^\n]*\)(?=[,\n])", text)]
    for number, (path, first, value, last) in enumerate(targets(text)):
        line = text.count("\n", 0, first)
        attribute, old = text[first:last], text[value:last]

        def mutant(kind, new, from_=value, to=last):
            return Mutant(name, path, kind, text, from_, to, new, line)

        for new in VALUES:
            if new != old:
                yield mutant("another value", new)
        if value != first:
            comma = 2 if text[:first].endswith(", ") else 1 if text[:first].endswith((",", " ")) else 0
            yield mutant("missing", "", first - comma, last)
            yield mutant("twice", f"{attribute}, {attribute}", first)
            yield mutant("twice", f"{attribute} {attribute}", first)
            yield mutant("another name", f"bogus={old}", first)
            yield mutant("another name", f"{text[first:value - 1].upper()}={old}", first)
            yield mutant("space", f"{text[first:value - 1]} = {old}", first)
            if instructions:
                at = instructions[(number * 7) % len(instructions)]
                yield mutant("elsewhere", f", {attribute}", at, at)
        tokens = [token for token in TOKEN.finditer(old) if not token.group().isspace()]
        for token in tokens:
            piece = token.group()
            from_, to = value + token.start(), value + token.end()
            if re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", piece):
                for new in NUMBERS:
                    yield mutant("number", new, from_, to)
            elif piece[0].isalpha() or piece[0] in "%_":
                for new in [*WORDS, piece.swapcase(), piece[:-1], piece + "x"]:
                    yield mutant("word", new, from_, to)
            elif piece[0] in "\"'":
                for new in ["7", "bogus", piece[0] * 2, piece[1:], ""]:
                    yield mutant("string", new, from_, to)
            else:
                for new in ["", piece * 2, ";"]:
                    yield mutant("sign", new, from_, to)


def unplanned(name, text, pool, values, random):
    """One mutant with one to three edits that no plan has."""
    path, line = "anywhere", 0
    for _ in range(random.choice([1, 1, 2, 3])):
        tokens = [token for token in TOKEN.finditer(text) if not token.group().isspace()]
        found = list(targets(text))
        token, other = random.choice(tokens), random.choice(tokens)
        path, first, value, last = random.choice(found) if found else ("anywhere", token.start(), token.start(), token.end())
        kind = random.randrange(9)
        if kind == 0:
            text = text[:token.start()] + text[token.end():]
        elif kind == 1:
            text = text[:token.end()] + " " + token.group() + text[token.end():]
        elif kind == 2:
            text = text[:token.start()] + random.choice(pool) + text[token.end():]
        elif kind == 3:
            text = text[:token.start()] + random.choice(pool) + " " + text[token.start():]
        elif kind == 4 and token.end() <= other.start():
            text = text[:token.start()] + other.group() + text[token.end():other.start()] + token.group() + text[other.end():]
        elif kind == 5:  # the value of another attribute of any module
            text = text[:value] + random.choice(random.choice(list(values.values()))) + text[last:]
        elif kind == 6:  # another value of the same attribute
            text = text[:value] + random.choice(values.get(path.rsplit(".", 1)[-1], [""])) + text[last:]
        elif kind == 7:  # an attribute of any module
            attribute = random.choice(list(values))
            text = text[:first] + f"{attribute}={random.choice(values[attribute])}, " + text[first:]
        else:
            from_, to = sorted((random.randrange(first, last + 1), random.randrange(first, last + 1)))
            text = text[:from_] + text[from_:to] * random.choice([0, 2]) + text[to:]
        line = text.count("\n", 0, min(token.start(), len(text)))
        if not text.strip():
            break
    return Mutant(name, path, "no plan", text, 0, 0, "", line)


def make(seeds, count, random):
    """`count` different mutants: a fifth without a plan, the others spread over what is changed and how, so that every attribute of every
    opcode has its share before any has a second."""
    plan = collections.defaultdict(list)
    for name, text in seeds:
        for mutant in planned(name, text):
            plan[(mutant.where, mutant.kind)].append(mutant)
    for group in plan.values():
        random.shuffle(group)
    groups = list(plan.values())
    random.shuffle(groups)
    chosen, seen = [], {text for _, text in seeds}
    depth = 0
    wanted = count - count // 5
    while len(chosen) < wanted and depth < max(map(len, groups)):
        for group in groups:
            if depth < len(group) and len(chosen) < wanted and (text := group[depth].text) not in seen:
                seen.add(text)
                chosen.append(group[depth])
        depth += 1
    pool = sorted({token for _, text in seeds for token in TOKEN.findall(text) if not token.isspace() and len(token) < 40})
    values = collections.defaultdict(set)
    for _, text in seeds:
        for path, first, value, last in targets(text):
            if value != first:
                values[path.rsplit(".", 1)[-1]].add(text[value:last])
    values = {name: sorted(of) for name, of in sorted(values.items())}
    while len(chosen) < count:
        name, text = random.choice(seeds)
        mutant = unplanned(name, text, pool, values, random)
        if mutant.text not in seen:
            seen.add(mutant.text)
            chosen.append(mutant)
    return chosen
