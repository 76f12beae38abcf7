# SPDX-License-Identifier: MIT
"""Certificate authorities, and certificates of servers and clients, made with openssl."""
import os
import subprocess

# openssl takes no dates for its other ways to sign.
EXPIRED = """[ca]
default_ca = expired
[expired]
dir = %(folder)s
database = %(folder)s/index
serial = %(folder)s/serial
new_certs_dir = %(folder)s
default_md = sha256
policy = any
[any]
commonName = supplied
"""


class Certificates:
    """Every certificate is a file NAME.pem with its chain and its key.  NAME.crt is the certificate
    alone."""

    def __init__(self, folder):
        self.folder = folder

    def path(self, name):
        return os.path.join(self.folder, name)

    def _openssl(self, *arguments):
        done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise AssertionError("openssl %s: %s" % (" ".join(arguments), done.stderr))

    def _request(self, name, subject):
        self._openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                      "-nodes", "-keyout", self.path(name + ".key"), "-subj", "/CN=" + subject,
                      "-out", self.path(name + ".csr"))

    def make(self, name, issuer=None, subject=None, is_authority=False, chain=(), more=()):
        """Makes a certificate; without an issuer it signs itself."""
        signer = ["-CA", self.path(issuer + ".crt"), "-CAkey", self.path(issuer + ".key")] \
            if issuer else []
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                      "-nodes", "-keyout", self.path(name + ".key"), "-days", "30",
                      "-subj", "/CN=" + (subject or name), "-addext",
                      "basicConstraints=critical,CA:%s" % str(is_authority).upper(),
                      *signer, *more, "-out", self.path(name + ".crt"))
        self._join(name, chain)

    def make_expired(self, name, issuer):
        with open(self.path("expired.conf"), "w", encoding="ascii") as file:
            file.write(EXPIRED % {"folder": self.folder})
        with open(self.path("index"), "w", encoding="ascii"):
            pass
        with open(self.path("serial"), "w", encoding="ascii") as file:
            file.write("01\n")
        self._request(name, name)
        self._openssl("ca", "-batch", "-notext", "-config", self.path("expired.conf"),
                      "-cert", self.path(issuer + ".crt"), "-keyfile", self.path(issuer + ".key"),
                      "-startdate", "20200101000000Z", "-enddate", "20200201000000Z",
                      "-in", self.path(name + ".csr"), "-out", self.path(name + ".crt"))
        self._join(name, ())

    def _join(self, name, chain):
        with open(self.path(name + ".pem"), "w", encoding="ascii") as out:
            for part in (name + ".crt", *(other + ".crt" for other in chain), name + ".key"):
                with open(self.path(part), encoding="ascii") as file:
                    out.write(file.read())
