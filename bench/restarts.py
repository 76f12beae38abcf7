# SPDX-License-Identifier: MIT
"""Restarts a responder as systemd does, while clients send requests through a web server that keeps
its connections."""
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time

from adit import fronts, load, stack
from adit.fd_store import Store
from adit.programs import Nginx, as_service, at_socket

N_CLIENTS = 8
PAUSE_S = 0.2


@contextlib.contextmanager
def nginx(bed, path):
    with Nginx(bed.stack, at_socket(bed.stack, path)) as server:
        yield server.port


@contextlib.contextmanager
def apache(bed, path):
    server = fronts.ReusingApache(bed.stack)
    server.socket = path
    front = server.add("apache-proxy-fcgi", "")
    server.start()
    try:
        yield front.port
    finally:
        server.stop()


FRONTS = {"nginx": nginx, "apache": apache}


def take(bed, n):
    """Returns for each web server how many restarts there were, and how many requests came and
    failed."""
    return {name: take_behind(front, bed, n) for name, front in FRONTS.items()}


def take_behind(front, bed, n):
    folder = stack.make_folder()
    path = os.path.join(folder, "socket")
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(path)
    os.chmod(path, 0o777)
    sock.listen(1024)
    store = Store(sock, path + ".notify")
    command = as_service([os.path.join(bed.stack.state, "bin", "adit.fcgi"), "-c",
                          bed.stack.conf_path])
    process = store.start(command)
    n_kept = 0
    try:
        with front(bed, path) as port, subprocess.Popen(
                [sys.executable, load.__file__, "127.0.0.1:%d" % port, bed.keys["writer"],
                 str(N_CLIENTS)], text=True, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE) as clients:
            clients.stdout.readline()
            started = time.monotonic()
            for _ in range(n):
                time.sleep(PAUSE_S)
                store.stop(process)
                n_kept += len(store.fds)
                process = store.start(command)
            seconds = time.monotonic() - started
            found = json.loads(clients.communicate(timeout=60)[0])
    finally:
        store.stop(process)
        store.close()
        sock.close()
        shutil.rmtree(folder)
    return {"n": n, "requests": found["n"], "rate": found["n"] / seconds, "kept": n_kept,
            "failed": len(found["failures"])}
