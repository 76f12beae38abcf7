# SPDX-License-Identifier: MIT
"""Hardening.

The programs are built with the compiler's and linker's hardening.  A worker drops its rights before
it reads anything from a client: it cannot run programs or write files.  It can read only the files
that database connections and keys need."""
import os
import random
import re
import shutil
import socket
import struct
import subprocess
import tempfile

from adit import fastcgi, stack
from adit.case import until
from adit.client import check_answer
from adit.programs import ENV, Responder, as_service, variables, without_calls
from promise import PromiseCase

# Landlock's three system calls, on every processor.
LANDLOCK_CALLS = (444, 445, 446)


def output(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def is_script(path):
    with open(path, "rb") as file:
        return file.read(2) == b"#!"


class Binaries(PromiseCase):
    """The programs that `make install` installs."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        subprocess.run(["make", "-s", "-C", stack.BUILD, "install", "DESTDIR=" + cls.folder],
                       check=True, capture_output=True)
        cls.programs = sorted(
            path for folder, _, names in os.walk(cls.folder)
            for path in (os.path.join(folder, name) for name in names)
            if os.access(path, os.X_OK) and not is_script(path))

    def count(self, good):
        """Records how many programs pass."""
        names = [os.path.basename(path) for path in self.programs]
        self.assertEqual(sorted(names), ["adit-gate.fcgi", "adit-gateway", "adit-ssh-keys",
                                         "adit.fcgi", "aditctl"],
                         "the programs installed")
        self.figure("programs that pass", sum(map(good, self.programs)), exactly=len(names))

    def test_position(self):
        """Loaded at a random address (PIE)"""
        self.count(lambda path: re.search(r"^\s+Type:\s+DYN", output("readelf", "-hW", path),
                                          re.M) is not None and
                   re.search(r"FLAGS_1.*\bPIE\b", output("readelf", "-dW", path)) is not None)

    def test_relro(self):
        """Relocation tables are read-only from the start (full RELRO)"""
        self.count(lambda path: "GNU_RELRO" in output("readelf", "-lW", path) and
                   re.search(r"FLAGS_1.*\bNOW\b", output("readelf", "-dW", path)) is not None)

    def test_stack(self):
        """No segment is both writable and executable, and neither is the stack"""
        def good(path):
            segments = re.findall(r"^\s+(LOAD|GNU_STACK)\s+(?:0x\S+\s+){5}(.{3})",
                                  output("readelf", "-lW", path), re.M)
            return "GNU_STACK" in dict(segments) and not any(
                "W" in flags and "E" in flags for _, flags in segments)
        self.count(good)

    def test_protector(self):
        """Functions check the stack before they return"""
        self.count(lambda path: "__stack_chk_fail" in output("nm", "-D", path))

    def test_fortified(self):
        """Library calls check the sizes of their buffers (_FORTIFY_SOURCE)"""
        self.count(lambda path: re.search(r"__(memcpy|v?snprintf|v?fprintf|printf|explicit_"
                                          r"bzero|read)_chk", output("nm", "-D", path))
                   is not None)


class Confinement(PromiseCase):
    def check(self, preexec_fn=None):
        """Runs the program's own check as the service's user."""
        return subprocess.run(as_service([self.program(), "-c", self.stack.conf_path,
                                          "--check-confinement"]),
                              capture_output=True, text=True, cwd="/", check=False,
                              env=stack.CLEAN_ENV, preexec_fn=preexec_fn)

    def program(self):
        return os.path.join(self.stack.state, "bin", "adit.fcgi")

    def rows(self, done):
        return dict(re.split(r"  +", line, maxsplit=1) for line in done.stdout.splitlines()
                    if "  " in line)

    def test_check(self):
        """`adit.fcgi --check-confinement`: the forbidden calls are refused, and the needed ones
        work"""
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = self.rows(done)
        self.figure("forbidden calls refused", list(rows.values()).count("refused"), exactly=17)
        self.figure("needed calls that work", list(rows.values()).count("works"), exactly=3)

    def confined(self, responder):
        """Returns the kernel's status of each worker, or None until all have a filter."""
        states = []
        for pid in responder.workers():
            with open("/proc/%d/status" % pid, encoding="utf-8") as file:
                states.append(dict(line.split(":\t", 1) for line in file.read().splitlines()
                                   if ":\t" in line))
        return states if all(state["Seccomp"] == "2" for state in states) else None

    def test_workers(self):
        """Every worker is confined"""
        with Responder(self.stack, 4) as responder:
            self.assertEqual(self.ask(responder).status, 200)
            # An idle worker may not be confined yet.
            states = until(lambda: self.confined(responder), "four confined workers", 5)
        self.figure("workers with a system call filter",
                    sum(state["Seccomp"] == "2" for state in states), exactly=4)
        self.figure("workers with no_new_privs", sum(state["NoNewPrivs"] == "1"
                                                       for state in states), exactly=4)

    def ask(self, responder):
        return check_answer(fastcgi.ask(responder.socket, variables(self.home.admin.key)))

    def with_settings(self, change):
        """Writes a changed copy of the stack's settings next to them, so that both use one key
        file."""
        path = self.stack.conf_path + ".%s" % self._testMethodName
        shutil.copy(self.stack.conf_path, path)
        status = os.stat(self.stack.conf_path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(change(text))
        os.chown(path, status.st_uid, status.st_gid)
        self.addCleanup(os.unlink, path)
        return path

    def debug(self, text):
        return text.replace("level = info", "level = debug")

    def test_less_where_the_kernel_has_less(self):
        """On kernels without Landlock, without seccomp, and without either: a worker serves, logs
        at level debug which confinement is active, and the check reports what is missing"""
        conf = self.with_settings(self.debug)
        seen = 0
        for landlock, seccomp in ((True, True), (False, True), (True, False), (False, False)):
            with self.subTest("Landlock %s, seccomp %s" % (landlock, seccomp)):
                less = without_calls(() if landlock else LANDLOCK_CALLS, seccomp)
                done = self.check(less)
                rows = self.rows(done)
                self.assertEqual(done.returncode, 0 if landlock and seccomp else 1, done.stdout)
                self.assertEqual((rows["Landlock"] != "no", rows["seccomp"] == "yes"),
                                 (landlock, seccomp))
                with Responder(self.stack, 1, conf, preexec_fn=less) as responder:
                    self.assertEqual(self.ask(responder).status, 200)
                    log = responder.log().decode()
                line, = re.findall(r'.*"event":"confined".*', log)
                self.assertIn('"seccomp":"%s"' % ("yes" if seccomp else "no"), line)
                self.assertEqual('"landlock":"no"' in line, not landlock)
                self.assertNotIn('"level":"error"', log)
                seen += 1
        self.figure("kernels tested", seen, exactly=4)

    def test_single_processes(self):
        """Processes that a web server starts itself, for CGI and mod_fcgid, are confined too"""
        conf = self.with_settings(self.debug)
        done = subprocess.run(
            as_service([self.program()]), capture_output=True, cwd="/", check=False,
            stdin=subprocess.DEVNULL,
            env={**stack.CLEAN_ENV, **variables(self.home.admin.key), "ADIT_CONF": conf,
                 "GATEWAY_INTERFACE": "CGI/1.1"})
        self.assertEqual(fastcgi.parse(done.stdout).status, 200, done.stderr)
        confined = done.stderr.count(b'"event":"confined"')
        path = os.path.join(self.stack.run_folder, "single.sock")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            os.chmod(path, 0o777)
            listener.listen(8)
            with subprocess.Popen(as_service([self.program(), "-c", conf]), stdin=listener,
                                  stderr=subprocess.PIPE, cwd="/",
                                  env=stack.CLEAN_ENV) as single:
                self.assertEqual(fastcgi.ask(path, variables(self.home.admin.key)).status, 200)
                single.terminate()
                confined += single.stderr.read().count(b'"event":"confined"')
                self.assertEqual(single.wait(10), 0)
        os.unlink(path)
        self.figure("processes confined", confined, exactly=2)


class Reconnects(PromiseCase):
    """Files that a worker reads again long after its start."""

    stack_name = "reconnects"
    # Random, since PostgreSQL uses its default port at this address.
    HOST = "127.%d.%d.%d" % tuple(random.randint(1, 250) for _ in range(3))

    def write(self, name, text):
        """Replaces a file as a renewal does: by a rename."""
        path = os.path.join(self.folder, name)
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path + ".new", 0o600)
        self.give(path + ".new")
        os.rename(path + ".new", path)
        return path

    def give(self, path):
        if os.geteuid() == 0:
            shutil.chown(path, "postgres", "postgres")

    def certificate(self):
        """Returns a new self-signed certificate of the server, and its key."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                            "-subj", "/CN=database", "-addext", "subjectAltName=IP:" + self.HOST,
                            "-keyout", folder + "/key", "-out", folder + "/crt"],
                           check=True, capture_output=True)
            with open(folder + "/crt", encoding="ascii") as crt, \
                    open(folder + "/key", encoding="ascii") as key:
                return crt.read(), key.read()

    def set_up_server(self):
        self.folder = stack.make_folder()
        self.give(self.folder)
        self.addCleanup(shutil.rmtree, self.folder)
        data = os.path.join(self.stack.state, "data")
        with open(os.path.join(data, "pg_hba.conf"), "r+", encoding="utf-8") as file:
            rules = file.read()
            file.seek(0)
            file.write("hostssl all tls 127.0.0.0/8 scram-sha-256\n" + rules)
        self.renew("first")
        self.stack.psql("CREATE ROLE tls LOGIN IN ROLE adit_responder")
        self.stack.psql("ALTER SYSTEM SET ssl = on")
        for name, value in (("ssl_cert_file", self.folder + "/server.crt"),
                            ("ssl_key_file", self.folder + "/server.key"),
                            ("listen_addresses", self.HOST)):
            self.stack.psql("ALTER SYSTEM SET %s = '%s'" % (name, value))
        self.stack.restart()

    def renew(self, password):
        """Replaces every file that a worker reads."""
        certificate, key = self.certificate()
        self.write("server.crt", certificate)
        self.write("server.key", key)
        self.write("ca.crt", certificate)
        self.write("passwords", "%s:*:*:tls:%s\n" % (self.HOST, password))

    def put_in_force(self, password):
        self.stack.psql("ALTER ROLE tls PASSWORD '%s'" % password)
        self.stack.psql("SELECT pg_reload_conf()")
        self.stack.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE usename = 'tls'")

    def n_encrypted(self):
        return int(self.stack.psql("SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity"
                                   " USING (pid) WHERE usename = 'tls' AND ssl"))

    def ask(self, responder):
        return fastcgi.ask(responder.socket, variables(self.home.admin.key)).status

    def test_renewed_files(self):
        """A running worker connects with TLS and a password after the authority's certificate and
        the password file were replaced"""
        self.set_up_server()
        self.put_in_force("first")
        text = self.stack.read_conf()
        conf = self.stack.conf_path + ".tls"
        with open(conf, "w", encoding="utf-8") as file:
            file.write(re.sub(
                r"(?m)^conninfo = .*", "conninfo = host=%s dbname=adit user=tls sslmode=verify-full "
                "sslrootcert=%s/ca.crt passfile=%s/passwords" % (
                    self.HOST, self.folder, self.folder), text))
        os.chmod(conf, 0o640)
        self.give(conf)
        self.addCleanup(os.unlink, conf)
        renewed = 0
        with Responder(self.stack, 1, conf) as responder:
            until(lambda: self.ask(responder) == 200, "a first answer")
            self.assertEqual(self.n_encrypted(), 1)
            for password in ("second", "third", "fourth"):
                self.renew(password)
                self.put_in_force(password)
                until(lambda: self.ask(responder) == 200, "an answer with renewed files")
                renewed += self.n_encrypted()
            # Another authority's certificate must fail: this proves that the worker reads the file.
            self.write("ca.crt", self.certificate()[0])
            self.put_in_force("fourth")
            refused = self.ask(responder)
        self.figure("connections with renewed files", renewed, exactly=3)
        self.figure("status with another authority", refused, exactly=503)


def keytab(realm, name):
    """A Kerberos keytab with one key, in the format that MIT documents."""
    def text(value):
        return struct.pack(">H", len(value)) + value.encode()
    entry = (struct.pack(">H", 1) + text(realm) + text(name) + struct.pack(">IIB", 1, 0, 1)
             + struct.pack(">HH", 18, 32) + bytes(32))
    return b"\x05\x02" + struct.pack(">i", len(entry)) + entry


def der(tag, *parts):
    """A value in DER, of up to 127 bytes."""
    content = b"".join(parts)
    return bytes((tag, len(content))) + content


def cache(realm, name):
    """A Kerberos cache, version 4 of the format, with a forged ticket-granting ticket."""
    def text(value):
        return struct.pack(">I", len(value)) + value

    def principal(*names):
        return struct.pack(">II", 1, len(names)) + b"".join(map(text, (realm, *names)))
    realm, name = realm.encode(), name.encode()
    names = der(0x30, der(0xA0, der(2, b"\2")), der(0xA1, der(0x30, der(0x1B, b"krbtgt"),
                                                             der(0x1B, realm))))
    sealed = der(0x30, der(0xA0, der(2, bytes((18,)))), der(0xA2, der(4, bytes(16))))
    ticket = der(0x61, der(0x30, der(0xA0, der(2, b"\5")), der(0xA1, der(0x1B, realm)),
                           der(0xA2, names), der(0xA3, sealed)))
    return (b"\5\4\0\0" + principal(name) + principal(name) + principal(b"krbtgt", realm)
            + struct.pack(">H", 18) + text(bytes(32)) + struct.pack(">IIII", 0, 0, 2 ** 31 - 1, 0)
            + struct.pack(">BIII", 0, 0, 0, 0) + text(ticket) + text(b""))


class Kerberos(PromiseCase):
    """Files that only environment variables name, for the Kerberos library."""

    def write(self, path, content):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
        return path

    def settings(self, port):
        """Writes settings for a database on this port that accepts only GSSAPI."""
        path = self.stack.conf_path + ".kerberos"
        with open(path, "w", encoding="utf-8") as file:
            file.write(re.sub(
                r"(?m)^conninfo = .*", "conninfo = host=localhost hostaddr=127.0.0.1 port=%d "
                "dbname=adit user=adit gssencmode=require" % port, self.stack.read_conf()))
        os.chmod(path, 0o644)
        self.addCleanup(os.unlink, path)
        return path

    def start(self, conf, database, **env):
        """Starts a worker that connects to the database.  Returns the session once libpq has found
        credentials."""
        responder = Responder(self.stack, 1, conf, env={**ENV, **env})
        self.addCleanup(responder.stop)
        sock = fastcgi.connect(responder.socket)
        self.addCleanup(sock.close)
        sock.sendall(fastcgi.records(variables(None, path="/readyz")))
        session = database.accept()[0]
        self.addCleanup(session.close)
        self.assertEqual(session.recv(8), struct.pack(">II", 8, 80877104), "GSSENCRequest")
        return session

    def test_kerberos(self):
        """Workers find credentials and ask for a ticket, with Kerberos settings, keytab and caches
        in separate folders"""
        folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, folder)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as kdc, \
                socket.create_server(("127.0.0.1", 0)) as database:
            kdc.bind(("127.0.0.1", 0))
            for sock in (kdc, database):
                sock.settimeout(10)
            settings = ":".join((
                self.write(folder + "/first/krb5.conf", b"[libdefaults]\n default_realm = TEST\n"),
                self.write(folder + "/second/krb5.conf", b"[realms]\n TEST = {\n  kdc = "
                           b"127.0.0.1:%d\n }\n" % kdc.getsockname()[1])))
            keys = "FILE:" + self.write(folder + "/keys/adit.keytab", keytab("TEST", "adit"))
            self.write(folder + "/caches/primary", b"tkt\n")
            self.write(folder + "/caches/tkt", cache("TEST", "adit"))
            if os.geteuid() == 0:
                subprocess.run(["chown", "-R", "postgres:", folder], check=True)
            conf = self.settings(database.getsockname()[1])
            asked = 0
            for kind, env in ((b"\x6a", {"KRB5_CLIENT_KTNAME": keys, "KRB5CCNAME": "MEMORY:"}),
                              (b"\x6c", {"KRB5CCNAME": "DIR:" + folder + "/caches"})):
                with self.subTest(env["KRB5CCNAME"]):
                    self.start(conf, database, KRB5_CONFIG=settings, **env).sendall(b"G")
                    # RFC 4120, 5.4.1: a request is [APPLICATION 10] with a key, 12 with a ticket.
                    self.assertEqual(kdc.recv(4096)[:1], kind)
                    asked += 1
        self.figure("workers that ask for a ticket", asked, exactly=2)
