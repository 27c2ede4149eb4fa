# SPDX-License-Identifier: MIT
"""A program from a seed: operations drawn from operations/*.txt, with choices drawn within each.

FAMILY programs with seeds that follow each other have options in common, so that they can be one
file, after each other with one executor: starting processes and interpreters takes most of the
time otherwise. Each has names of its own.

An operation is a text: a line "== NAME", options, definitions of task functions, a line "--", and
what the main block does. Within it

    word_N          a name of this program's operation's own
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
HEAVY, HEAVIEST = ("numpy", "pandas", "scipy"), ("pandas", "scipy")
FAMILY = 25
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
def rows(name, is_light):
    """Expressions of a table that this Python has the modules for. is_light: none that takes long
    to import."""
    return [text for needs, text in values()[name] if all(map(has_module, needs)) and
            not (is_light and set(needs) & set(HEAVIEST)) and
            all(rows(other, is_light) for other in CHOICE.findall(text) if other in values())]


def expand(text, draw, known, is_light):
    """Make the choices of a text, innermost first."""
    def choose(match):
        name, colon, rest = match[1].partition(": ")
        if not (colon and name.isidentifier()):
            name, rest = None, match[1]
        rest = rest.strip()
        if rest in known:
            return known[rest]
        if rest in values():
            made = draw.choice(rows(rest, is_light))
        else:
            made = draw.choice(rest.split(" | ")).strip()
        made = expand(made, draw, known, is_light)
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

    def __init__(self, seed, number, operation, is_light):
        draw = random.Random(f"{seed}/{number}")
        self.operation, self.id = operation, f"{seed}.{number}"
        self.seed, self.name, known = seed, f"{self.id} {operation.name}", {}
        self.in_main = draw.random() < 0.6 if operation.where is None else operation.where == "main"
        own, known["SPACE"] = f"_{seed}_{number}", "SPACE"
        parts = []
        for text in operation.definitions, operation.body:
            text = expand(repeat_lines(text, draw), draw, known, is_light)
            if "{{" in text:
                raise ValueError(f"{operation.name}: a choice with braces in it is not made: {text}")
            parts.append(re.sub(r"_N\b", own, text))
        # What numpy and pandas are imported for has a module of its own: they take their time.
        self.module = "heavy" if used_in(parts[0], HEAVY) else "tasks"
        space = "sys.modules['__main__']" if self.in_main else self.module
        self.definitions, body = (text.replace("SPACE", space) for text in parts)
        self.function_name = f"step{own}"
        self.function = f"def {self.function_name}(pool, ask):\n{indent(body)}"
        # Modes that are no executors of their own do calls alone.
        self.is_plain = not operation.own and not re.search(r"\b(pool|Pool)\b", body)


class Family:
    """What programs have in common that can be one file."""

    def __init__(self, seed):
        draw = random.Random(f"family {seed // FAMILY}")
        self.copies, self.is_light = draw.random() < 0.6, draw.random() < 0.8
        self.options = draw.choice(["", "", "initializer=initialize, initargs=(3,)"])


class Program:
    def __init__(self, seed, only=None, names=None):
        """only: identifiers of the steps that it is to have; names: operations to draw from."""
        draw, self.seed, self.family = random.Random(seed), seed, Family(seed)
        drawn = [each for each in operations().values()
                 if (self.family.copies or not each.copies) and each.is_there() and
                 (names is None or each.name in names)]
        count = draw.randint(3, 9)
        chosen = draw.choices(drawn, [each.weight for each in drawn], k=count)
        steps = (Step(seed, *each, self.family.is_light) for each in enumerate(chosen))
        self.steps = [step for step in steps if only is None or step.id in only]


def used_in(text, modules=MODULES):
    used = set(re.findall(r"\b([a-z]+)\.", text))
    return [name for name in modules if name in used]


def imports(text):
    names = ("scipy.sparse" if name == "scipy" else name for name in used_in(text))
    return "".join(f"import {name}\n" for name in names)


class Files:
    """Programs of one family, one after the other, as python3 runs them."""

    def __init__(self, programs):
        self.programs, family = programs, programs[0].family
        self.steps = [step for program in programs for step in program.steps]
        seen = f"copies = {family.copies}\ndef seen(value):\n    return describe(value, copies)\n"
        head = "import os, sys\nfrom concurrent import futures\nfrom support import *\n"
        self.texts = {}
        for module in "tasks", "heavy":
            here = [step.definitions for step in self.steps
                    if not step.in_main and step.module == module]
            self.texts[f"{module}.py"] = "\n\n".join(
                [head + imports("".join(here)), seen, *here, ""])
        main = [step.definitions for step in self.steps if step.in_main]
        main += [step.function for step in self.steps]
        table = "".join(f"    ({step.name!r}, {step.function_name}, {step.is_plain}),\n"
                        for step in self.steps)
        options = ", ".join(filter(None, ["copies=copies", family.options]))
        modules = sorted({step.module for step in self.steps if not step.in_main})
        self.texts["program.py"] = "\n\n".join([
            f'"""Seeds {", ".join(str(each.seed) for each in programs)}: '
            f'python3 program.py MODE"""\n{head}{imports("".join(main))}',
            "".join(f"import {name}\nfrom {name} import *\n" for name in modules),
            seen, "INITIAL = [0]\ndef initialize(value):\n    INITIAL[0] += value\n", *main,
            f'if __name__ == "__main__":\n    run_steps([\n{table}    ], dict({options}))\n'])

    def write(self, folder):
        os.makedirs(folder, exist_ok=True)
        for name, text in self.texts.items():
            compile(text, name, "exec")  # otherwise it would end alike in all modes
            with open(os.path.join(folder, name), "w") as file:
                file.write(text)
        return os.path.join(folder, "program.py")
