# SPDX-License-Identifier: MIT
"""A program from a seed: operations drawn from operations/*.txt, with choices drawn within each.

An operation is a text: a line "== NAME", options, definitions of task functions, a line "--", and
what the main block does. Within it

    word_N          a name of this operation's own
    {{a | b}}       one of these; {{x: a | b}} is remembered, and {{x}} is the same one again
    {{ARRAY}}       an expression from the table of that name in values.txt
    #some 2 5       that many of the lines up to #end, drawn again and again

Options: needs=MODULE,... that have to be there; where=main or where=module for operations whose
definitions belong there; copies for those that write to their arguments; weight=N how often it is
drawn; own where it uses executors of its own or more of the executor than calls."""

import functools
import glob
import importlib.util
import os
import random
import re

HERE = os.path.dirname(os.path.abspath(__file__))
# What programs import if they name it.
MODULES = """asyncio collections contextlib ctypes dataclasses decimal enum functools gc io
    itertools locale logging multiprocessing numpy pandas pickle random re scipy select signal
    subprocess tempfile threading time traceback types warnings weakref""".split()
CHOICE = re.compile(r"\{\{([^{}]*)\}\}")


class Operation:
    def __init__(self, file, text):
        head, _, text = text.partition("\n")
        self.name, *options = (part.strip() for part in head.split("|"))
        options = dict(option.partition("=")[::2] for option in options)
        self.needs = options.pop("needs").split(",") if "needs" in options else []
        self.where, self.weight = options.pop("where", None), int(options.pop("weight", 1))
        self.copies, self.own = "copies" in options, "own" in options
        if set(options) - {"copies", "own"}:
            raise ValueError(f"{file}: {self.name}: unknown options {options}")
        definitions, _, body = f"\n{text}".partition("\n--\n")
        if not body.strip():
            raise ValueError(f"{file}: {self.name}: a line -- and a body are expected")
        self.definitions, self.body = definitions.strip(), body.strip()

    def is_there(self):
        return all(map(has_module, self.needs))


@functools.cache
def has_module(name):
    return importlib.util.find_spec(name) is not None


@functools.cache
def operations():
    """All, by name."""
    found = {}
    for path in sorted(glob.glob(os.path.join(HERE, "operations", "*.txt"))):
        with open(path) as file:
            for part in re.split(r"(?m)^== ", file.read())[1:]:
                operation = Operation(os.path.basename(path), part)
                if operation.name in found:
                    raise ValueError(f"{path}: {operation.name} is there already")
                found[operation.name] = operation
    return found


@functools.cache
def values():
    """Tables of expressions, by name: [(modules it needs, expression)]."""
    tables = {}
    with open(os.path.join(HERE, "values.txt")) as file:
        for line in file:
            if line.startswith("== "):
                table = tables[line[3:].strip()] = []
            elif line.strip() and not line.startswith("#"):
                table.append((re.findall(r"\b(numpy|pandas|scipy)\.", line), line.strip()))
    return tables


@functools.cache
def rows(name):
    """Expressions of a table that this Python has the modules for."""
    return [text for needs, text in values()[name] if all(map(has_module, needs)) and
            all(rows(other) for other in CHOICE.findall(text) if other in values())]


def expand(text, draw, known):
    """Make the choices of a text, innermost first."""
    def choose(match):
        name, colon, rest = match[1].partition(": ")
        if not (colon and name.isidentifier()):
            name, rest = None, match[1]
        rest = rest.strip()
        if rest in known:
            return known[rest]
        if rest in values():
            made = draw.choice(rows(rest))
        else:
            made = draw.choice(rest.split(" | ")).strip()
        made = expand(made, draw, known)
        if name:
            known[name] = made
        return made

    while CHOICE.search(text):
        text = CHOICE.sub(choose, text)
    return text


def repeat_lines(text, draw):
    def some(match):
        lines = match[3].strip("\n").splitlines()
        count = draw.randint(int(match[1]), int(match[2]))
        return "\n".join(draw.choices(lines, k=count)) + "\n"

    return re.sub(r"(?ms)^#some (\d+) (\d+)\n(.*?)^#end$\n?", some, text)


def indent(text):
    return "\n".join(f"    {line}" if line.strip() else "" for line in text.splitlines())


class Step:
    """One operation of a program, its choices made by the program's seed and its number alone."""

    def __init__(self, seed, number, operation):
        draw = random.Random(f"{seed}/{number}")
        self.operation, self.name, known = operation, f"{number} {operation.name}", {}
        self.number = number
        self.in_main = draw.random() < 0.6 if operation.where is None else operation.where == "main"
        known["SPACE"] = "sys.modules['__main__']" if self.in_main else "tasks"
        parts = []
        for text in operation.definitions, operation.body:
            text = expand(repeat_lines(text, draw), draw, known)
            if "{{" in text:
                raise ValueError(f"{operation.name}: a choice with braces in it is not made: {text}")
            parts.append(re.sub(r"_N\b", f"_{number}", text))
        self.definitions, body = parts
        self.function = f"def step_{number}(pool, ask):\n{indent(body)}"
        # Modes that are no executors of their own do calls alone.
        self.is_plain = not operation.own and not re.search(r"\b(pool|Pool)\b", body)


class Program:
    def __init__(self, seed, only=None, names=None):
        """only: numbers of the steps that it is to have; names: operations to draw from."""
        draw = random.Random(seed)
        self.seed, self.copies = seed, draw.random() < 0.6
        drawn = [each for each in operations().values()
                 if (self.copies or not each.copies) and each.is_there() and
                 (names is None or each.name in names)]
        count = draw.randint(3, 9)
        chosen = draw.choices(drawn, [each.weight for each in drawn], k=count)
        self.steps = [Step(seed, number, operation) for number, operation in enumerate(chosen)
                      if only is None or number in only]
        self.options = draw.choice(["", "", "initializer=initialize, initargs=(3,)"])

    def files(self):
        """{name: text} of its folder."""
        seen = f"copies = {self.copies}\ndef seen(value):\n    return describe(value, copies)\n"
        head = "import os, sys\nfrom concurrent import futures\nfrom support import *\n"
        main = [step.definitions for step in self.steps if step.in_main]
        module = [step.definitions for step in self.steps if not step.in_main]
        text = "".join(step.definitions + step.function for step in self.steps)
        used = set(re.findall(r"\b([a-z]+)\.", text))
        head += "".join(f"import {'scipy.sparse' if name == 'scipy' else name}\n"
                        for name in MODULES if name in used)
        table = "".join(f"    ({step.name!r}, step_{step.number}, {step.is_plain}),\n"
                        for step in self.steps)
        options = ", ".join(filter(None, ["copies=copies", self.options]))
        program = [
            f'"""Seed {self.seed}: python3 program.py MODE"""\n{head}import tasks',
            "from tasks import *",
            seen, "INITIAL = [0]\ndef initialize(value):\n    INITIAL[0] += value\n",
            *main, *(step.function for step in self.steps),
            f'if __name__ == "__main__":\n    run_steps([\n{table}    ], dict({options}))\n']
        return {"program.py": "\n\n".join(program),
                "tasks.py": "\n\n".join([head, seen, *module, ""])}

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        for name, text in self.files().items():
            compile(text, name, "exec")  # otherwise it would end alike in all modes
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        return os.path.join(folder, "program.py")
