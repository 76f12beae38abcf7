#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the folder that a web server serves at /docs: the OpenAPI document and the page that shows
it.  npm fetches the renderer, which is pinned to a version and its digest.

usage: doc/reference/build.py FOLDER
"""
import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.dont_write_bytecode = True
import openapi  # noqa: E402  (the path must be set first)

RENDERER = "swagger-ui-dist@5.35.0"
SHA512 = "U06rpMtW9V3XPGOBeamTUSr0Z09jMX4IJuANpE/EZbAhw0G8CgwrzU4YmXkn/h0wCDNsXdGarTNNHC3sU8yVUQ=="
PARTS = {
    "swagger-ui-bundle.js": "swagger-ui-bundle.js",
    "swagger-ui.css": "swagger-ui.css",
    "LICENSE": "swagger-ui-license.txt",
    "NOTICE": "swagger-ui-notice.txt",
    "swagger-ui-bundle.js.LICENSE.txt": "swagger-ui-parts-licences.txt",
}
OWN = ("index.html", "reference.css", "reference.js")


def die(message):
    sys.exit("doc/reference/build.py: " + message)


def fetch(folder):
    """Downloads the renderer's package with npm and returns its path."""
    command = ["npm", "pack", RENDERER, "--loglevel=error", "--ignore-scripts", "--pack-destination",
               folder]
    try:
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, encoding="utf-8", check=False)
    except FileNotFoundError:
        die("npm is missing and is needed to fetch %s: install npm" % RENDERER)
    found = [name for name in os.listdir(folder) if name.endswith(".tgz")]
    if done.returncode != 0 or len(found) != 1:
        die("npm cannot fetch %s: %s" % (RENDERER, done.stderr.strip() or done.stdout.strip()))
    return os.path.join(folder, found[0])


def unpack(package, folder):
    with open(package, "rb") as file:
        digest = base64.b64encode(hashlib.sha512(file.read()).digest()).decode()
    if digest != SHA512:
        die("%s has changed: its SHA-512 is %s, expected %s" % (RENDERER, digest, SHA512))
    with tarfile.open(package) as archive:
        for part, name in PARTS.items():
            with archive.extractfile("package/" + part) as source, \
                    open(os.path.join(folder, name), "wb") as target:
                shutil.copyfileobj(source, target)


def read(path):
    """Returns the text of a file, or an empty string if it does not exist."""
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    if len(sys.argv) != 2:
        die("expected one argument, FOLDER")
    folder = os.path.abspath(sys.argv[1])
    stamp = os.path.join(folder, "renderer.txt")
    os.makedirs(folder, exist_ok=True)
    pinned = "%s sha512-%s\n" % (RENDERER, SHA512)
    if read(stamp) != pinned:
        with tempfile.TemporaryDirectory() as scratch:
            unpack(fetch(scratch), folder)
        with open(stamp, "w", encoding="utf-8") as file:
            file.write(pinned)
    for name in OWN:
        shutil.copyfile(os.path.join(HERE, name), os.path.join(folder, name))
    # The same page for /docs/, where the other files are in the same folder.
    with open(os.path.join(folder, "folder.html"), "w", encoding="utf-8") as file:
        file.write(read(os.path.join(HERE, "index.html")).replace('"docs/', '"'))
    with open(os.path.join(folder, "openapi.json"), "w", encoding="utf-8") as file:
        file.write(openapi.make() + "\n")


if __name__ == "__main__":
    main()
