# SPDX-License-Identifier: MIT
"""Shared hosting: doc/install/shared-hosting.md, word for word, as users without root on a host
with Apache, mod_fcgid and suEXEC.

Run it in a copy of the machine: tests/machine tests/e2e/run MODULE.

Three customers follow the page.  ada's host permits everything in .htaccess.  bob's host permits
the usual directives.  carl's host permits the least and serves him below /~carl/, so he must remove
a line.  The host has none of the libraries that the archive contains."""
import concurrent.futures
import contextlib
import glob
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import time
import unittest

from adit import covered, samples, stack
from adit.case import Case, until
from adit.client import Client, check_answer, check_server_answer, read_answer

PAGE = os.path.join(stack.ROOT, "doc", "install", "shared-hosting.md")
PASSWORD = "%s-has-a-p4ssword"
CREDENTIALS = "/ssh_credentials"
BUNDLED = ("libfcgi", "libinih", "libjson-c", "libpq")
LIBRARIES = "/usr/lib/" + stack.run(["gcc", "-print-multiarch"]).stdout.strip()
DATA = "/var/lib/hosting-db"
HOMES = "/srv/homes"

APACHE = r"""
ServerName machine
<IfModule mod_fcgid.c>
    FcgidIdleTimeout %(idle_s)d
    FcgidIdleScanInterval 1
    FcgidMinProcessesPerClass 0
    # The tests end more processes than mod_fcgid tolerates by default.
    FcgidSpawnScoreUpLimit 1000
</IfModule>
<VirtualHost *:80>
    ServerName users.test
    UserDir public_html
    DocumentRoot /var/www/html
    ErrorLog ${APACHE_LOG_DIR}/carl.log
    <Directory /srv/homes/carl/public_html>
        AllowOverride %(carl)s
        Options SymLinksIfOwnerMatch ExecCGI
        Require all granted
    </Directory>
</VirtualHost>
<VirtualHost *:80>
    ServerName ada.test
    DocumentRoot /srv/homes/ada/public_html
    SuexecUserGroup ada ada
    ErrorLog ${APACHE_LOG_DIR}/ada.log
    <Directory /srv/homes/ada/public_html>
        AllowOverride %(ada)s
        Options SymLinksIfOwnerMatch
        Require all granted
    </Directory>
</VirtualHost>
<VirtualHost *:80>
    ServerName bob.test
    DocumentRoot /srv/homes/bob/public_html
    SuexecUserGroup bob bob
    ErrorLog ${APACHE_LOG_DIR}/bob.log
    <Directory /srv/homes/bob/public_html>
        AllowOverride %(bob)s
        Options SymLinksIfOwnerMatch
        Require all granted
    </Directory>
</VirtualHost>
"""

HOST = {
    "idle_s": 300,
    "ada": "All",
    "bob": "FileInfo AuthConfig Limit Indexes "
           "Options=ExecCGI,Includes,Indexes,MultiViews,SymLinksIfOwnerMatch",
    "carl": "FileInfo",
}

sites = {}
archive = None


# ---- the page ----

def page_blocks():
    """{heading: its block of commands}.  A second block gets " (2)" after the heading."""
    with open(PAGE, encoding="utf-8") as file:
        parts = re.split(r"(?m)^## (.*)\n", file.read())
    found = {}
    for heading, text in zip(parts[1::2], parts[2::2]):
        for n, block in enumerate(re.findall(r"(?ms)^```sh\n(.*?)^```$", text)):
            found[re.sub(r"^\d+\. ", "", heading) + (" (%d)" % (n + 1) if n else "")] = block
    return found


BLOCKS = page_blocks()
used = set()


class Site(Client):
    """A customer's interface, below the customer's prefix."""

    def __init__(self, user, host, prefix):
        super().__init__("127.0.0.1", 80)
        self.user, self.name, self.prefix = user, host, prefix
        self.prefixes = (prefix + "/adit.fcgi", prefix)
        self.home = os.path.join(HOMES, user)
        self.folder = self.home + "/public_html/adit"
        self.htaccess = self.folder + "/.htaccess"
        self.base_url = "http://" + host + prefix

    def send(self, method, target, headers=(), body=b"", host=None, **options):
        return super().send(method, self.prefix + target, headers, body, host=host or self.name,
                            **options)

    def fetch(self, path, **options):
        """The answer to a path of the host, from Adit or from Apache."""
        return Client.send(self, "GET", path, host=self.name, is_held=False, **options)

    # ---- the shell ----

    def shell(self, script, **options):
        """Runs a script as the user in the home folder, with the environment of a login."""
        return stack.run(["setpriv", "--reuid=" + self.user, "--regid=" + self.user,
                          "--init-groups", "sh", "-eu", "-c", script], cwd=self.home,
                         env={"HOME": self.home, "USER": self.user, "PATH": "/usr/bin:/bin"},
                         **options)

    def follow(self, heading, check=True):
        """Runs a block of the page, with the host's names in place of the page's."""
        used.add(heading)
        script = BLOCKS[heading]
        for written, meant in self.names().items():
            script = script.replace(written, meant)
        return self.shell(script, check=check)

    def names(self):
        names = {"https://www.example.org/adit": self.base_url,
                 "host=db.example.org dbname=mydb user=me password=mypassword sslmode=require":
                 "host=127.0.0.1 dbname=%s user=%s password=%s" % (
                     self.user, self.user, PASSWORD % self.user)}
        if self.key:
            names["key=adit_..."] = "key=" + self.key
        return names

    def processes(self):
        return running("adit.fcgi", pwd.getpwnam(self.user).pw_uid)

    def log(self):
        return read("/var/log/apache2/%s.log" % self.user)

    def secrets(self):
        """Strings that no answer may contain."""
        sealing_key = read(self.home + "/adit/etc/adit.key").split()[-1]
        return [(PASSWORD % self.user), sealing_key, self.key, "conninfo =", "CREATE TABLE",
                "public_html", "SetHandler", "\x7fELF", "libexec"]


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def running(name, user_id=None):
    """Process ids of a program, without zombies."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            command, _, rest = read("/proc/%s/stat" % pid).partition("(")[2].rpartition(") ")
            owner = os.stat("/proc/" + pid).st_uid
        except OSError:
            continue
        if command == name and rest[0] != "Z" and user_id in (None, owner):
            found.append(int(pid))
    return found


# ---- the host ----

def start_database():
    os.mkdir(DATA)
    postgres = pwd.getpwnam("postgres")
    os.chown(DATA, postgres.pw_uid, postgres.pw_gid)
    write(DATA + "/pw", "of the hoster")
    os.chmod(DATA + "/pw", 0o644)
    as_postgres = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
    stack.run([*as_postgres, stack.PG_BIN + "/initdb", "-D", DATA + "/d", "-U", "postgres", "-E",
               "UTF8", "--auth=scram-sha-256", "--pwfile=" + DATA + "/pw", "--no-sync"], cwd="/")
    subprocess.run([*as_postgres, stack.PG_BIN + "/pg_ctl", "-D", DATA + "/d", "-w", "-s", "-l",
                    DATA + "/log", "-o", "-k %s -c listen_addresses=127.0.0.1 -c fsync=off" % DATA,
                    "start"], check=True, cwd="/", env=stack.CLEAN_ENV, timeout=60,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for user in sites:
        sql("CREATE ROLE %s LOGIN PASSWORD '%s'" % (user, PASSWORD % user))
        sql("CREATE DATABASE %s OWNER %s" % (user, user))


def psql_env(database="postgres"):
    # psql uses a copy of libpq, because remove_libraries() removes the host's.
    return dict(stack.CLEAN_ENV, PGHOST="127.0.0.1", PGUSER="postgres", PGDATABASE=database,
                PGPASSWORD="of the hoster", LD_LIBRARY_PATH=DATA + "/lib")


def sql(text, database="postgres"):
    return stack.run(["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", text],
                     env=psql_env(database)).stdout.strip()


def remove_libraries():
    """Removes the libraries that the archive contains.  The hoster's psql keeps a copy."""
    os.mkdir(DATA + "/lib")
    shutil.copy(LIBRARIES + "/libpq.so.5", DATA + "/lib")
    removed = [path for name in BUNDLED for path in glob.glob("%s/%s.so*" % (LIBRARIES, name))]
    assert len(removed) >= 2 * len(BUNDLED), removed
    for path in removed:
        os.remove(path)
    stack.run(["ldconfig"])


def start_apache():
    os.makedirs("/run/lock", exist_ok=True)
    stack.run(["a2enmod", "-q", "rewrite", "headers", "suexec", "fcgid", "userdir", "setenvif"])
    stack.run(["a2dismod", "-qf", "cgid", "cgi"])
    write("/etc/apache2/suexec/www-data", HOMES + "\npublic_html\n")
    # Debian's settings for ~/public_html would apply to all virtual hosts.
    write("/etc/apache2/mods-available/userdir.conf", "UserDir disabled root\n")
    write("/etc/apache2/sites-available/000-default.conf", APACHE % HOST)
    apache("start")


def apache(what):
    subprocess.run(["apachectl", what], check=True, stdin=subprocess.DEVNULL, timeout=120,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=stack.CLEAN_ENV)
    if what != "stop":
        until(answers, "Apache answers")
    else:
        until(lambda: not running("apache2"), "Apache has ended")


def answers():
    try:
        return Client("127.0.0.1", 80).send("GET", "/", is_held=False)
    except (OSError, AssertionError):
        return None


@contextlib.contextmanager
def another_host(enable=(), disable=(), **changes):
    """Runs Apache with other modules and settings inside the "with" block."""
    site = "/etc/apache2/sites-available/000-default.conf"
    apache("stop")
    write(site, APACHE % dict(HOST, **changes))
    for module in enable:
        stack.run(["a2enmod", "-q", module])
    for module in disable:
        stack.run(["a2dismod", "-qf", module])
    apache("start")
    try:
        yield
    finally:
        apache("stop")
        write(site, APACHE % HOST)
        for module in disable:
            stack.run(["a2enmod", "-q", module])
        for module in enable:
            stack.run(["a2dismod", "-qf", module])
        apache("start")


def setUpModule():
    global archive
    if os.uname().nodename != "machine" or os.getuid() != 0:
        raise AssertionError("this module changes the machine; run: tests/machine tests/e2e/run "
                             + __name__)
    said = stack.run(["make", "-C", stack.BUILD, "archive"]).stdout
    archive = os.path.join(stack.BUILD, re.search(r"(?m)^adit-\S+\.tar\.xz$", said).group())
    os.mkdir(HOMES)
    for user, host, prefix in (("ada", "ada.test", "/adit"), ("bob", "bob.test", "/adit"),
                               ("carl", "users.test", "/~carl/adit")):
        sites[user] = Site(user, host, prefix)
        stack.run(["useradd", "-m", "-d", sites[user].home, "-s", "/bin/sh", user])
        os.chmod(sites[user].home, 0o711)
    with open("/etc/hosts", "a", encoding="utf-8") as file:
        file.write("127.0.0.1 %s\n" % " ".join(site.name for site in sites.values()))
    start_database()
    remove_libraries()
    start_apache()
    for site in sites.values():
        follow_page(site)
    # The page's advice for a host that does not allow Options in .htaccess.
    carl = sites["carl"]
    carl.refused = carl.fetch(carl.prefix + CREDENTIALS)
    carl.follow("When the host refuses something")


def follow_page(site):
    shutil.copy(archive, site.home)
    site.follow("The programs")
    site.follow("Settings and keys")
    said = site.follow("The database, and a first key").stdout
    site.key, = re.findall(r"(?m)^adit_\w{76}$", said)
    site.migrated = said
    site.follow("The web folder")


def host_case(user):
    """A base class for tests on a customer's host.  self.admin is the customer's admin."""
    class HostCase(Case):
        @classmethod
        def setUpClass(cls):
            cls.site = cls.admin = sites[user]
            cls.nobody = Site(user, cls.site.name, cls.site.prefix)
    return HostCase


# ---- answers of every host ----

class Operations:
    def test_all(self):
        before = set(covered.routes)
        covered.routes.clear()
        self.life_of_a_credential()
        self.pages()
        self.modules()
        for path in ("/livez", "/readyz"):
            self.assert_ok(self.nobody.get(path, version=None))
        # A program that answers alone counts nothing.
        self.assert_error(self.nobody.get("/metrics", version=None), 9000)
        self.assertEqual(set(covered.route_table) - covered.routes, {("GET", "/metrics")})
        covered.routes.update(before)

    def life_of_a_credential(self):
        made = self.assert_ok(self.admin.post(CREDENTIALS, samples.credential(description="ä")), 201)
        path = CREDENTIALS + "/" + made["id"]
        self.assertEqual(made["uri"], self.site.base_url + path)
        self.assertEqual(self.assert_ok(self.admin.get(path)), made)
        self.assertEqual(self.admin.call("HEAD", path).status, 200)
        self.assertEqual(self.assert_ok(self.admin.patch(path, {"metadata": "m"}))["metadata"], "m")
        self.assertEqual(self.admin.call("OPTIONS", path).status, 204)
        decision = self.admin.post("/ssh_decisions", {"public_key": made["public_key"]})
        self.assertEqual(self.assert_ok(decision)["credentials"][0]["id"], made["id"])
        self.assert_ok(self.admin.delete(path), 204)
        self.assert_error(self.admin.get(path), 9002)

    def pages(self):
        made = [self.admin.post(CREDENTIALS, samples.credential()).json["id"] for _ in range(3)]
        seen, page = [], self.assert_ok(self.admin.get(CREDENTIALS + "?limit=2"))
        while page:
            seen += [row["id"] for row in page["ssh_credentials"]]
            rest = page["next_page_uri"]
            page = rest and self.assert_ok(self.admin.get(rest.removeprefix(self.site.base_url)))
        self.assertEqual(sorted(seen), sorted(made))
        for ident in made:
            self.assert_ok(self.admin.delete(CREDENTIALS + "/" + ident), 204)

    def modules(self):
        oauth, mutual_tls = "/edges/https/e/routes/r/oauth", "/edges/tls/e/mutual_tls"
        provider = {"provider_b": {"client_id": "c", "client_secret": "sealed-s3cret"}}
        for name, path, body in (
                ("oauth_modules", oauth, {"provider": provider}),
                ("mutual_tls_modules", mutual_tls, {"certificate_authority_ids": ["ca-1"]})):
            self.assert_ok(self.admin.put(path, body))
            self.assert_ok(self.admin.get(path))
            listed, = self.assert_ok(self.admin.get("/" + name))[name]
            self.assertEqual(listed["uri"], self.site.base_url + path)
            self.assert_ok(self.admin.delete(path), 204)
            self.assertEqual(self.admin.get(path).status, 404)
        admits = self.assert_ok(self.admin.post("/oauth_admissions", {"provider": provider}))
        self.assertEqual(admits["whom"], "anyone")
        known = self.assert_ok(self.admin.get("/oauth_providers"))["providers"]
        self.assertIn("provider_b", [one["name"] for one in known])
        event, = self.assert_ok(self.admin.get("/audit_events?limit=1"))["audit_events"]
        self.assertEqual(event["event"], "mutual_tls_module_deleted")
        self.assertEqual(self.assert_ok(self.admin.get("/audit_events/" + event["id"])), event)


class OperationsOfAda(Operations, host_case("ada")):
    pass


class OperationsOfBob(Operations, host_case("bob")):
    pass


class OperationsOfCarl(Operations, host_case("carl")):
    pass


class Answers:
    def test_key_arrives(self):
        self.assert_ok(self.admin.get(CREDENTIALS))
        self.assert_error(self.nobody.get(CREDENTIALS), 200)
        self.assert_error(self.admin.get(CREDENTIALS, key=samples.well_formed_key()), 203)
        headers = self.admin.headers("GET", None, self.site.key, "2", None)
        answer = self.admin.send("GET", CREDENTIALS, [headers[0], *headers])
        self.assertEqual(check_answer(answer).status, 401)
        self.assertEqual(self.admin.send("GET", CREDENTIALS, [
            ("authorization", "bearer " + self.site.key), ("Service-Version", "2")]).status, 200)

    def test_through_the_script(self):
        made = self.admin.post("/adit.fcgi" + CREDENTIALS, samples.credential())
        ident = self.assert_ok(made, 201)["id"]
        path = CREDENTIALS + "/" + ident
        self.assertEqual(self.assert_ok(self.admin.get("/adit.fcgi" + path)), made.json)
        self.assert_error(self.nobody.get("/adit.fcgi" + path), 200)
        self.assert_ok(self.admin.delete(path), 204)

    def test_a_large_answer_ends_the_connection(self):
        """If a large answer broke off, Apache would wait for the next request on the connection."""
        made = [self.assert_ok(self.admin.post(CREDENTIALS, samples.credential(
            metadata="m" * 4000)), 201)["id"] for _ in range(9)]
        head = "GET %s%s?limit=%d HTTP/1.1\r\nHost: %s\r\n%s\r\n\r\n"
        headers = "\r\n".join("%s: %s" % pair for pair in self.admin.headers(
            "GET", None, self.site.key, "2", None))
        for limit, is_kept in ((1, True), (9, False)):
            with self.subTest(limit), self.site.connect() as sock, \
                    sock.makefile("rb") as stream:
                sock.sendall((head % (self.site.prefix, CREDENTIALS, limit, self.site.name,
                                      headers)).encode())
                answer = read_answer(stream)
                self.assertEqual((answer.status, answer.header("Connection") != "close"),
                                 (200, is_kept))
        for ident in made:
            self.assert_ok(self.admin.delete(CREDENTIALS + "/" + ident), 204)

    # Path, and the number of the error or None.
    PATHS = [
        ("/%73sh_credentials?limit=%31", None),
        ("/ssh_credentials?limit=a%2520", 244),
        ("/ssh_credentials?x=%3F%23", 231),
        ("/ssh_credentials/", 9000),
        ("/ssh_credentials/%2541", 9070),
        ("/ssh_credentials/a%3Fb", 9070),
        ("/ssh_credentials/a%3Flimit=1", 9070),
        ("/ssh_credentials/a%23b", 9070),
        ("/ssh_credentials/a%20b", 9070),
        ("/ssh_credentials/a%0Ab", 9070),
        ("/ssh_credentials/a%0Db", 9070),
        ("/ssh_credentials/a%25b", 9070),
        ("/ssh_credentials/%2525", 9070),
        ("/ssh_credentials/%252e%252e", 9070),
        ("/ssh_credentials/a+b&c;d=e", 9070),
        ("/ssh_credentials/%26", 9070),
        ("/ssh_credentials/%C3%A4", 9070),
        ("/ssh_credentials/%FF", 9070),
        ("/ssh_credentials/%22%27%3C%3E%5C", 9070),
        ("/ssh_credentials/$1%251", 9070),
        ("/%3F", 9000),
        ("/%23", 9000),
        ("/%25", 9000),
        ("/nothing", 9000),
        ("/", 9000),
        ("/livez/%3f", 9000),
    ]

    def test_encoded_characters(self):
        def check(path, number):
            answer = self.admin.get(path)
            if number:
                self.assert_error(answer, number)
            else:
                self.assert_ok(answer)
        self.each([(path, path, number) for path, number in self.PATHS], check)

    def test_an_encoded_identifier_is_the_same(self):
        made = self.assert_ok(self.admin.put("/edges/tls/a.b~c/mutual_tls", {}))
        for written in ("a%2Eb%7Ec", "%61.b~c"):
            with self.subTest(written):
                self.assertEqual(
                    self.assert_ok(self.admin.get("/edges/tls/%s/mutual_tls" % written)), made)
        self.assert_ok(self.admin.delete("/edges/tls/a.b~c/mutual_tls"), 204)

    def test_no_answer_is_a_redirect(self):
        for path in ("/ssh_credentials/", "//ssh_credentials", "/ssh_credentials//", "/adit.fcgi",
                     "/adit.fcgi/", "/SSH_credentials", "/adit", "/./livez", "/x/../livez"):
            with self.subTest(path):
                answer = self.admin.get(path)
                self.assertNotIn(answer.status // 100, (3, 5), answer)

    def test_bodies(self):
        whole = {"public_key": samples.ED25519, "description": ""}

        def text(size):
            return b'{"public_key": "%s"}' % (b"x" * (size - 18))

        self.assertEqual(len(text(65536)), 65536)
        self.assert_error(self.admin.post(CREDENTIALS, text(65536)), 9026)
        for size in (65537, 131073, 1 << 20):
            with self.subTest("%d bytes" % size):
                answer = self.admin.send("POST", CREDENTIALS, self.admin.headers(
                    "POST", text(size), self.site.key, "2", "application/json"), text(size))
                self.assertEqual(answer.status, 413)
                self.check_server_error(answer, 9006)
        self.assert_error(self.admin.post(CREDENTIALS, b"", content_type="application/json"), 9007)
        made = self.assert_ok(self.chunked(whole), 201)
        self.assert_ok(self.admin.delete(CREDENTIALS + "/" + made["id"]), 204)

    def chunked(self, body):
        data = json.dumps(body).encode()
        headers = self.admin.headers("POST", None, self.site.key, "2", "application/json")
        return check_answer(self.admin.send(
            "POST", CREDENTIALS, [*headers, ("Transfer-Encoding", "chunked")],
            b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)))

    def check_server_error(self, answer, number):
        """The answer is Apache's, with the catalogue's number, status and text."""
        check_server_answer(answer)
        row = re.search(r'(?m)^(?:SERVER_)?ERROR\((?:\w+, *)?%d, (\d+), "(.*)"\)$' % number,
                        read(covered.SOURCES + "/base/error_table.h"))
        self.assertEqual((answer.status, answer.code, answer.json["msg"]),
                         (int(row.group(1)), number, row.group(2)))


class AnswersToAda(Answers, host_case("ada")):
    def test_cgipassauth_besides(self):
        kept = read(self.site.htaccess)
        try:
            write(self.site.htaccess, kept + "CGIPassAuth On\n")
            self.test_key_arrives()
            self.test_through_the_script()
        finally:
            write(self.site.htaccess, kept)

    def test_without_a_base_url(self):
        """Links name the script, and work."""
        conf = self.site.home + "/adit/etc/adit.conf"
        kept = read(conf)
        try:
            write(conf, re.sub(r"(?m)^base_url.*\n", "", kept))
            self.end_processes()
            made = self.assert_ok(self.admin.post(CREDENTIALS, samples.credential()), 201)
            self.assertEqual(made["uri"], "http://ada.test/adit/adit.fcgi/ssh_credentials/"
                             + made["id"])
            link = made["uri"].removeprefix(self.site.base_url)
            self.assertEqual(self.assert_ok(self.admin.get(link)), made)
            self.assert_ok(self.admin.delete(link), 204)
        finally:
            write(conf, kept)
            self.end_processes()

    def end_processes(self):
        for pid in self.site.processes():
            os.kill(pid, signal.SIGTERM)
        until(lambda: not self.site.processes(), "the processes have ended")

    def test_without_the_database(self):
        """Apache passes the responder's answers unchanged, its 503 too."""
        sql("ALTER DATABASE ada ALLOW_CONNECTIONS false")
        sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'ada'")
        try:
            self.assert_error(self.admin.get(CREDENTIALS), 9030)
            self.assertEqual(self.nobody.get("/readyz", version=None).status, 503)
        finally:
            sql("ALTER DATABASE ada ALLOW_CONNECTIONS true")
        until(lambda: self.admin.get(CREDENTIALS).status == 200, "it is connected again")

    def test_a_responder_that_does_not_start(self):
        key_file = self.site.home + "/adit/etc/adit.key"
        os.rename(key_file, key_file + ".away")
        try:
            self.end_processes()
            self.check_server_error(self.admin.send("GET", CREDENTIALS), 9057)
        finally:
            os.rename(key_file + ".away", key_file)
        until(lambda: self.admin.send("GET", "/livez").status == 200, "it starts again")

    def test_a_chunked_body_that_mod_fcgid_refuses(self):
        headers = self.admin.headers("POST", None, self.site.key, "2", "application/json")
        answer = self.admin.send("POST", CREDENTIALS, [*headers, ("Transfer-Encoding", "chunked")],
                                 b"30000\r\n%s\r\n0\r\n\r\n" % (b"x" * 0x30000))
        self.check_server_error(answer, 9057)


class AnswersToBob(Answers, host_case("bob")):
    pass


class AnswersToCarl(Answers, host_case("carl")):
    def test_before_the_line_was_removed(self):
        """The page quotes this line of the log."""
        quoted = "Options not allowed here"
        self.assertEqual(self.site.refused.status, 500)
        self.assertIn(quoted, self.site.log())
        self.assertIn(quoted, read(PAGE))


# ---- files that no request may fetch ----

# Paths below the prefix.  The folder has files that users leave there by mistake: see litter().
INSIDE = """
.htaccess .htaccess~ .htaccess.bak .htpasswd .hta .%68taccess %2ehtaccess .htaccess%00 .htaccess/
adit.fcgi adit.fcgi/ adit.fcgi~ adit.fcgi.bak .adit.fcgi.swp adit.fcgi%00 adit.fcgi%2F adit.fcgi;x adit.fcgi.
adit.fcgi/.htaccess adit.fcgi/../.htaccess adit.fcgi/../../adit/.htaccess adit.fcgi/..%2f.htaccess
adit.fcgi/%2e%2e/.htaccess adit.fcgi/%2e%2e/%2e%2e/ adit.fcgi/../../ adit.fcgi/../../../adit/etc/adit.conf
adit.fcgi/..%2f..%2f..%2fadit%2fetc%2fadit.conf adit.fcgi/..%252f..%252fadit%252fetc%252fadit.conf
adit.fcgi/%252e%252e/%252e%252e/%252e%252e/adit/etc/adit.key
adit.conf adit.key adit.conf~ adit.conf.sample etc/adit.conf etc/adit.key etc/ adit/etc/adit.conf
../etc/adit.conf ../../adit/etc/adit.conf ../../adit/etc/adit.key ../../../srv/homes/USER/adit/etc/adit.conf
..%2f..%2fadit%2fetc%2fadit.conf %2e%2e/%2e%2e/adit/etc/adit.key %2e%2e%2f%2e%2e%2fadit%2fetc%2fadit.key
..%5c..%5cadit%5cetc%5cadit.conf ..%c0%af..%c0%afadit/etc/adit.conf ..;/..;/adit/etc/adit.conf
%252e%252e/%252e%252e/adit/etc/adit.conf .%2e/.%2e/adit/etc/adit.conf //../..//adit/etc/adit.conf
%00/../../adit/etc/adit.conf x%3f/../../../adit/etc/adit.conf x%23/../../../adit/etc/adit.key
sql/grants.sql share/adit/sql/schema.sql dump.sql backup.sql.gz adit.tar.xz core .git/config
.env .bash_history .pgpass .ssh/id_rsa proc/self/environ proc/self/fd/0 /etc/passwd
/srv/homes/USER/adit/etc/adit.conf /proc/self/environ livez/../.htaccess livez/.htaccess ssh_credentials/.htaccess
?adit.conf ?file=../../adit/etc/adit.conf ?-s ?-c+/srv/homes/USER/adit/etc/adit.conf livez?/../../adit/etc/adit.conf
""".split()

# Paths of the host.
OUTSIDE = """
/adit/etc/adit.conf /adit/etc/adit.key /~USER/adit/etc/adit.conf /~USER/../adit/etc/adit.conf
/~USER/%2e%2e/adit/etc/adit.key /~USER/..%2fadit%2fetc%2fadit.conf /../adit/etc/adit.conf
/%2e%2e/adit/etc/adit.key /..%2fadit/etc/adit.conf /.%252e/adit/etc/adit.conf /.htaccess /adit
/srv/homes/USER/adit/etc/adit.conf /icons/../../../srv/homes/USER/adit/etc/adit.conf
/icons/.%2e/.%2e/.%2e/srv/homes/USER/adit/etc/adit.conf /icons/%2e%2e%2f%2e%2e%2f%2e%2e%2fsrv/homes/USER/adit/etc/adit.key
/icons/.%%32%65/.%%32%65/srv/homes/USER/adit/etc/adit.conf /cgi-bin/.%2e/.%2e/.%2e/srv/homes/USER/adit/etc/adit.key
/public_html/adit/adit.fcgi /adit.fcgi /bin/aditctl /libexec/adit/adit.fcgi
""".split()


def litter(site):
    """Leaves files in the web folder that users leave there by mistake."""
    etc = site.home + "/adit/etc"
    for name, source in (("adit.conf", etc + "/adit.conf"), ("adit.key", etc + "/adit.key"),
                         ("adit.conf~", etc + "/adit.conf"), (".htaccess~", site.htaccess),
                         (".htaccess.bak", site.htaccess),
                         ("adit.fcgi~", site.folder + "/adit.fcgi"),
                         ("adit.fcgi.bak", site.folder + "/adit.fcgi"),
                         (".adit.fcgi.swp", site.folder + "/adit.fcgi"),
                         ("dump.sql", site.home + "/adit/share/adit/sql/schema.sql")):
        shutil.copy(source, os.path.join(site.folder, name))
        os.chmod(os.path.join(site.folder, name), 0o644)
    os.makedirs(site.folder + "/etc", exist_ok=True)
    shutil.copy(etc + "/adit.conf", site.folder + "/etc")
    os.chmod(site.folder + "/etc/adit.conf", 0o644)


class Fetching:
    def targets(self):
        return [path.replace("USER", self.site.user) for path in
                [self.site.prefix + "/" + path for path in INSIDE] + OUTSIDE]

    def check_targets(self, targets, headers=(), allowed=()):
        self.assertGreater(len(targets), 50)
        secrets = [secret.encode() for secret in self.site.secrets() if secret not in allowed]
        for target in targets:
            with self.subTest(target):
                answer = self.site.fetch(target, headers=headers)
                # /livez with a query string answers 400.  No other target may succeed either.
                self.assertGreaterEqual(answer.status, 300, answer)
                for secret in secrets:
                    self.assertNotIn(secret, answer.body)
                    self.assertNotIn(secret.decode(), str(answer.headers))

    def test_nothing_can_be_fetched(self):
        litter(self.site)
        self.check_targets(self.targets())

    def test_not_with_a_key_either(self):
        headers = self.admin.headers("GET", None, self.site.key, "2", None)
        self.check_targets(self.targets(), headers)

    def test_the_folder_of_settings_is_the_users_alone(self):
        etc = self.site.home + "/adit/etc"
        self.assertEqual(os.stat(etc).st_mode & 0o777, 0o700)
        for name in ("adit.conf", "adit.key"):
            status = os.stat(os.path.join(etc, name))
            self.assertEqual((status.st_mode & 0o777, status.st_uid),
                             (0o600, pwd.getpwnam(self.site.user).pw_uid))


class FetchingFromAda(Fetching, host_case("ada")):
    pass


class FetchingFromBob(Fetching, host_case("bob")):
    pass


class FetchingFromCarl(Fetching, host_case("carl")):
    pass


# ---- processes ----

class Processes(host_case("ada")):
    @contextlib.contextmanager
    def busy(self):
        """Locks a table, so that requests wait, for 4 s at most.  Yields the function that ends
        the lock."""
        with subprocess.Popen(["psql", "-XqAt"], env=psql_env("ada"), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as psql:
            psql.stdin.write("BEGIN; LOCK adit.ssh_credential;\n\\echo locked\n")
            psql.stdin.flush()
            self.assertEqual(psql.stdout.readline(), "locked\n")
            yield psql.stdin.close  # ends psql, and so the lock

    def test_runs_as_the_user_with_nothing_but_its_place(self):
        self.assert_ok(self.admin.get(CREDENTIALS))
        self.assertEqual(set(self.site.follow("The first request (2)").stdout.split()), {"ada"})
        for pid in self.site.processes():
            environment = read("/proc/%d/environ" % pid).split("\0")
            self.assertLessEqual({entry.partition("=")[0] for entry in environment},
                                 {"PATH", "PWD", ""})
            self.assertEqual(os.readlink("/proc/%d/cwd" % pid), self.site.folder)
            self.assertTrue(os.readlink("/proc/%d/fd/0" % pid).startswith("socket:"))

    def ask_at_once(self):
        """Returns whether several processes run after six requests at once, which all succeed."""
        with self.busy() as go_on, concurrent.futures.ThreadPoolExecutor(6) as pool:
            asked = [pool.submit(self.admin.get, CREDENTIALS) for _ in range(6)]
            time.sleep(1.2)
            go_on()
            answered = [one.result() for one in asked]
        self.assertEqual({answer.status for answer in answered}, {200}, answered)
        return len(self.site.processes()) > 1

    def test_several_at_once_and_descriptors(self):
        # On a busy machine, mod_fcgid may start the second one only after the requests.
        until(self.ask_at_once, "several processes")
        # Processes inherit descriptors.  Their number must not grow with each request.
        def count():
            return {pid: len(os.listdir("/proc/%d/fd" % pid)) for pid in self.site.processes()}
        before = count()
        for _ in range(60):
            self.assert_ok(self.admin.get(CREDENTIALS))
        for pid, n in count().items():
            self.assertLessEqual(n, before.get(pid, n) + 1)

    def test_sigterm_loses_no_request(self):
        self.assert_ok(self.admin.get(CREDENTIALS))
        with self.busy() as go_on, concurrent.futures.ThreadPoolExecutor(2) as pool:
            asked = pool.submit(self.admin.get, CREDENTIALS)
            until(lambda: sql("SELECT count(*) FROM pg_locks WHERE NOT granted", "ada") != "0",
                  "the request waits")
            for pid in self.site.processes():
                os.kill(pid, signal.SIGTERM)
            go_on()
            self.assert_ok(asked.result())
        until(lambda: not self.site.processes(), "the processes have ended")
        self.assert_ok(self.admin.get(CREDENTIALS))

    def test_idle_ones_end_by_themselves(self):
        with another_host(idle_s=1):
            self.assert_ok(self.admin.get(CREDENTIALS))
            before = set(self.site.processes())
            self.assertTrue(before)
            until(lambda: not self.site.processes(), "idle processes have ended")
            # mod_fcgid logs this line if it has to kill a process.
            self.assertNotIn("graceful kill fail", read("/var/log/apache2/error.log"))
            self.assert_ok(self.admin.get(CREDENTIALS))

    def test_end_of_the_web_server_is_theirs(self):
        self.assert_ok(self.admin.get(CREDENTIALS))
        apache("stop")
        until(lambda: not self.site.processes(), "the processes have ended")
        apache("start")
        self.assert_ok(self.admin.get(CREDENTIALS))

    def test_graceful_restart(self):
        self.assert_ok(self.admin.get(CREDENTIALS))
        apache("graceful")
        self.assert_ok(self.admin.get(CREDENTIALS))

    def test_upgrade(self):
        self.assert_ok(self.admin.get(CREDENTIALS))
        before = set(self.site.processes())
        kept = read(self.site.home + "/adit/etc/adit.conf")
        self.site.follow("Upgrading")
        until(lambda: not before & set(self.site.processes()), "the old processes have ended")
        self.assertEqual(read(self.site.home + "/adit/etc/adit.conf"), kept)
        self.assert_ok(self.admin.get(CREDENTIALS))


# ---- other hosts ----

class OtherHosts(Fetching, Operations, host_case("bob")):
    """Hosts without mod_fcgid, and badly configured hosts, with tests of Fetching and
    Operations."""

    test_all = test_nothing_can_be_fetched = test_not_with_a_key_either = None
    test_the_folder_of_settings_is_the_users_alone = None

    def test_plain_cgi(self):
        with another_host(enable=["cgid"], disable=["fcgid"]):
            Operations.test_all(self)
            self.assert_error(self.nobody.get(CREDENTIALS), 200)
            until(lambda: not self.site.processes(), "all programs have ended")
            Fetching.test_nothing_can_be_fetched(self)

    def test_neither_cgi_nor_fastcgi(self):
        with another_host(disable=["fcgid"]):
            answer = self.site.fetch("/adit/adit.fcgi")
            check_server_answer(answer)
            self.assertEqual((answer.status, answer.code), (503, 9059))
            Fetching.test_nothing_can_be_fetched(self)

    def test_without_mod_headers(self):
        """Apache's own errors have the right text and a wrong Content-Type, as the page says."""
        body = b"x" * 65537
        with another_host(disable=["headers"]):
            answer = self.admin.send("POST", CREDENTIALS, [("Content-Length", str(len(body)))], body,
                                     is_held=False)
            self.assertEqual((answer.status, answer.code), (413, 9006))
            self.assertIn("text/html", answer.header("Content-Type"))
            self.assert_error(self.nobody.get(CREDENTIALS), 200)

    def test_htaccess_is_not_read(self):
        """Without .htaccess Apache serves files.  The script is readable, and shows only a path."""
        shutil.rmtree(self.site.folder)
        self.site.follow("The web folder")
        with another_host(disable=["fcgid"], bob="None"):
            answer = self.site.fetch("/adit/adit.fcgi")
            self.assertEqual((answer.status, answer.body.decode()), (
                200, "#!/bin/sh\nexec /srv/homes/bob/adit/libexec/adit/adit.fcgi\n"))
            self.check_targets([target for target in self.targets()
                                if not re.fullmatch(r"/adit/(livez/\.\./)?(adit\.fcgi)?(\?.*)?",
                                                    target)], allowed=("libexec",))
        self.assert_ok(self.admin.get(CREDENTIALS))


# ---- the page and the archive ----

class Page(host_case("ada")):
    def test_first_request(self):
        done = self.site.follow("The first request")
        self.assertIn('{"ssh_credentials":[', done.stdout)
        shown = re.search(r"(?m)^    (\{\"ssh_credentials.*)$", read(PAGE)).group(1)
        self.assertEqual(re.findall(r'"(\w+)":', shown), re.findall(r'"(\w+)":', done.stdout))

    def test_migrate_says_what_the_role_lacks(self):
        self.assertIn("may not create roles", self.site.migrated)
        self.assertNotIn("trouble", self.site.migrated)
        self.assertEqual(sql("SELECT count(*) FROM pg_roles WHERE rolname = 'adit_responder'"), "0")

    def test_a_second_role_of_the_hosters(self):
        sql("CREATE ROLE adit_responder; CREATE ROLE ada_web LOGIN PASSWORD 'of-ada-web';"
            "GRANT adit_responder TO ada, ada_web")
        try:
            self.assertNotIn("note", self.site.shell("~/adit/bin/aditctl migrate").stdout)
            done = self.site.shell(
                "umask 077; mkdir ~/adit/owner; sed -n '/^\\[database\\]/p; /^conninfo/p'"
                " ~/adit/etc/adit.conf >~/adit/owner/adit.conf;"
                " ~/adit/bin/aditctl -c ~/adit/owner/adit.conf migrate")
            self.assertNotIn("note", done.stdout)
            done = self.site.shell(
                "sed 's/user=ada password=[^ ]*/user=ada_web password=of-ada-web/'"
                " ~/adit/etc/adit.conf >~/adit/etc/web.conf; ~/adit/bin/aditctl -c"
                " ~/adit/etc/web.conf doctor")
            self.assertNotIn("note", done.stdout)
        finally:
            sql("DROP OWNED BY adit_responder", "ada")
            sql("DROP ROLE ada_web; DROP ROLE adit_responder")
            os.remove(self.site.home + "/adit/etc/web.conf")
            shutil.rmtree(self.site.home + "/adit/owner", ignore_errors=True)

    def test_errors_in_htaccess_are_those_of_the_catalogue(self):
        found = re.findall(r"(?m)^ErrorDocument (\d+) '(.*)'$",
                           read(os.path.join(stack.ROOT, "hosting", "htaccess")))
        table = read(covered.SOURCES + "/base/error_table.h")
        self.assertGreater(len(found), 5)
        for status, body in found:
            with self.subTest(status):
                error = json.loads(body)
                number = error["error_code"].removeprefix("ERR_SERVICE_")
                self.assertEqual((error["status_code"], error["details"]), (int(status), {}))
                self.assertRegex(table, r'ERROR\((\w+, *)?%s, %s, "%s"\)' % (
                    number, status, re.escape(error["msg"])))


class Archive(host_case("ada")):
    def test_members(self):
        lines = stack.run(["tar", "-tvJf", archive]).stdout.splitlines()
        names = {}
        for line in lines:
            mode, owner, _, _, _, name = line.split(None, 5)
            self.assertEqual(owner, "0/0")
            self.assertNotIn("w", mode[4:], line)
            names[name.partition("/")[2]] = mode
        for name in ("bin/aditctl", "libexec/adit/adit.fcgi", "share/adit/sql/schema.sql",
                     "share/adit/hosting/htaccess", "share/doc/adit/install/shared-hosting.md",
                     "etc/adit.conf.sample",
                     *["share/doc/adit/%s.copyright" % name for name in BUNDLED]):
            self.assertIn(name, names)
        self.assertNotIn("libexec/adit/adit-gate.fcgi", names)
        self.assertEqual(names["etc/"], "drwx------")
        self.assertEqual(sorted(name.partition(".so")[0].rpartition("/")[2] for name in names
                                if name.startswith("lib/adit/") and ".so" in name),
                         sorted(BUNDLED))

    def test_programs_find_their_libraries_by_their_own_place(self):
        for program, path in (("bin/aditctl", "$ORIGIN/../lib/adit"),
                              ("libexec/adit/adit.fcgi", "$ORIGIN/../../lib/adit")):
            with self.subTest(program):
                program = os.path.join(self.site.home, "adit", program)
                said = stack.run(["readelf", "-d", program]).stdout
                self.assertEqual(re.findall(r"R(?:UN)?PATH.*\[(.*)\]", said), [path])

    def test_everything_else_comes_with_apache(self):
        theirs = packages_of("apache2-bin")
        self.assertGreater(len(theirs), 20)
        said = stack.run(["ldd", self.site.home + "/adit/libexec/adit/adit.fcgi"]).stdout
        self.assertNotIn("not found", said)
        paths = re.findall(r"=> (/\S+)", said)
        self.assertEqual(len([path for path in paths if "/lib/adit/" in path]), len(BUNDLED))
        others = [os.path.realpath(path) for path in paths if "/lib/adit/" not in path]
        # dpkg lists a library below /lib or /usr/lib, which are the same folder.
        found = stack.run(["dpkg-query", "-S", *others,
                           *[path.removeprefix("/usr") for path in others]], check=False).stdout
        self.assertEqual(len(found.splitlines()), len(others))
        for line in found.splitlines():
            with self.subTest(line):
                self.assertIn(line.partition(":")[0], theirs)

    def test_runs_anywhere(self):
        self.site.shell("mkdir 'else where' && cp -a adit 'else where/x'")
        try:
            said = self.site.shell("'else where/x/bin/aditctl' doctor").stdout
            self.assertIn("/srv/homes/ada/else where/x/etc/adit.conf", said)
            self.assertIn("/srv/homes/ada/else where/x/etc/adit.key", said)
        finally:
            self.site.shell("rm -r 'else where'")

    def test_make_install_in_a_home(self):
        """'make install' finds its files like the archive, relative to the program."""
        stack.run(["make", "-C", stack.BUILD, "install", "prefix=%s/built" % HOMES])
        tree = HOMES + "/built"
        self.assertTrue(os.path.exists(tree + "/share/adit/hosting/htaccess"))
        os.mkdir(tree + "/etc")
        write(tree + "/etc/adit.conf", "")
        done = stack.run([tree + "/bin/aditctl", "secrets", "init"],
                         env=dict(stack.CLEAN_ENV, LD_LIBRARY_PATH=self.site.home + "/adit/lib/adit"))
        self.assertEqual(done.stdout, tree + "/etc/adit.key\n")

    def test_the_same_sources_give_the_same_bytes(self):
        env = dict(stack.CLEAN_ENV, SOURCE_DATE_EPOCH="1700000000", XZ_OPT="-0",
                   LD_LIBRARY_PATH=self.site.home + "/adit/lib/adit")
        sums = set()
        for _ in range(2):
            shutil.rmtree("/tmp/pack", ignore_errors=True)
            shutil.copytree(self.site.home + "/adit", "/tmp/pack", symlinks=True)
            shutil.rmtree("/tmp/pack/etc")
            stack.run([os.path.join(stack.ROOT, "hosting", "make-archive"),
                       os.path.join(stack.BUILD, "archive"), "/tmp/pack", "/tmp/packed"], env=env)
            sums.add(stack.run(["sha256sum", "/tmp/packed.tar.xz"]).stdout)
        self.assertEqual(len(sums), 1)


def packages_of(package):
    """A package and all its dependencies."""
    fields = stack.run(["dpkg-query", "-W", "-f", "${Package}\t${Depends}, ${Pre-Depends}\n"]).stdout
    depends = {}
    for line in fields.splitlines():
        name, _, rest = line.partition("\t")
        depends[name] = re.findall(r"(?:^|[,|] *)([a-z0-9][a-z0-9.+-]+)", rest)
    found, left = set(), [package]
    while left:
        name = left.pop()
        if name in depends and name not in found:
            found.add(name)
            left += depends[name]
    return found


class TheWholePage(unittest.TestCase):
    """Comes last, because the other tests mark the blocks that they follow."""

    def test_every_block_was_followed(self):
        self.assertGreaterEqual(len(BLOCKS), 7)
        self.assertEqual(set(BLOCKS) - used, set())
