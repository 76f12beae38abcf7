# SPDX-License-Identifier: MIT
"""Public keys, API keys and bodies to test with."""
import base64
import os
import secrets
import subprocess
import tempfile
import zlib

from adit import cases

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# A valid key, for tests that need any key.
ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHwYM2ismwmcyQlR7ZdXz+m1x6pOQUEZ/r0pgqV/GGPj"
ED25519_FINGERPRINT = "SHA256:n71h8GAqVFRTcYv9rHKAHHQsanucFfG7Zm3LTtY7Sgk"


def base62(number, n_digits):
    out = ""
    for _ in range(n_digits):
        number, digit = divmod(number, 62)
        out = DIGITS[digit] + out
    return out


def well_formed_key(secret=None, account_id=None):
    """An API key that has the right check digits and was never issued.  It names the account, or
    has the earlier form."""
    secret = secret or "".join(secrets.choice(DIGITS) for _ in range(43))
    if account_id:
        secret = account_id.removeprefix("ac_") + secret
    return "adit_" + secret + base62(zlib.crc32(secret.encode()), 6)


def unknown_id(prefix="sshcr"):
    return prefix + "_" + "".join(secrets.choice(DIGITS) for _ in range(27))


def new_key():
    """A public key that no other credential has: an account may have 1,000 credentials of one."""
    blob = b"\0\0\0\x0bssh-ed25519\0\0\0 " + secrets.token_bytes(32)
    return "ssh-ed25519 " + base64.b64encode(blob).decode()


def credential(**members):
    """The body of a POST."""
    return {"public_key": ED25519, **members}


def accepted_keys():
    """(name, text, SSH type, fingerprint) of each public key that must be accepted."""
    for row in cases.read("keys/accepted.cases"):
        yield row.name, row.input.decode(), *row.expected.split()


def refused_keys():
    """(class/name, text, part of the reason) of each key to refuse that is UTF-8 without NUL."""
    for file in sorted(os.listdir(os.path.join(cases.FOLDER, "keys"))):
        kind = file.removesuffix(".cases")
        for row in cases.read("keys/" + file) if kind != "accepted" else ():
            try:
                text = row.input.decode()
            except UnicodeDecodeError:
                continue
            if text and "\0" not in text:
                yield "%s/%s" % (kind, row.name), text, row.expected.removeprefix("refused: ")


def generate(*options):
    """Makes a key with ssh-keygen.  Returns the texts of its private and public file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "key")
        subprocess.run(["ssh-keygen", "-q", "-N", "", "-C", "e2e", "-f", path, *options],
                       check=True, stdin=subprocess.DEVNULL)
        with open(path, encoding="utf-8") as private, open(path + ".pub", encoding="utf-8") as public:
            return private.read(), public.read()
