#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Clients that make, read and delete credentials, until standard input ends.

usage: load.py HOST:PORT KEY N_CLIENTS [keep]

With "keep" they delete none.  Prints "ready" when every client has had an
answer, or "no answer".  At the end prints, as JSON, the number of requests, the number of credentials
made, and the list of failed requests: [start, end, fault].  Times are seconds of the monotonic
clock."""
import http.client
import json
import os
import sys
import threading
import time

if __name__ == "__main__":
    sys.path[0] = os.path.dirname(sys.path[0])
from adit.samples import new_key  # noqa: E402  (the path has to be set first)

TIMEOUT_S = 15
# Of all clients in a second: two such programs with one key stay below the limit that Adit prints.
MOST_REQUESTS = 48


class Client(threading.Thread):
    def __init__(self, server, key, pause_s, keeps):
        super().__init__()
        self.server, self.key, self.pause_s, self.keeps = server, key, pause_s, keeps
        self.n, self.n_made, self.failures = 0, 0, []
        self.has_answer, self.stopping = threading.Event(), False

    def ask(self, method, path, wanted, body=None):
        """Sends one request on a new connection.  Returns the answer's body as JSON."""
        begun = time.monotonic()
        connection = http.client.HTTPConnection(self.server, timeout=TIMEOUT_S)
        try:
            connection.request(method, path, body, {
                "Authorization": "Bearer " + self.key, "Service-Version": "2",
                **({"Content-Type": "application/json"} if body else {})})
            answer = connection.getresponse()
            data = answer.read()
            if answer.status != wanted:
                raise ValueError("%s %s: %d %s" % (method, path, answer.status, data.decode()))
            self.has_answer.set()
            return json.loads(data) if data else {}
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.failures.append([begun, time.monotonic(), repr(error)])
            return None
        finally:
            self.n += 1
            connection.close()
            time.sleep(max(0, begun + self.pause_s - time.monotonic()))

    def run(self):
        while not self.stopping:
            made = self.ask("POST", "/ssh_credentials", 201, json.dumps({"public_key": new_key()}))
            if made:
                self.n_made += 1
                path = "/ssh_credentials/" + made["id"]
                self.ask("GET", path, 200)
                if not self.keeps:
                    self.ask("DELETE", path, 204)


def main():
    server, key, n_clients, *keeps = sys.argv[1:]
    clients = [Client(server, key, int(n_clients) / MOST_REQUESTS, keeps == ["keep"])
               for _ in range(int(n_clients))]
    for client in clients:
        client.start()
    is_ready = all(client.has_answer.wait(TIMEOUT_S) for client in clients)
    print("ready" if is_ready else "no answer", flush=True)
    sys.stdin.read()
    for client in clients:
        client.stopping = True
    for client in clients:
        client.join()
    print(json.dumps({"n": sum(client.n for client in clients),
                      "made": sum(client.n_made for client in clients),
                      "failures": [failure for client in clients for failure in client.failures]}))


if __name__ == "__main__":
    main()
