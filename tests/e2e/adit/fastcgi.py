# SPDX-License-Identifier: MIT
"""FastCGI by hand: requests that web servers send to the responder, and requests that none
sends."""
import socket
import struct

from adit import covered, reference
from adit.client import DEADLINE_S, Answer

BEGIN, ABORT, END, PARAMS, STDIN, STDOUT, STDERR = range(1, 8)
KEEP = 1
RESPONDER, AUTHORIZER = 1, 2


def record(kind, content=b"", request_id=1):
    return struct.pack(">BBHHBx", 1, kind, request_id, len(content), 0) + content


def length(n):
    return bytes([n]) if n < 128 else struct.pack(">I", n | 0x80000000)


def pairs(variables):
    """Encodes variables: a dict, or pairs if a name repeats."""
    out = b""
    for name, value in variables.items() if isinstance(variables, dict) else variables:
        name, value = (part if isinstance(part, bytes) else part.encode() for part in (name, value))
        out += length(len(name)) + length(len(value)) + name + value
    return out


def stream(kind, data):
    out = b"".join(record(kind, data[at:at + 60000]) for at in range(0, len(data), 60000))
    return out + record(kind)


def records(variables, body=b"", keep=False):
    """The records of a whole request."""
    return (record(BEGIN, struct.pack(">HB5x", RESPONDER, KEEP if keep else 0)) +
            stream(PARAMS, pairs(variables)) + stream(STDIN, body))


def check_records(variables):
    """The records of a whole request to an authorizer, which has no body."""
    return (record(BEGIN, struct.pack(">HB5x", AUTHORIZER, 0)) + stream(PARAMS, pairs(variables)))


def read_exactly(file, n):
    data = file.read(n)
    if len(data) != n:
        raise EOFError("the responder closed the connection")
    return data


def read_output(file):
    """Reads the records of one answer.  Returns what the program wrote."""
    out = b""
    while True:
        _, kind, _, size, padding = struct.unpack(">BBHHBx", read_exactly(file, 8))
        content = read_exactly(file, size + padding)[:size]
        if kind == STDOUT:
            out += content
        elif kind == END:
            return out


def read_answer(file, asked=None):
    """Reads one answer of the responder."""
    return parse(read_output(file), asked)


def asked_by(variables, body=b""):
    """The request that these variables of FastCGI or CGI describe."""
    wanted = (dict(variables).get(name, "") for name in
              ("REQUEST_METHOD", "PATH_INFO", "QUERY_STRING"))
    return reference.Asked(*(value.decode("latin-1") if isinstance(value, bytes) else value
                             for value in wanted), body)


def parse(out, asked=None):
    """Converts a CGI answer to HTTP and checks it against the OpenAPI document."""
    head, _, body = out.partition(b"\r\n\r\n")
    status, _, headers = head.partition(b"\r\n")
    name, _, value = status.partition(b": ")
    if name != b"Status":
        raise AssertionError("the answer does not begin with Status: %r" % head)
    answer = Answer(b"HTTP/1.1 " + value + b"\r\n" + headers, body)
    if answer.code:
        covered.error(answer.code)
    reference.hold(answer, asked or reference.Asked(), head_only=not body)
    return answer


def connect(place):
    """Connects to a socket: its path, or its address and port."""
    if isinstance(place, tuple):
        return socket.create_connection(place, DEADLINE_S)
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(DEADLINE_S)
    sock.connect(place)
    return sock


def ask(path, variables, body=b""):
    """Sends one request to the responder's socket."""
    return ask_raw(path, records(variables, body), asked_by(variables, body))


def ask_raw(path, data, asked=None):
    with connect(path) as sock, sock.makefile("rb") as file:
        sock.sendall(data)
        return read_answer(file, asked)
