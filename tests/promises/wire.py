# SPDX-License-Identifier: MIT
"""PostgreSQL's protocol, as far as tests need it: asking whether it is ready, and a proxy that
loses answers."""
import socket
import struct

PROTOCOL_3 = 196608


def _read_exactly(sock, n):
    data = b""
    while len(data) < n:
        more = sock.recv(n - len(data))
        if not more:
            raise ConnectionResetError("the server closed the connection")
        data += more
    return data


def takes_connections(path, user="postgres", database="adit"):
    """Whether the server behind a unix socket starts a session, without a password."""
    parameters = b"".join(part.encode() + b"\0" for part in
                          ("user", user, "database", database)) + b"\0"
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(2)
            sock.connect(path)
            sock.sendall(struct.pack("!II", len(parameters) + 8, PROTOCOL_3) + parameters)
            while True:
                kind, size = struct.unpack("!cI", _read_exactly(sock, 5))
                _read_exactly(sock, size - 4)
                if kind == b"Z":
                    sock.sendall(b"X" + struct.pack("!I", 4))
                    return True
                if kind == b"E":
                    return False
    except OSError:
        return False
