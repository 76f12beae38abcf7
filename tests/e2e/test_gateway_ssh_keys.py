# SPDX-License-Identifier: MIT
"""Which keys log in, in which account, and which of several keys counts."""
import base64
import contextlib
import os
import shutil
import subprocess

from adit import stack
from adit.case import until
from adit.ssh_gateway import GatewayCase, have_ended, stay

NEEDS_ROOT = True

FORWARD_A = "localhost:9100:localhost:1"
FORWARD_B = "localhost:9200:localhost:1"
AT_A = ["127.0.0.1:9100", "[::1]:9100"]
AT_BOTH = ["127.0.0.1:9100", "127.0.0.1:9200", "[::1]:9100", "[::1]:9200"]
PKCS8_ED25519 = bytes.fromhex("302a300506032b6570032100")

# The comments that try to be more than a comment.
COMMENTS = ('permitlisten="*:*"', 'x" restrict,permitlisten="*:*', "command=touch cert-authority",
            "$(touch /tmp/x) `id` %u %f ${HOME}", "\u202e\u2028 \U0001f511 \u00fc",
            "-----BEGIN", "'; DROP TABLE adit.ssh_credential; --", "x" * 4000)


class KeysCase(GatewayCase):
    def opens(self, key, **options):
        """Logs in, asks for both forwards, and returns what listens then."""
        tunnel = self.gateway.tunnel(key, FORWARD_A, FORWARD_B, **options)
        self.assertTrue(tunnel.is_in(), tunnel.log())
        found = self.gateway.listeners()
        self.gateway.close_tunnels()
        return found

    def refused(self, key, **options):
        return self.gateway.tunnel(key, **options).was_refused()


class Keys(KeysCase):
    def test_unknown_key(self):
        self.assertTrue(self.refused(self.gateway.key()))

    def test_several_credentials_of_a_key(self):
        """Their rules are united, and an empty list permits everything."""
        key = self.new_key("bind:localhost:9100")
        self.assertEqual(self.opens(key), AT_A)
        second = self.credential(key, "bind:localhost:9200", "bind:k=v")
        self.assertEqual(self.opens(key), AT_BOTH)
        self.assert_ok(self.admin.patch(second, {"acl": ["bind:k=v"]}))
        self.assertEqual(self.opens(key), AT_A)
        self.assert_ok(self.admin.patch(second, {"acl": []}))
        self.assertEqual(self.opens(key), AT_BOTH)
        self.assert_ok(self.admin.delete(second), 204)
        self.assertEqual(self.opens(key), AT_A)

    def test_accounts_are_apart(self):
        """A login user asks for one account.  Grants of others never count."""
        others = self.stack.client(self.stack.other.admin.key)
        key = self.gateway.key()
        self.credential(key, client=others)
        self.assertTrue(self.refused(key))
        self.assertEqual(self.opens(key, user="other"), AT_BOTH)
        self.credential(key, "bind:localhost:9100")
        self.assertEqual(self.opens(key), AT_A)
        self.assertTrue(self.refused(self.new_key(), user="other"))

    def test_formats(self):
        """A key logs in, whatever format it was stored in."""
        rsa = self.gateway.key("-t", "rsa", "-b", "2048")
        ecdsa = self.gateway.key("-t", "ecdsa", "-b", "384")
        ed25519 = self.gateway.key()
        der = PKCS8_ED25519 + base64.b64decode(ed25519.blob)[-32:]
        pem = "-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n" % (
            base64.b64encode(der).decode())
        texts = [("ed25519 PKCS8", ed25519, pem)]
        for name, key, kinds in (("rsa", rsa, ("RFC4716", "PEM", "PKCS8")),
                                 ("ecdsa", ecdsa, ("RFC4716", "PKCS8")),
                                 ("ed25519", ed25519, ("RFC4716",))):
            texts += [("%s %s" % (name, kind), key, stack.run(
                ["ssh-keygen", "-e", "-m", kind, "-f", key.path + ".pub"]).stdout)
                for kind in kinds]
            texts.append((name + " line", key, key.public))
        self.each(texts, self.check_format)

    def check_format(self, key, text):
        path = self.credential(text, "bind:localhost:9100")
        self.assertEqual(self.opens(key), AT_A)
        self.assert_ok(self.admin.delete(path), 204)

    def test_hostile_comments(self):
        """A comment gives no right, and keeps nobody from logging in."""
        for comment in COMMENTS:
            with self.subTest(comment[:40]):
                key = self.gateway.key()
                self.credential("%s %s %s" % (key.type, key.blob, comment), "bind:localhost:9100")
                self.assertEqual(self.opens(key), AT_A)
        with self.subTest("RFC 4716"):
            key = self.gateway.key()
            lines = [key.blob[at:at + 70] for at in range(0, len(key.blob), 70)]
            self.credential("\n".join((
                "---- BEGIN SSH2 PUBLIC KEY ----", 'Comment: "x\\" permitlisten=\\"*:*\\""',
                "x-options: permitlisten=\\", '"*:*"', *lines, "---- END SSH2 PUBLIC KEY ----")),
                "bind:localhost:9100")
            self.assertEqual(self.opens(key), AT_A)

    def test_certificates(self):
        """sshd trusts no authority, so only the plain key logs in."""
        authority, key = self.new_key(), self.new_key("bind:localhost:9100")
        stack.run(["ssh-keygen", "-q", "-s", authority.path, "-I", "e2e", "-n", "tunnel", "-O",
                   "permit-port-forwarding", key.path + ".pub"])
        certificate = ("-o", "CertificateFile=%s-cert.pub" % key.path)
        only = (*certificate, "-o", "PubkeyAcceptedAlgorithms=ssh-ed25519-cert-v01@openssh.com")
        tunnel = self.gateway.tunnel(key, options=only)
        self.assertTrue(tunnel.was_refused())
        self.assertRegex(tunnel.log(), "Offering public key: .* ED25519-CERT SHA256:")
        self.assertEqual(self.opens(key, options=certificate), AT_A)

    @contextlib.contextmanager
    def agent(self, *keys):
        """The variable of an agent that holds these keys, in their order."""
        path = os.path.join(self.gateway.folder, "agent-%d" % next(self.gateway.numbers))
        with subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL) as keeper:
            try:
                env = {"SSH_AUTH_SOCK": path}
                until(lambda: stack.run(["ssh-add", "-l"], check=False, env=dict(
                    stack.CLEAN_ENV, **env)).returncode != 2, "the agent")  # 2: no connection
                for key in keys:
                    stack.run(["ssh-add", "-q", key.path], env=dict(stack.CLEAN_ENV, **env))
                yield env
            finally:
                keeper.terminate()

    def fingerprints(self):
        return [fingerprint for fingerprint, _, _ in self.gateway.sessions().values()]

    def test_agent_with_strange_keys(self):
        """A known key behind five strange ones logs in.  The sixth strange key ends the login."""
        strange = [self.gateway.key() for _ in range(6)]
        known = self.new_key("bind:localhost:9100")
        with self.agent(*strange[:5], known) as env:
            self.standing(self.gateway.tunnel(None, FORWARD_A, env=env))
            self.assertEqual(self.fingerprints(), [known.fingerprint])
            self.assertEqual(self.gateway.listeners(), AT_A)
            self.gateway.close_tunnels()
        with self.agent(*strange, known) as env:
            tunnel = self.gateway.tunnel(None, env=env)
            self.assertTrue(tunnel.was_refused())
            self.assertIn("Too many authentication failures", tunnel.log())

    def test_key_that_was_only_offered(self):
        """A client offers a known key that it cannot sign with, and logs in by another.  Only the
        second counts."""
        offered, used = self.gateway.key(), self.gateway.key()
        shutil.copy(offered.path + ".pub", offered.path + "-shown.pub")
        paths = [self.credential(offered), self.credential(used, "bind:localhost:9100")]
        tunnel = self.gateway.tunnel(
            None, FORWARD_A, FORWARD_B, options=(
                "-o", "IdentitiesOnly=yes", "-i", offered.path + "-shown.pub", "-i", used.path),
            env={"SSH_AUTH_SOCK": ""})
        self.assertTrue(tunnel.is_in())
        self.assertIn("Server accepts key: %s" % offered.path, tunnel.log())
        self.assertEqual(self.gateway.listeners(), AT_A)
        self.assertEqual(self.fingerprints(), [used.fingerprint])
        self.assert_ok(self.admin.delete(paths[0]), 204)
        self.assertTrue(stay(tunnel))
        self.assert_ok(self.admin.delete(paths[1]), 204)
        self.assertTrue(have_ended([tunnel]))

    def test_key_types(self):
        for bits in "256", "521":
            with self.subTest("ecdsa " + bits):
                key = self.gateway.key("-t", "ecdsa", "-b", bits)
                self.credential(key, "bind:localhost:9100")
                self.assertEqual(self.opens(key), AT_A)


class NoAccount(KeysCase):
    """The settings name no account, and there are several."""

    settings = {"account": ""}

    def test_login_names_an_account_or_is_refused(self):
        key = self.new_key()
        self.credential(key, client=self.stack.client(self.stack.other.admin.key))
        self.assertTrue(self.refused(key))
        self.assertEqual(self.opens(key, user="other"), AT_BOTH)
        self.assertIn("several accounts", self.gateway.log())
