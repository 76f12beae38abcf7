# SPDX-License-Identifier: MIT
"""Cases as data: files of lines "expected<TAB>input<TAB>why" (tests/unit/cases.h)."""
import os
import re
from typing import NamedTuple

FOLDER = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", "cases"))

LETTERS = {b"t": b"\t", b"n": b"\n", b"r": b"\r", b"\\": b"\\"}
ESCAPED = {value[0]: "\\" + letter.decode() for letter, value in LETTERS.items()}
ESCAPE = re.compile(rb"\\(?:([tnr\\])|x([0-9A-Fa-f]{2})|\{([^*]*)\*(\d+)\})", re.DOTALL)

# Many equal bytes are written as \{BYTE*N}.
PIECE = re.compile(rb"([A-Za-z0-9 /=-])\1{63,}|.", re.DOTALL)


class Row(NamedTuple):
    expected: str
    input: bytes
    why: str
    line: int = 0

    @property
    def name(self):
        return self.why.split(": ")[0]


def unescape(text):
    def piece(match):
        letter, digits, what, count = match.groups()
        if letter:
            return LETTERS[letter]
        return bytes([int(digits, 16)]) if digits else what * int(count)

    return ESCAPE.sub(piece, text.encode())


def escape(data):
    """The one text that write() has for these bytes: ASCII that shows."""
    def shown(match):
        byte = match[0][0]
        if match[1]:
            return "\\{%c*%d}" % (byte, len(match[0]))
        return ESCAPED.get(byte) or (chr(byte) if 32 <= byte < 127 else "\\x%02x" % byte)

    return "".join(map(shown, PIECE.finditer(data)))


def read(name):
    """The cases of tests/cases/NAME."""
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        if line and not line.startswith("#"):
            expected, text, why = line.split("\t")
            yield Row(expected, unescape(text), why, number)


def line_of(row):
    return "%s\t%s\t%s" % (row.expected, escape(row.input), row.why)


def write(name, rows, comment):
    """Writes tests/cases/NAME with the rows in the order of their names."""
    with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as file:
        file.write(comment)
        for row in sorted(rows, key=lambda row: row.name):
            file.write(line_of(row) + "\n")
