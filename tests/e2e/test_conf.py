# SPDX-License-Identifier: MIT
"""Settings files and command lines that stop the start, with file, line and reason."""
import os
import shutil
import socket
import subprocess

from adit import stack
from adit.case import Case
from adit.programs import without_calls
from adit.reference import openapi

PROGRAM = os.path.join(stack.BUILD, "adit.fcgi")
SOCKET_CALL = {"x86_64": 41, "aarch64": 198}
KEY_LINE = "k1 " + "ab" * 32 + "\n"
NAMES = [name[-1] for name in openapi.PROVIDERS]


def conf_of_providers(*names):
    return "[service]\nproviders = %s\n" % " ".join(names)


class ConfCase(Case):
    def setUp(self):
        self.folder = stack.make_folder()
        self.addCleanup(shutil.rmtree, self.folder)
        self.conf = os.path.join(self.folder, "test.conf")
        self.write_key_file(KEY_LINE)

    def write(self, text, path=None):
        with open(path or self.conf, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())

    def write_key_file(self, text, mode=0o600):
        self.key_file = os.path.join(self.folder, "adit.key")
        self.write(text, self.key_file)
        os.chmod(self.key_file, mode)

    def start(self, *arguments, preexec_fn=None, **environment):
        """Runs the program as CGI without a request, so that it ends in any case."""
        return subprocess.run([PROGRAM, *arguments], stdin=subprocess.DEVNULL, timeout=60,
                              capture_output=True, text=True, preexec_fn=preexec_fn,
                              env={**stack.CLEAN_ENV, **environment})

    def assert_stops(self, says, *arguments, **options):
        done = self.start(*arguments or ("-c", self.conf), **options)
        self.assertEqual(done.returncode, 1, done)
        self.assertEqual(done.stdout, "")
        for part in says:
            self.assertIn(part, done.stderr)
        # At level debug the program also logs its confinement.
        said = [line for line in done.stderr.splitlines() if '"event":"confined"' not in line]
        self.assertEqual(len(said), 1, done.stderr)
        return done

    def assert_starts(self, *arguments, **environment):
        """The settings are good: the program gets as far as missing a CGI request."""
        self.assert_stops(["no CGI request"], *arguments, **environment)


class Files(ConfCase):
    GOOD = [
        ("empty", ""),
        ("comments", "; a comment\n# another\n\n[service]\n; name = x\n"),
        ("no line's end", "[service]\nname = x"),
        ("CRLF", "[service]\r\nname = x\r\n"),
        ("blanks", "[service]\n  name   =   x  \n"),
        ("a colon", "[service]\nname: x\n"),
        ("longest name", "[service]\nname = a" + "0" * 31 + "\n"),
        ("base URLs", "[service]\nbase_url = https://a.example:8443/b/c///\n"),
        ("an IPv6 base URL", "[service]\nbase_url = http://[::1]:80\n"),
        ("as many sessions as the machine bears", "[gateway]\nsessions =\n"),
        ("any number of sessions", "[gateway]\nsessions = 0\n"),
        ("no origins", "[service]\nallowed_origins =\n"),
        ("any origin", "[service]\nallowed_origins =  * \n"),
        ("origins", "[service]\nallowed_origins = https://a.example\thttp://[::1]:8080  "
         "http://localhost:3000\n"),
        ("the last port", "[service]\nbase_url = http://a:65535/b:c\n"),
        ("providers by tabs", conf_of_providers("a\tb", "", *NAMES[2:-2], "f_1", "g2")),
        ("each level", "[log]\nlevel = debug\ntarget = stderr\n"),
        ("a URI as conninfo", "[database]\nconninfo = postgresql://u@h/d?connect_timeout=3\n"),
        ("two hosts and TLS", "[database]\nconninfo = host=%s port=5432,5433 dbname=adit user=adit "
         "password=%s sslmode=verify-full sslrootcert=/srv/adit/etc/ca.pem "
         "target_session_attrs=read-write\n" % (",".join(["db.hosting.example"] * 2), "p" * 64)),
        ("lines of every length about the library's limit", "".join(
            ";%s\n[log]\n" % ("x" * n) for n in range(190, 210))),
        ("a long indented comment", "  # = %s\n[service]\nname = x\n" % ("x" * 400)),
        ("a comment after a long value", "[database]\nconninfo = password=%s \t; = nonsense\n"
         % ("p" * 300)),
        ("a semicolon in a long value", "[database]\nconninfo = password='%s;' port=1\n"
         % ("p" * 300)),
        ("blanks after a value", "[service]\nname = x%s\r\n" % (" " * 300)),
        ("blanks before a value", "[service]\nname =%sx\n" % (" " * 300)),
        ("nothing but blanks and a comment", "[service]\nbase_url = %s; x\n" % (" " * 300)),
        ("no time to drain", "[service]\ndrain = 0ms\n"),
        ("a distributed database", "[database]\ndistributed = yes\n"),
        ("routes without a module", "[gate]\nwithout_module = refuse\n"),
        ("rules are required", "[service]\nrequire_acl = yes\n"),
        ("keys name their account", "[service]\nrequire_account_in_key = yes\n"),
        ("a byte order mark in front", "\ufeff[service]\nname = x\n"),
        ("comments of characters that do not show", "; a\u00a0b\n[service]\nname = x ; c\u200bd\n"),
        ("the longest time to drain", "[service]\ndrain = 300s\n"),
        ("edges", "[mutual_tls]\nedges = a  b\t~c .d %s\nauthorities = /a b;c\noutput = /a/b.c+d_e-f\n"
         "reload = /bin/true a  b\nhaproxy = /%s\n" % ("e" * 247, "h" * 106)),
        ("no edges", "[mutual_tls]\nedges =\nreload =\nhaproxy =\n"),
        ("the longest line", "[service]\n;%s\n" % ("x" * 7998)),
    ]
    # Text, the wrong line, and parts of the reason.
    BAD = [
        ("unknown key", "[service]\nnmae = x\n", 2, ["nmae", "service"]),
        ("unknown section", "[services]\nname = x\n", 2, ["services"]),
        ("no section", "name = x\n", 1, ["name is above the first section; put it below [service]"]),
        ("no section, and no such setting", "nmae = x\n", 1,
         ["nmae is above the first section", "no section has a setting of that name"]),
        ("another section's", "[service]\nconninfo = dbname=adit\n", 2,
         ["unknown setting conninfo in section [service]; put it below [database]"]),
        ("no key", "[service]\nnonsense\n", 2, []),
        ("section not closed", "[service\nname = x\n", 1, []),
        ("twice", "[service]\nname = a\nname = b\n", 3, ["name", "twice"]),
        ("twice, in two sections", "[service]\nname = a\n[log]\nlevel=info\n[service]\nname = b\n",
         6, ["name", "twice"]),
        ("name empty", "[service]\nname =\n", 2, ["name", "lowercase"]),
        ("name in upper case", "[service]\nname = Service\n", 2, ["name"]),
        ("a value that is quoted", "[service]\nname = A\tb\xe4\n", 2,
         ["[service] name 'A?b??' must be 1 to 32 lowercase letters"]),
        ("a value that is not there", "[secrets]\nkey_file =\n", 2,
         ["[secrets] key_file '' must be the path of a file"]),
        ("a number that is quoted", "[service]\ndrain = 301s\n", 2,
         ["[service] drain '301s' must be a number with ms or s, at most 300s"]),
        ("a number that is none", "[gateway]\nsessions_of_key = -1\n", 2,
         ["[gateway] sessions_of_key '-1' must be a whole number up to 1000000; 0 is no limit"]),
        ("more sessions than there may be", "[gateway]\nsessions = 1000001\n", 2,
         ["[gateway] sessions '1000001' must be a whole number up to 1000000; 0 is no limit"]),
        ("name with a digit first", "[service]\nname = 1a\n", 2, ["name"]),
        ("name with a hyphen", "[service]\nname = a-b\n", 2, ["name"]),
        ("name with an umlaut", "[service]\nname = ä\n", 2, ["name"]),
        ("name too long", "[service]\nname = " + "a" * 33 + "\n", 2, ["name"]),
        ("two names", "[service]\nname = a b\n", 2, ["name"]),
        ("a provider too few", conf_of_providers(*NAMES[:-1]), 2,
         ["providers", "must be %d different" % len(NAMES)]),
        ("a provider too many", conf_of_providers(*NAMES, "x"), 2, ["providers"]),
        ("no providers", "[service]\nproviders =\n", 2, ["providers"]),
        ("the same provider twice", conf_of_providers(*NAMES[:-1], NAMES[0]), 2, ["different"]),
        ("a provider in upper case", conf_of_providers("A", *NAMES[1:]), 2, ["providers"]),
        ("a provider with a hyphen", conf_of_providers("a-a", *NAMES[1:]), 2, ["providers"]),
        ("a provider too long", conf_of_providers("a" * 33, *NAMES[1:]), 2, ["providers"]),
        ("commas", conf_of_providers(",".join(NAMES)), 2, ["providers"]),
        ("an origin with a path", "[service]\nallowed_origins = https://a.example/\n", 2,
         ["allowed_origins has the origin 'https://a.example/'", "path"]),
        ("an origin in upper case", "[service]\nallowed_origins = https://a https://B\n", 2,
         ["https://B", "lower case"]),
        ("an origin without a scheme", "[service]\nallowed_origins = a.example\n", 2, ["scheme"]),
        ("an origin with its default port", "[service]\nallowed_origins = https://a:443\n", 2,
         ["leave it out"]),
        ("a pattern of origins", "[service]\nallowed_origins = https://*.example\n", 2,
         ["https://*.example"]),
        ("any origin and one", "[service]\nallowed_origins = * https://a\n", 2, ["use * alone"]),
        ("one and any origin", "[service]\nallowed_origins = https://a *\n", 2, ["use * alone"]),
        ("another scheme", "\n\n[service]\nbase_url = ftp://a.example\n", 4, ["base_url"]),
        ("no scheme", "[service]\nbase_url = a.example\n", 2, ["base_url"]),
        ("no host", "[service]\nbase_url = https://\n", 2, ["base_url", "host"]),
        ("no host but a slash", "[service]\nbase_url = https:///\n", 2, ["base_url"]),
        ("a port alone", "[service]\nbase_url = https://:80\n", 2, ["base_url", "host"]),
        ("no port after a colon", "[service]\nbase_url = https://a:/b\n", 2, ["base_url", "port"]),
        ("port 0", "[service]\nbase_url = https://a:0\n", 2, ["base_url", "port"]),
        ("port 65536", "[service]\nbase_url = https://a:65536\n", 2, ["base_url", "port"]),
        ("a port of six digits", "[service]\nbase_url = https://a:100000/b\n", 2, ["port"]),
        ("a port of letters", "[service]\nbase_url = https://a:b\n", 2, ["base_url", "port"]),
        ("two ports", "[service]\nbase_url = https://a:1:2\n", 2, ["base_url", "port"]),
        ("a port of an IPv6 address", "[service]\nbase_url = https://[::1]:65536\n", 2, ["port"]),
        ("a space in it", "[service]\nbase_url = https://a b\n", 2, ["base_url"]),
        ("a query", "[service]\nbase_url = https://a/?x\n", 2, ["base_url"]),
        ("a fragment", "[service]\nbase_url = https://a/#x\n", 2, ["base_url"]),
        ("a quote", "[service]\nbase_url = https://a/\"x\n", 2, ["base_url"]),
        ("a user", "[service]\nbase_url = https://u:p@a/\n", 2, ["base_url"]),
        ("a drain without a unit", "[service]\ndrain = 10\n", 2, ["drain", "at most 300s"]),
        ("a drain too long", "[service]\ndrain = 301s\n", 2, ["drain", "at most 300s"]),
        ("conninfo no pairs", "[database]\nconninfo = nonsense\n", 2, ["conninfo"]),
        ("conninfo with an unknown word", "[database]\nconninfo = hots=x\n", 2, ["conninfo", "option", "hots"]),
        ("conninfo in quotes", "[database]\nconninfo = \"dbname=adit user=adit\"\n", 2,
         ["conninfo begins with a quote", "write the value without quotes"]),
        ("a long conninfo in quotes", "[database]\nconninfo = 'host=%s'\n" % ("h" * 300), 2,
         ["conninfo begins with a quote"]),
        ("a name in quotes", "[service]\nname = 'x'\n", 2, ["name begins with a quote"]),
        ("a route without a module", "[gate]\nwithout_module = no\n", 2,
         ["[gate] without_module 'no' must be pass or refuse"]),
        ("require_account_in_key", "[service]\nrequire_account_in_key = 1\n", 2,
         ["require_account_in_key '1' must be yes or no"]),
        ("require_acl", "[service]\nrequire_acl = on\n", 2, ["require_acl 'on' must be yes or no"]),
        ("a no-break space after a key", "[service]\nname\u00a0= x\n", 2,
         ["the line contains a no-break space (U+00A0), which does not show; remove it"]),
        ("a zero-width space in a value", "[service]\nname = x\u200b\n", 2,
         ["a zero-width space (U+200B)"]),
        ("a zero-width space in a long value", "[database]\nconninfo = %s\u200b\n" % ("x" * 300), 2,
         ["a zero-width space (U+200B)"]),
        ("a byte order mark on the second line", "[service]\n\ufeffname = x\n", 2,
         ["a byte order mark (U+FEFF)"]),
        ("distributed", "[database]\ndistributed = true\n", 2, ["distributed 'true' must be yes or no"]),
        ("admin_conninfo", "[database]\nadmin_conninfo = x y\n", 2, ["admin_conninfo"]),
        ("no key file", "[secrets]\nkey_file =\n", 2, ["key_file", "path"]),
        ("an edge with a slash", "[mutual_tls]\nedges = a b/c\n", 2, ["edges", "'b/c'"]),
        ("an edge of dots", "[mutual_tls]\nedges = ..\n", 2, ["edges", "reserved"]),
        ("an edge twice", "[mutual_tls]\nedges = a b a\n", 2, ["'a'", "twice"]),
        ("edges that differ in case", "[mutual_tls]\nedges = EDGE-1 b edge-1\n", 2,
         ["'EDGE-1'", "only in case"]),
        ("an account's name", "[gateway]\naccount = acme\n", 2, ["account", "ac_ and 27"]),
        ("a relative folder of metrics", "[gateway]\nmetrics = metrics\n", 2,
         ["metrics", "must be the absolute path of a folder"]),
        ("an edge too long", "[mutual_tls]\nedges = %s\n" % ("e" * 248), 2, ["edges", "247"]),
        ("edges with commas", "[mutual_tls]\nedges = a,b\n", 2, ["edges"]),
        ("authorities relative", "[mutual_tls]\nauthorities = x\n", 2, ["authorities"]),
        ("no output", "[mutual_tls]\noutput =\n", 2, ["output", "absolute"]),
        ("output with a blank", "[mutual_tls]\noutput = /a b\n", 2, ["output"]),
        ("output with a semicolon", "[mutual_tls]\noutput = /a;b\n", 2, ["output"]),
        ("output with a slash", "[mutual_tls]\noutput = /a/\n", 2, ["output"]),
        ("reload of a name", "[mutual_tls]\nreload = nginx -s reload\n", 2, ["reload"]),
        ("haproxy relative", "[mutual_tls]\nhaproxy = x\n", 2, ["haproxy"]),
        ("haproxy too long", "[mutual_tls]\nhaproxy = /%s\n" % ("h" * 107), 2, ["haproxy"]),
        ("level", "[log]\nlevel = verbose\n", 2, ["level", "debug"]),
        ("level in upper case", "[log]\nlevel = INFO\n", 2, ["level"]),
        ("target", "[log]\ntarget = /var/log/adit\n", 2, ["target", "syslog"]),
        ("a long line", "[service]\n; " + "x" * 8000 + "\nname = A\n", 2, ["longer", "8000"]),
        ("a long key", "[service]\n" + "x" * 300 + " = a\n", 2, ["key"]),
        ("a long section", "[" + "x" * 300 + "]\n", 1, ["section"]),
        ("a long section with a sign in it", "[x=" + "x" * 300 + "]\n", 1, []),
        ("a long line of nothing", "[service]\n" + "x" * 300 + "\n", 2, ["section"]),
        ("a long wrong value", "[service]\nname = " + "a" * 300 + "\n", 2,
         ["name '%s...' must" % ("a" * 60)]),
        ("words after a long value", "[database]\nconninfo = password=%s; nonsense\n" % ("p" * 300),
         2, ["conninfo"]),
        ("a long value twice", "[database]\n" + "conninfo = password=%s\n" % ("p" * 300) * 2, 3,
         ["twice"]),
        ("a value on two lines", "[database]\nconninfo = host=a\n  port=1\n", 3, ["indented"]),
        ("a long value on two lines", "[database]\nconninfo = host=a\n  password=%s\n"
         % ("p" * 300), 3, ["indented"]),
        ("a NUL", b"[service]\nname = x\0\n", 2, ["NUL"]),
        ("a NUL in a comment", b"; a\0b\n[service]\nname = x\n", 1, ["NUL"]),
        ("rubbish", b"\xff\xfe\x00\x01\n", 1, []),
    ]

    def test_good(self):
        def check(text):
            self.write(text)
            self.assert_starts("-c", self.conf)
        self.each(self.GOOD, check)

    def test_bad(self):
        def check(text, line, says):
            self.write(text)
            self.assert_stops(["%s:%d: " % (self.conf, line), *says])
        self.each(self.BAD, check)

    def test_secret_values_are_not_quoted(self):
        self.write("[database]\nconninfo = host=x password=s3cr3t nonsense\n")
        self.assertNotIn("s3cr3t", self.assert_stops([self.conf + ":2"]).stderr)
        self.write("[database]\nconinfo = password=s3cr3t\n")
        self.assertNotIn("s3cr3t", self.assert_stops([self.conf + ":2"]).stderr)

    def test_no_password_in_admin_conninfo(self):
        """The responder refuses it too, because it reads the same file as aditctl."""
        self.each([(value[:40], value) for value in (
            "host=h user=owner password=s3cr3t", "password='s3 cr3t' host=h",
            "host=h sslkey=k sslpassword=s3cr3t",
            "postgresql://owner:s3cr3t@h/adit", "postgres://h/adit?user=owner&password=s3cr3t",
            "host=h password=s3cr3t " + "application_name=" + "x" * 300)], self.check_password)

    def check_password(self, value):
        self.write("[database]\nconninfo = dbname=adit\nadmin_conninfo = %s\n" % value)
        done = self.assert_stops([self.conf + ":3: [database] admin_conninfo may not hold a password",
                                  "so a compromised worker could own the tables", "passfile=FILE",
                                  "service=NAME"])
        self.assertNotIn("cr3t", done.stderr)
        ctl = stack.run([os.path.join(stack.BUILD, "aditctl"), "-c", self.conf, "migrate"],
                        check=False)
        self.assertEqual((ctl.returncode, ctl.stdout), (1, ""))
        self.assertIn(":3: [database] admin_conninfo may not hold a password", ctl.stderr)
        self.assertNotIn("cr3t", ctl.stderr)

    def test_admin_conninfo_without_a_password(self):
        for value in ("", "host=h user=owner passfile=/root/pgpass", "service=adit-owner",
                      "postgresql://owner@h/adit?passfile=/root/pgpass", "host=h password="):
            with self.subTest(value):
                self.write("[database]\nconninfo = password=x\nadmin_conninfo = %s\n" % value)
                self.assert_starts("-c", self.conf)

    def test_not_a_file(self):
        """A device has no end, and a FIFO may never get a writer."""
        os.mkfifo(self.conf)
        for path in self.conf, "/dev/zero", "/dev/null":
            with self.subTest(path):
                self.assert_stops([path + ": is not a regular file"], "-c", path)

    def test_cannot_be_read(self):
        self.assert_stops([self.conf + ": ", "No such file"])
        os.mkdir(self.conf)
        self.assert_stops([self.conf])

    def test_where_it_is_looked_for(self):
        self.write("[service]\nname = WRONG\n")
        self.assert_stops([self.conf + ":2"], "--conf", self.conf)
        self.assert_stops([self.conf + ":2"], "--conf=" + self.conf)
        done = self.start(ADIT_CONF=self.conf)
        self.assertIn(self.conf + ":2", done.stderr)

    def test_the_option_wins_over_the_environment(self):
        self.write("[service]\nname = WRONG\n")
        self.write("", self.conf + "2")
        self.assert_starts("-c", self.conf + "2", ADIT_CONF=self.conf)

    def put(self, path, name=None):
        """Makes a file in the folder: the program, or a settings file with this wrong name."""
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if name:
            self.write("[service]\nname = %s\n" % name, path)
        else:
            shutil.copy(PROGRAM, path)
        return path

    def start_alone(self, program):
        """Starts the program without arguments or variables, as shared hosting does."""
        done = subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env={name: value for name, value in stack.CLEAN_ENV.items()
                                   if name.endswith("SAN_OPTIONS") or name == "GCOV_PREFIX"},
                              cwd="/", timeout=60)
        self.assertEqual(done.returncode, 1)
        return done.stderr

    def test_beside_the_program(self):
        program = self.put("any/adit.fcgi")
        conf = self.put("any/adit.conf", "WRONG")
        self.assertIn(conf + ":2", self.start_alone(program))

    def test_in_the_tree_of_the_program(self):
        for name, place in (("the responder", "libexec/adit/adit.fcgi"),
                            ("the tool", "bin/aditctl")):
            with self.subTest(name):
                program = self.put("%s/%s" % (name, place))
                self.put(os.path.dirname("%s/%s" % (name, place)) + "/adit.conf", "WRONG")
                conf = self.put(name + "/etc/adit.conf", "WRONG")
                self.assertIn(conf + ":2", self.start_alone(program))
                link = os.path.join(self.folder, "link-" + name)
                os.symlink(program, link)
                self.assertIn(conf + ":2", self.start_alone(link))

    def test_in_no_other_folder_above(self):
        """The program reads no other folder above it: in /tmp, any user could have made one."""
        for place in ("a/b/c/adit.fcgi", "a/xbin/adit.fcgi", "a/libexec/adit.fcgi", "a/adit/adit.fcgi"):
            with self.subTest(place):
                for above in ("etc", "a/etc", "a/b/etc", "a/b/c/etc", "a/adit/etc", "a/libexec/etc"):
                    self.put(above + "/adit.conf", "WRONG")
                self.assertNotIn(self.folder, self.start_alone(self.put(place)))

    def test_one_that_is_there_and_cannot_be_read_is_not_passed_over(self):
        program = self.put("bin/aditctl")
        os.symlink("adit.conf", os.path.join(os.path.dirname(self.put("etc/x", "WRONG")), "adit.conf"))
        self.assertIn(os.path.join(self.folder, "etc/adit.conf") + ": cannot be opened",
                      self.start_alone(program))

    def test_sample_is_a_settings_file(self):
        sample = self.start("--print-settings")
        self.assertEqual((sample.returncode, sample.stderr), (0, ""))
        self.write(sample.stdout)
        self.assert_starts("-c", self.conf)
        self.write(sample.stdout + "\n[gate]\nca_file = /etc/ssl/certs/ca-certificates.crt\n"
                   "\n[mutual_tls]\nedges = edge-1\n[service]\nname = pasted\n"
                   "[provider.provider_a]\nuser_url = https://github.example.com/user\n")
        self.assert_starts("-c", self.conf)

    def test_every_setting_of_the_sample_is_a_comment(self):
        lines = self.start("--print-settings").stdout.splitlines()
        self.assertEqual([line for line in lines if line[:1] not in ("", ";", "[")], [])

    def test_twice(self):
        """Names both lines, also for a section that has two headers."""
        self.write("[log]\nlevel = info\n\n[service]\nname = a\n[log]\nlevel = debug\n")
        done = self.start("-c", self.conf)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r":\d+: \[log\] level is set twice, in lines (\d+) and (\d+);"
                         " remove one of them")


class KeyFiles(ConfCase):
    def setUp(self):
        super().setUp()
        self.write("")

    GOOD = [
        ("one key", KEY_LINE),
        ("two keys", KEY_LINE + "k2 " + "cd" * 32 + "\n"),
        ("comments and empty lines", "# a comment\n\n" + KEY_LINE),
        ("upper case", KEY_LINE.replace("ab", "AB")),
        ("no line's end", KEY_LINE.strip()),
    ]
    BAD = [
        ("empty", "", ": "),
        ("comments alone", "# x\n", ": "),
        ("a short key", "k1 " + "ab" * 31 + "\n", ":1: "),
        ("a long key", "k1 " + "ab" * 33 + "\n", ":1: "),
        ("not hexadecimal", "k1 " + "zz" * 32 + "\n", ":1: "),
        ("no id", "ab" * 32 + "\n", ":1: "),
        ("no key", "k1\n", ":1: "),
        ("a bad id", "k/1 " + "ab" * 32 + "\n", ":1: "),
        ("the same id twice", KEY_LINE * 2, ":2: "),
        ("too many", "".join("k%d %s\n" % (i, "ab" * 32) for i in range(17)), ":17: "),
        ("trailing words", KEY_LINE.strip() + " x\n", ":1: "),
        ("blanks in hexadecimal", "k1 " + " ab" * 32 + "\n", ":1: "),
    ]

    def test_good(self):
        def check(text):
            self.write_key_file(text)
            self.assert_starts("-c", self.conf)
        self.each(self.GOOD, check)

    def test_bad(self):
        def check(text, where):
            self.write_key_file(text)
            done = self.assert_stops([self.key_file + where])
            self.assertNotIn("abababab", done.stderr)
        self.each(self.BAD, check)

    def test_missing(self):
        os.remove(self.key_file)
        self.assert_stops([self.key_file, "aditctl secrets init"])

    def test_open_to_others(self):
        for mode in (0o644, 0o604, 0o602, 0o666):
            with self.subTest(oct(mode)):
                self.write_key_file(KEY_LINE, mode)
                self.assert_stops([self.key_file, "others"])

    def test_open_to_the_group(self):
        """The web server's group may share the key file."""
        self.write_key_file(KEY_LINE, 0o640)
        self.assert_starts("-c", self.conf)

    def test_no_file(self):
        for make in os.mkdir, os.mkfifo:
            with self.subTest(make.__name__):
                path = os.path.join(self.folder, make.__name__)
                make(path)
                self.write("[secrets]\nkey_file = %s\n" % path)
                self.assert_stops([path + ": is not a file"])

    def test_other_place(self):
        self.write("[secrets]\nkey_file = elsewhere\n")
        self.assert_stops([os.path.join(self.folder, "elsewhere")])
        os.rename(self.key_file, os.path.join(self.folder, "elsewhere"))
        self.assert_starts("-c", self.conf)
        self.write("[secrets]\nkey_file = %s/elsewhere\n" % self.folder)
        self.assert_starts("-c", self.conf)


class CommandLine(ConfCase):
    def test_misuse(self):
        self.each([(" ".join(arguments), arguments) for arguments in (
            ["--nonsense"], ["-x"], ["argument"], ["-c"], ["--listen", "tcp:127.0.0.1:9000"],
            ["--listen", "/tmp/x"], ["--listen", "unix:"], ["--listen", "127.0.0.1:9000"],
            ["--workers", "0"], ["--workers", "x"], ["--workers", "-1"], ["--workers", "1x"],
            ["--workers", "100000"], ["--workers", ""], ["--mode", "x"], ["--mode", "999"],
            ["--mode", "10000"], ["--mode", ""])], self.check_misuse)

    def check_misuse(self, arguments):
        done = self.start(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("adit.fcgi", done.stderr)

    def test_help_and_version(self):
        for option, wanted in (("--help", "Usage: adit.fcgi"), ("-h", "--workers"),
                               ("--version", "adit.fcgi "), ("-V", "adit.fcgi ")):
            with self.subTest(option):
                done = self.start(option)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(wanted, done.stdout)

    def test_sockets(self):
        self.write("")
        taken = os.path.join(self.folder, "taken")
        self.write("", taken)
        for name, path in (("no folder", self.folder + "/no/sock"), ("a file", taken),
                           ("too long", self.folder + "/" + "x" * 200),
                           ("a folder", self.folder)):
            with self.subTest(name):
                self.assert_stops([path[:100]], "-c", self.conf, "--listen", "unix:" + path)
        self.assertTrue(os.path.exists(taken))
        with self.subTest("a socket with a listener"):
            used = os.path.join(self.stack.run_folder, "adit.sock")
            self.assert_stops([used, "in use"], "-c", self.conf, "--listen", "unix:" + used)
            self.assertEqual(self.nobody.get("/livez").status, 200)

    def test_sockets_in_use(self):
        """The program keeps an existing socket if it cannot find out whether someone listens."""
        path = os.path.join(self.folder, "sock")
        self.write("")
        rows = [("a full backlog", "in use", None),
                ("no socket can be made", "not implemented",
                 without_calls([SOCKET_CALL[os.uname().machine]]))]
        with socket.socket(socket.AF_UNIX) as listener, socket.socket(socket.AF_UNIX) as waiting:
            listener.bind(path)
            listener.listen(0)
            waiting.connect(path)
            for name, says, preexec_fn in rows:
                with self.subTest(name):
                    self.assert_stops([path, says], "-c", self.conf, "--listen", "unix:" + path,
                                      preexec_fn=preexec_fn)
                    self.assertTrue(os.path.exists(path))
        with self.subTest("another kind of socket"):
            datagrams = os.path.join(self.folder, "datagrams")
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
                receiver.bind(datagrams)
                self.assert_stops([datagrams], "-c", self.conf, "--listen", "unix:" + datagrams)
                self.assertTrue(os.path.exists(datagrams))

    def test_mode_of_the_socket(self):
        used = os.path.join(self.stack.run_folder, "adit.sock")
        self.assertEqual(os.stat(used).st_mode & 0o777, 0o660)
