# SPDX-License-Identifier: MIT
"""Random filters, and two implementations of CEL that judge them."""
import json
import os
import random
import subprocess

from adit import npm
from adit.reference import openapi
from adit.stack import CLEAN_ENV, ROOT

# The members of a credential, by type.
TYPES = {name: {"TEXT": "string", "TIME": "time", "TEXTS": "list", "BOOL": "bool"}[kind]
         for name, kind in openapi.filtered("ssh_credential").items()}
STRINGS = [name for name, kind in TYPES.items() if kind == "string"]
BOOLS = [name for name, kind in TYPES.items() if kind == "bool"]

RELATIONS = ("==", "!=", "<", "<=", ">", ">=")

# In the order of their code points, which is also their order in UTF-16: the judges compare so.
CHARACTERS = " \"%'-0aAbB_\\`{}~éß€😀"

# Whole hours: the rows' times are half an hour from each.
DURATIONS = ("0s", "1h", "3600s", "12h", "1d", "36h", "1d12h", "24h60m3600s", "7d", "100d")


class Text(tuple):
    """A filter, and what the strict and the conforming implementation of CEL are asked instead."""

    def __new__(cls, filter_, strict=None, conforming=None):
        return super().__new__(cls, (filter_, filter_ if strict is None else strict,
                                     filter_ if conforming is None else conforming))

    def __add__(self, other):
        other = other if isinstance(other, Text) else Text(other)
        return Text(*(mine + its for mine, its in zip(self, other)))

    def __radd__(self, other):
        return Text(other) + self


class Generator:
    """Makes filters that are true for some of the rows."""

    def __init__(self, seed, rows):
        self.random = random.Random(seed)
        self.rows = rows

    def blank(self):
        # One of the implementations takes one comment at a place at most.
        return self.random.choice(("", "", " ", " ", " ", "\t", "\n", Text("//a\n", conforming="\n")))

    def join(self, *parts):
        """Puts blanks between the parts."""
        whole = Text("")
        for part in parts:
            whole = whole + self.blank() + part
        return whole + self.blank()

    def one_of(self, *functions):
        return self.random.choice(functions)()

    # ---- operands ----

    def escaped(self, char, quote):
        """A character of a string in this quote."""
        point = ord(char)
        forms = ["\\u%04x" % point] if point < 0x10000 else []
        forms += ["\\x%02X" % point, "\\%03o" % point] if point < 0x100 else []
        forms += ["\\U%08x" % point]
        if char in "\"'`?\\":
            forms += ["\\" + char] * 3
        if char not in ("\\", quote):
            forms += [char] * 20
        return self.random.choice(forms)

    def quoted(self, value):
        quote = self.random.choice("\"'")
        if self.random.random() < 0.1 and not set(value) & {"\\", "\n", quote}:
            return "r" + quote + value + quote
        marks = quote * self.random.choice((1, 1, 1, 3))
        return marks + "".join(self.escaped(char, quote) for char in value) + marks

    def some_value(self):
        """A string of a row, a part of it, or another one."""
        row = self.random.choice(self.rows)
        value = row[self.random.choice(STRINGS)]
        if row["acl"] and self.random.random() < 0.3:
            value = self.random.choice(row["acl"])
        kind = self.random.random()
        if kind < 0.4:
            return value
        if kind < 0.8:
            start = self.random.randint(0, len(value))
            return value[start:start + self.random.randint(0, 4)]
        return "".join(self.random.choices(CHARACTERS, k=self.random.randint(0, 3)))

    def literal(self):
        return Text(self.quoted(self.some_value()))

    def member(self):
        return Text("obj." + self.random.choice(STRINGS))

    def string(self):
        return self.member() if self.random.random() < 0.6 else self.literal()

    def strings(self):
        """A list."""
        if self.random.random() < 0.4:
            return Text("obj.acl")
        items = [self.literal() if self.random.random() < 0.9 else Text("null", '""', '""')
                 for _ in range(self.random.randint(0, 4))]
        whole = Text("[")
        for i, item in enumerate(items):
            whole = whole + ("," if i else "") + self.join(item)
        return whole + "]"

    def integer(self):
        if self.random.random() < 0.6:
            part = self.one_of(self.string, self.strings)
            return "size(" + self.join(part) + ")" if self.random.random() < 0.5 else \
                part + ".size()"
        number = self.random.choice((-1, 0, 1, 2, 3, 4, 5, 28, 31, 32, 50, 2 ** 63 - 1))
        return Text("%s%d" % ("", number) if self.random.random() < 0.8 else
                    "%s0x%x" % ("-" if number < 0 else "", abs(number)))

    def time(self):
        kind = self.random.random()
        if kind < 0.4:
            whole = self.random.choice(("obj.created_at", "timestamp(obj.created_at)"))
        elif kind < 0.7:
            shown = self.random.choice(self.rows)["created_at"]
            if self.random.random() < 0.3:
                shown = shown[:-1] + self.random.choice((".0Z", ".5Z", ".999Z", ".001Z"))
            if self.random.random() < 0.3:
                shown = shown[:-1] + self.random.choice(("+00:00", "-00:01", "+01:30", "-12:00"))
            whole = "timestamp(%s)" % self.quoted(shown)
        else:
            whole = self.random.choice(("time.now", "timestamp(time.now)")) + \
                '.subtract("%s")' % self.random.choice(DURATIONS)
        if self.random.random() < 0.3:
            whole += self.random.choice(('.add("%s")', ".subtract('%s')")) % \
                self.random.choice(DURATIONS)
        return Text(whole)

    # ---- conditions ----

    def relation(self):
        return self.random.choice(RELATIONS)

    def unset(self):
        """A comparison with null or "", at either side."""
        equal = self.random.choice(("==", "!="))
        if self.random.random() < 0.5:
            sides = [self.member(), Text(self.random.choice(("null", '""')), conforming='""')]
        else:
            sides = [Text("obj.acl"), Text('""', "[]", "[]") if self.random.random() < 0.3 else
                     Text(self.random.choice(("null", "[]")), conforming="[]")]
        self.random.shuffle(sides)
        return self.join(sides[0], equal, sides[1])

    def call(self):
        name = self.random.choice(("startsWith", "endsWith", "contains"))
        return self.string() + "." + name + "(" + self.join(self.string()) + ")"

    def comparison(self):
        return self.one_of(
            lambda: self.join(self.string(), self.relation(), self.string()),
            lambda: self.join(self.integer(), self.relation(), self.integer()),
            lambda: self.join(self.time(), self.relation(), self.time()),
            lambda: self.join(self.strings(), self.random.choice(("==", "!=")), self.strings()),
            lambda: self.join(self.string(), " in ", self.strings()),
            self.unset)

    def condition(self, depth):
        """What binds as tight as a relation."""
        kind = self.random.random()
        if kind < 0.15:
            whole = self.call()
        elif kind < 0.2:
            whole = Text(self.random.choice(["true", "false", *("obj." + name for name in BOOLS)]))
        elif kind < 0.75 or depth == 0:
            whole = self.comparison()
        else:
            whole = self.random.choice(("", "", "!", "!!")) + self.bracketed(depth - 1)
        while self.random.random() < 0.1:
            # The strict implementation lets < bind tighter than ==, which CEL does not.
            whole = Text("", "(", "") + whole + Text("", ")", "")
            whole = self.join(whole, self.relation(), self.one_of(
                lambda: Text("true"), lambda: Text("!false"), self.call,
                lambda: self.bracketed(max(depth - 1, 0))))
        return whole

    def bracketed(self, depth):
        return "(" + self.filter(depth) + ")"

    def filter(self, depth=3):
        """A whole filter, a Text."""
        whole = self.condition(depth)
        while self.random.random() < 0.4:
            whole = self.join(whole, self.random.choice(("&&", "||")), self.condition(depth))
        return whole


    def short_filter(self, most=600):
        """A filter of at most this many characters, so that it is within the limits."""
        while True:
            whole = self.filter()
            if len(whole[0]) <= most:
                return whole


PIECES = ("obj.id", "obj.acl", "obj.created_at", "obj", "id", "time.now", "true", "null", "1", "-1",
          '""', '"a"', "[]", '["a"]', "==", "<", ">=", "in", "&&", "||", "!", "(", ")", "[", "]", ",",
          ".", "size(", "timestamp(", ".size()", '.startsWith("a")', '.add("1h")', " ", "and", "=")


def broken(generator, text):
    """The filter with some bytes taken away, doubled or replaced: most such texts are malformed.
    Only the strict implementation is asked."""
    choice = generator.random
    for _ in range(choice.randint(1, 2)):
        start = choice.randint(0, len(text))
        end = min(len(text), start + choice.choice((0, 0, 1, 2, 5)))
        text = text[:start] + choice.choice(("", text[start:end] * 2, choice.choice(PIECES))) + \
            text[end:]
    return text or "?", text or "?", None  # an empty filter is none


def judge(rows, now, filters):
    """Asks the implementations of CEL.  filters: a list of Text.  Returns a list of (what the strict
    one says against it or None, two sets of rows' numbers that it is true for)."""
    folder = npm.install("tests/cel")
    asked = {"now": now, "types": TYPES, "rows": rows, "filters": filters}
    done = subprocess.run(["node", os.path.join(ROOT, "tests/cel/evaluate.mjs"), folder],
                          input=json.dumps(asked), stdout=subprocess.PIPE, env=CLEAN_ENV,
                          check=True, encoding="utf-8", timeout=600)
    return [(verdict["refused"], [set(found) for found in verdict["matches"] or ()])
            for verdict in json.loads(done.stdout)]
