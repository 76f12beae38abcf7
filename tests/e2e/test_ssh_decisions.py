# SPDX-License-Identifier: MIT
"""Decisions about SSH keys, and the keys of gateways that may ask for nothing else."""
import itertools
import threading

from adit import cases, covered, samples
from adit.case import Case, without_operation_id

CREDENTIALS = "/ssh_credentials"
DECISIONS = "/ssh_decisions"
NOTHING = {"permitted": False, "credentials": [], "acl": [], "rule": None}
STRANGE = "SHA256:" + "A" * 43


def match_cases():
    """(whether it is permitted, rules, target) of some cases that JSON can carry.  model/acl and
    model/ssh_decision of the unit tests have all."""
    for row in itertools.islice(cases.read("acl_match.cases"), 0, None, 8):
        rules, _, target = row.input.decode().partition("-> ")
        if b"\0" not in row.input:
            yield row.expected == "permit", rules.split(), target


class DecisionCase(Case):
    def setUp(self):
        # An account of its own, so that each test sees its own credentials only.
        self.account = self.stack.account()
        self.client = self.stack.client(self.account.admin.key)
        self.gateway = self.stack.client(self.account.gateway_key)

    def make(self, *acl, client=None, **members):
        """Creates a credential.  Returns its Ref with the owner."""
        made = self.assert_ok((client or self.client).post(CREDENTIALS, samples.credential(
            acl=list(acl), **members)), 201)
        return {"id": made["id"], "uri": made["uri"], "owner_id": made["owner_id"]}

    def decide(self, target=None, fingerprint=samples.ED25519_FINGERPRINT, client=None, **members):
        body = {"fingerprint": fingerprint, "target": target, **members}
        return self.assert_ok((client or self.gateway).post(DECISIONS, body))


class Decisions(DecisionCase):
    def test_no_credential(self):
        self.assertEqual(self.decide(), NOTHING)
        self.assertEqual(self.decide("a.example"), NOTHING)

    def test_login(self):
        ref = self.make("bind:a.example", "bind:k=v")
        self.assertEqual(self.decide(), {
            "permitted": True, "credentials": [ref], "acl": ["bind:a.example", "bind:k=v"],
            "rule": None})
        self.assertEqual(self.decide(fingerprint=STRANGE), NOTHING)

    def test_target(self):
        ref = self.make("bind:*.a.example", "bind:localhost:9000", "bind:env=*")
        acl = ["bind:*.a.example", "bind:localhost:9000", "bind:env=*"]
        for target, rule in (("x.A.example", acl[0]), ("LOCALHOST:9000", acl[1]),
                             ("env=staging", acl[2]), ("*.b.a.example", acl[0]),
                             ("a.example", None), ("localhost:9001", None), ("ENV=staging", None)):
            with self.subTest(target):
                self.assertEqual(self.decide(target), {
                    "permitted": rule is not None, "credentials": [ref], "acl": acl, "rule": rule})

    def test_everything(self):
        """No rule, * and bind:* permit everything.  The united rules are then *."""
        for acl in ((), ("*",), ("bind:*",), ("bind:a.example", "bind:*")):
            with self.subTest(str(acl)):
                ref = self.make(*acl)
                for target in (None, "a.example", "[::1]:65535", "k=v", "*.example"):
                    self.assertEqual(self.decide(target), {
                        "permitted": True, "credentials": [ref], "acl": ["*"],
                        "rule": "*" if target else None})
                self.assert_ok(self.client.delete(CREDENTIALS + "/" + ref["id"]), 204)

    def test_paused(self):
        """It is as if it were not there, and comes back as it was."""
        ref = self.make("bind:a.example", enabled=False)
        path = CREDENTIALS + "/" + ref["id"]
        self.assertEqual(self.decide("a.example"), NOTHING)
        self.assertEqual(self.decide(), NOTHING)
        done = self.stack.ctl_run("permits", "-a", self.account.id, samples.ED25519_FINGERPRINT, "a.example")
        self.assertEqual((done.returncode, "1 more does not count: paused" in done.stdout), (1, True), done)
        self.assertNotIn(ref["id"], self.stack.ctl("who", "a.example", "-a", self.account.id))
        other = self.make("bind:b.example")
        self.assertEqual(self.decide("b.example")["credentials"], [other])
        self.assertEqual(self.decide("a.example")["permitted"], False)
        self.assertEqual(self.assert_ok(self.client.patch(path, {"enabled": True}))["enabled"], True)
        self.assertEqual(self.decide("a.example")["rule"], "bind:a.example")
        self.assert_ok(self.client.patch(path, {"enabled": None, "description": "the same"}))
        self.assertEqual(self.decide("a.example")["rule"], "bind:a.example")
        self.assert_ok(self.client.patch(path, {"enabled": False}))
        self.assertEqual(self.decide()["credentials"], [other])

    def test_several_credentials(self):
        """Grants add up, in the order of the identifiers, whoever owns them."""
        member = self.stack.client(self.account.member.key)
        one = self.make("bind:b.example", "bind:a.example", "bind:b.example")
        two = self.make("bind:a.example", "bind:c.example:22", client=member)
        refs = sorted([one, two], key=lambda ref: ref["id"])
        self.assertEqual({ref["owner_id"] for ref in refs},
                         {self.account.admin.id, self.account.member.id})
        acl = ["bind:b.example", "bind:a.example", "bind:c.example:22"] if refs[0] == one else \
            ["bind:a.example", "bind:c.example:22", "bind:b.example"]
        for target, rule in (("a.example", acl[acl.index("bind:a.example")]),
                             ("b.example", "bind:b.example"),
                             ("c.example:22", "bind:c.example:22"), ("d.example", None)):
            self.assertEqual(self.decide(target), {
                "permitted": rule is not None, "credentials": refs, "acl": acl, "rule": rule})
        three = self.make()
        self.assertEqual(self.decide("d.example"), {
            "permitted": True, "credentials": sorted([*refs, three], key=lambda ref: ref["id"]),
            "acl": ["*"], "rule": "*"})

    def test_changes_count_at_once(self):
        ref = self.make("bind:a.example")
        path = CREDENTIALS + "/" + ref["id"]
        for acl, permitted in ((["bind:b.example"], False), ([], True), (["bind:k=v"], False),
                               (["bind:*.example"], True)):
            self.assert_ok(self.client.patch(path, {"acl": acl}))
            self.assertEqual(self.decide("a.example")["permitted"], permitted)
        self.assert_ok(self.client.delete(path), 204)
        self.assertEqual(self.decide("a.example"), NOTHING)

    def test_rules_and_targets(self):
        """Cases of the unit tests, over HTTP.  A malformed target is refused."""
        ref, seen = self.make(), {True: 0, False: 0, "malformed": 0}
        before = None
        for permitted, rules, target in match_cases():
            if rules != before:
                answer = self.client.patch(CREDENTIALS + "/" + ref["id"], {"acl": rules})
                if answer.code == 600:
                    continue  # cases of rules that nobody can store
                self.assert_ok(answer)
                before = rules
            with self.subTest("%s -> %s" % (rules, target)):
                answer = self.gateway.post(DECISIONS, {
                    "fingerprint": samples.ED25519_FINGERPRINT, "target": target})
                if answer.code == 9075:
                    self.assertTrue(not permitted or not rules or rules[-1] in ("*", "bind:*"))
                    seen["malformed"] += 1
                    continue
                found = self.assert_ok(answer)
                self.assertEqual(found["permitted"], permitted)
                self.assertEqual(found["rule"] is not None, permitted)
                self.assertIn(found["rule"], [*rules, "*", None])
                seen[permitted] += 1
        self.assertGreater(min(seen.values()), 3, seen)

    def test_forms_of_a_key(self):
        """Every form of a key has the same credentials, asked for in any form."""
        by_fingerprint = {}
        for name, text, _, fingerprint in samples.accepted_keys():
            ref = self.make("bind:a.example", public_key=text)
            by_fingerprint.setdefault(fingerprint, ([], []))
            by_fingerprint[fingerprint][0].append(ref)
            by_fingerprint[fingerprint][1].append((name, text))
        self.assertGreater(max(len(refs) for refs, _ in by_fingerprint.values()), 8)
        for fingerprint, (refs, texts) in by_fingerprint.items():
            wanted = self.decide("a.example", fingerprint)
            self.assertEqual(wanted["credentials"], sorted(refs, key=lambda ref: ref["id"]))
            for name, text in texts:
                with self.subTest(name):
                    self.assertEqual(self.decide("a.example", None, public_key=text), wanted)

    def test_every_key_of_the_account_may_ask(self):
        self.make("bind:a.example")
        wanted = self.decide("a.example")
        for name, key in (("admin", self.account.admin.key), ("member", self.account.member.key),
                          ("bot", self.account.bot.key), ("read-only", self.account.read_only_key)):
            with self.subTest(name):
                self.assertEqual(self.decide("a.example", client=self.stack.client(key)), wanted)

    def test_other_accounts(self):
        """Their credentials with the same key are never seen: the answer is that of an unknown
        key, byte for byte."""
        other = self.stack.account()
        self.make(client=self.stack.client(other.admin.key))
        answers = [self.gateway.post(DECISIONS, {"fingerprint": fingerprint, "target": "a.example"})
                   for fingerprint in (samples.ED25519_FINGERPRINT, STRANGE)]
        self.assertEqual(answers[0].json, NOTHING)
        self.assertEqual(*map(without_operation_id, answers))
        mine = self.make("bind:b.example")
        self.assertEqual(self.decide("a.example")["credentials"], [mine])
        theirs = self.decide("a.example", client=self.stack.client(other.gateway_key))
        self.assertNotIn(mine, theirs["credentials"])
        self.assertTrue(theirs["permitted"])

    def test_leaves_nothing(self):
        self.make()
        before = self.stack.dump()
        self.decide("a.example")
        self.gateway.post(DECISIONS, {"fingerprint": STRANGE}, more=[("Idempotency-Key", "k")])
        self.assertEqual(self.stack.dump(), before)

    def test_methods(self):
        for method in ("GET", "HEAD", "PUT", "PATCH", "DELETE"):
            with self.subTest(method):
                answer = self.gateway.call(method, DECISIONS)
                self.assertEqual((answer.status, answer.allow), (405, ["OPTIONS", "POST"]))


class Limits(DecisionCase):
    def fill(self, n, rules):
        """Inserts n credentials; rules is SQL, which may depend on i.  An account may have had more
        of a key than it may make now."""
        self.stack.psql(
            "DELETE FROM adit.ssh_credential WHERE account_id = '%s';"
            "ALTER TABLE adit.ssh_credential DISABLE TRIGGER limit_public_key; INSERT INTO"
            " adit.ssh_credential (account_id, id, owner_id, key_type, fingerprint, public_key, acl)"
            " SELECT '%s', 'sshcr_' || lpad(i::text, 27, '0'), '%s', 'ssh-ed25519', '%s', 'k', %s"
            " FROM generate_series(1, %d) AS i;"
            "ALTER TABLE adit.ssh_credential ENABLE TRIGGER limit_public_key" % (
                self.account.id, self.account.id, self.account.admin.id,
                samples.ED25519_FINGERPRINT, rules, n))

    def ask(self):
        return self.gateway.post(DECISIONS, {"fingerprint": samples.ED25519_FINGERPRINT})

    def test_numbers(self):
        """More than 8 credentials are read in another way than fewer."""
        for n in (8, 9, 1000):
            self.fill(n, "array['bind:a' || i]")
            found = self.assert_ok(self.ask())
            self.assertEqual([ref["id"] for ref in found["credentials"]],
                             ["sshcr_%027d" % i for i in range(1, n + 1)])
            self.assertEqual(found["acl"], ["bind:a%d" % i for i in range(1, n + 1)])

    def test_too_many(self):
        for name, n, rules, status in (
                ("credentials", 1001, "'{}'", 409),
                ("rules at the limit", 8,
                 "array(SELECT 'bind:a' || i || '.' || j FROM generate_series(1, 512) AS j)", 200),
                ("rules", 9,
                 "array(SELECT 'bind:a' || i || '.' || j FROM generate_series(1, 456) AS j)", 409),
                ("bytes", 8, "array(SELECT 'bind:k=' || repeat(i::text, 245) || j FROM"
                 " generate_series(1000, 1199) AS j)", 409),
                ("equal rules", 1000,
                 "array(SELECT 'bind:a' || j FROM generate_series(1, 16) AS j)", 200),
                ("too many equal rules", 1000,
                 "array(SELECT 'bind:a' || j FROM generate_series(1, 17) AS j)", 409)):
            with self.subTest(name):
                self.fill(n, rules)
                answer = self.ask()
                self.assertEqual(answer.status, status, answer)
                if status == 409:
                    self.assert_error(answer, 9076)

    def test_another_owner_with_too_much(self):
        """Whoever stores somebody else's key with too much is left out, and decides nothing."""
        own = self.stack.client(self.account.own_key)
        for name, n, rules in (
                ("rules for sshd", 5,
                 "array(SELECT 'bind:a' || i || '.' || j FROM generate_series(1, 999) AS j)"),
                ("rules", 20, "array(SELECT 'bind:a' || j FROM generate_series(1, 999) AS j)"),
                ("credentials", 1100, "'{}'")):
            with self.subTest(name):
                self.fill(n, rules)
                self.assert_error(self.ask(), 9076)
                self.stack.psql("ALTER TABLE adit.ssh_credential DISABLE TRIGGER limit_public_key")
                try:
                    ref = self.make("bind:b.example", client=own)
                finally:
                    self.stack.psql(
                        "ALTER TABLE adit.ssh_credential ENABLE TRIGGER limit_public_key")
                for target, permitted in (("b.example", True), ("a1.1", False)):
                    self.assertEqual(self.decide(target), {
                        "permitted": permitted, "credentials": [ref], "acl": ["bind:b.example"],
                        "rule": "bind:b.example" if permitted else None})
                self.assert_ok(self.client.delete(CREDENTIALS + "/" + ref["id"]), 204)
                self.assert_error(self.ask(), 9076)

    def test_another_owner_who_comes_later(self):
        """Whoever stores somebody else's key, with a little less than that has, is left out."""
        own = self.stack.client(self.account.member.key)
        self.fill(4, "array(SELECT 'bind:a' || i || '.' || j FROM generate_series(1, 1000) AS j)")
        for name in "bcd":
            self.make(*("bind:%s%d" % (name, i) for i in range(1000)), client=own)
        found = self.assert_ok(self.ask())
        self.assertEqual([ref["id"] for ref in found["credentials"]],
                         ["sshcr_%027d" % i for i in range(1, 5)])
        self.assertEqual(len(found["acl"]), 4000)

    def test_many_at_once(self):
        """Questions about many credentials, beside those about one, on every session."""
        self.fill(200, "array['bind:a' || i]")
        one = self.make("bind:one.example", public_key=samples.generate("-t", "ed25519")[1])
        public_key = self.client.get(CREDENTIALS + "/" + one["id"]).json["public_key"]
        found, faults = [], []

        def run(body, n_wanted):
            try:
                for _ in range(20):
                    answer = self.assert_ok(self.gateway.post(DECISIONS, body))
                    found.append(len(answer["credentials"]) == n_wanted)
            except AssertionError as fault:
                faults.append(fault)
        threads = [threading.Thread(target=run, args=row) for row in (
            ({"fingerprint": samples.ED25519_FINGERPRINT}, 200), ({"public_key": public_key}, 1),
        ) * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((faults, found), ([], [True] * 160))


class Refused(DecisionCase):
    def test_bodies(self):
        key = samples.ED25519_FINGERPRINT
        rows = (
            ("nothing", {}, 9072, "fingerprint"),
            ("nulls", {"fingerprint": None, "public_key": None}, 9072, "fingerprint"),
            ("a target alone", {"target": "a.example"}, 9072, "fingerprint"),
            ("both", {"fingerprint": key, "public_key": samples.ED25519}, 9073, "public_key"),
            ("an empty fingerprint", {"fingerprint": ""}, 9074, "fingerprint"),
            ("MD5", {"fingerprint": "MD5:" + ":".join(["00"] * 16)}, 9074, "fingerprint"),
            ("padding", {"fingerprint": key + "="}, 9074, "fingerprint"),
            ("without a prefix", {"fingerprint": key[7:]}, 9074, "fingerprint"),
            ("SQL", {"fingerprint": "SHA256:' OR true --" + "A" * 31}, 9074, "fingerprint"),
            ("a number", {"fingerprint": 1}, 215, "fingerprint"),
            ("an empty public key", {"public_key": ""}, 611, "public_key"),
            ("no public key", {"public_key": "x"}, 612, "public_key"),
            ("a long public key", {"public_key": "x" * 16385}, 9026, "public_key"),
            ("an empty target", {"fingerprint": key, "target": ""}, 9075, "target"),
            ("everything", {"fingerprint": key, "target": "*"}, 9075, "target"),
            ("port 0", {"fingerprint": key, "target": "localhost:0"}, 9075, "target"),
            ("a list", {"fingerprint": key, "target": ["a"]}, 215, "target"),
            ("an account", {"fingerprint": key, "account_id": self.account.id}, 214, "account_id"),
            ("an unknown null", {"fingerprint": key, "acl": None}, 214, "acl"),
        )
        before = self.stack.dump()
        self.each(rows, lambda body, number, field: self.assert_error(
            self.gateway.post(DECISIONS, body), number, field))
        self.assertEqual(self.stack.dump(), before)

    def test_messages(self):
        """They say what is accepted."""
        for body, says in (
                ({}, ["Neither", "one of them"]),
                ({"fingerprint": STRANGE, "public_key": samples.ED25519}, ["Both", "one of them"]),
                ({"fingerprint": "x"}, ["'SHA256:' and 43", "ssh-keygen -l"]),
                ({"fingerprint": STRANGE, "target": "a:b:1"},
                 ["'a:b:1'", "in brackets", "'<domain>'", "'<host>:<port>'", "'<key>=<value>'"]),
                ({"fingerprint": STRANGE, "target": "bind:a.example"}, ["leave 'bind:' out"])):
            with self.subTest(str(body)):
                answer = self.gateway.post(DECISIONS, body)
                for part in says:
                    self.assertIn(part, answer.json["msg"])
                self.assertNotIn("A rule is", answer.json["msg"])

    def test_private_key(self):
        """It is refused as on POST /ssh_credentials, and is in no answer and no log."""
        private, _ = samples.generate("-t", "ed25519")
        secret = private.splitlines()[2]
        body = {"public_key": private}
        answers = [self.client.post(path, body) for path in (CREDENTIALS, DECISIONS)]
        for answer in answers:
            self.assert_error(answer, 612, "public_key", ["private"])
        self.assertEqual(answers[0].json["msg"], answers[1].json["msg"])
        answers.append(self.client.post(DECISIONS, {"fingerprint": private}))
        self.assert_error(answers[2], 9074, "fingerprint")
        for answer in answers:
            self.assertNotIn(secret.encode(), answer.body)
            self.assertNotIn(private.splitlines()[1].encode(), answer.body)
        for name, log in self.stack.logs().items():
            self.assertNotIn(secret.encode(), log, name)

    def test_hostile(self):
        """Texts of other kinds: an answer of the interface, and never a fault of the service."""
        for text in ("%", "_", "'", "\\", "\x7f", "\u0001", "{}", "a" * 60000, "\U0001F511",
                     "../../etc/passwd", "a\nb", "SHA256:" + "\u00e9" * 43, "-----BEGIN"):
            for body in ({"fingerprint": text}, {"public_key": text},
                         {"fingerprint": STRANGE, "target": text}):
                with self.subTest(repr(body)[:80]):
                    self.assertEqual(self.gateway.post(DECISIONS, body).status, 400)
        for data in (b"", b"{", b"[]", b"null", b'{"fingerprint":"\\ud800"}',
                     b'{"fingerprint":"\xff"}', b'{"fingerprint":"a\\u0000"}',
                     b'{"target":"a","target":"b"}', b"[" * 64):
            with self.subTest(repr(data)):
                self.assertEqual(self.gateway.post(DECISIONS, data).status, 400)


class GatewayKeys(DecisionCase):
    def test_may_do_nothing_else(self):
        """On every route, whether the resource exists or not.  Nothing changes."""
        ref = self.make()
        self.assert_ok(self.client.put("/edges/https/e/routes/r/oauth", {}))
        self.assert_ok(self.client.put("/edges/tls/e/mutual_tls", {}))
        before = self.stack.dump()
        bodies = {"POST": samples.credential(), "PUT": {}, "PATCH": {}}
        n_refused = 0
        for method, path in covered.route_table:
            for ident in (ref["id"], "e", "x", "a%20b"):
                target = path.replace("{id}", ident).replace("{edge_id}", "e")
                with self.subTest("%s %s" % (method, target)):
                    answer = self.gateway.call(method, target, {
                        DECISIONS: {"fingerprint": STRANGE}, "/oauth_admissions": {},
                    }.get(path, bodies.get(method)))
                    if path in (DECISIONS, "/livez", "/readyz", "/metrics"):
                        self.assertEqual(answer.status, 200, answer)
                    else:
                        self.assert_error(answer, 9071, says="POST /ssh_decisions")
                        n_refused += 1
        self.assertEqual(n_refused, 4 * 17)
        self.assertEqual(self.stack.dump(), before)

    def test_is_no_key_for_secrets(self):
        """Not even after a full key of the same account has used the same session."""
        path = "/edges/https/e/routes/secret/oauth"
        self.assert_ok(self.client.put(path, {"provider": {"provider_a": {
            "client_id": "i", "client_secret": "s"}}}))
        for _ in range(8):
            self.assert_ok(self.client.get(path))
            self.assert_error(self.gateway.get(path), 9071)
            self.assert_error(self.gateway.put(path, {"provider": {"provider_a": {
                "client_id": "i", "client_secret": "t"}}}), 9071)

    def test_with_an_idempotency_key(self):
        """It gets no answer that its User's full key has got."""
        more = [("Idempotency-Key", "k")]
        self.assert_ok(self.client.post(CREDENTIALS, samples.credential(), more=more), 201)
        for key in ("k", "other"):
            self.assert_error(self.gateway.post(CREDENTIALS, samples.credential(), more=[
                ("Idempotency-Key", key)]), 9071)

    def test_input_before_permission(self):
        for method, target, body, number in (
                ("POST", CREDENTIALS, b"{", 213), ("POST", CREDENTIALS, {"x": 1}, 214),
                ("GET", CREDENTIALS + "?x=1", None, 231)):
            with self.subTest("%s %s" % (method, target)):
                self.assert_error(self.gateway.call(method, target, body), number)

    def test_expires_and_is_revoked(self):
        key = self.account.admin.issue("--gateway", "--expires", "1h")
        client = self.stack.client(key)
        self.assertEqual(self.decide(client=client), NOTHING)
        for change in ("expires_at = now()", "expires_at = NULL, revoked_at = now()"):
            self.stack.psql("UPDATE adit.api_key SET %s WHERE digest = sha256('%s'::bytea)"
                            % (change, key))
            self.assert_error(client.post(DECISIONS, {"fingerprint": STRANGE}), 203)

    def test_stays_read_only_for_earlier_versions(self):
        """They know the column read_only alone."""
        done = self.stack.psql_run("UPDATE adit.api_key SET read_only = false"
                                   " WHERE scope = 'gateway'")
        self.assertIn("api_key_gateway_reads", done.stderr)
