# SPDX-License-Identifier: MIT
"""SSH credentials (section 5): keys, rules, owners, and changes."""
import shutil
import unittest

from adit import samples, stack
from adit.case import Case

CREDENTIALS = "/ssh_credentials"


class Create(Case):
    def test_all_members(self):
        body = samples.credential(description="d", metadata='{"a": 1}', acl=["bind:a.example"],
                                  owner_id=self.home.member.id)
        answer = self.admin.post(CREDENTIALS, body)
        made = self.assert_ok(answer, 201)
        for name, value in body.items():
            with self.subTest(name):
                self.assertEqual(made[name], value)
        self.assertEqual(made["uri"], "%s/ssh_credentials/%s" % (self.stack.url, made["id"]))
        self.assertEqual(self.admin.get(CREDENTIALS + "/" + made["id"]).json, made)

    def test_what_is_not_given(self):
        made = self.assert_ok(self.admin.post(CREDENTIALS, samples.credential()), 201)
        self.assertEqual((made["description"], made["metadata"], made["acl"], made["owner_id"]),
                         ("", "", [], self.home.admin.id))

    def test_empty_texts(self):
        made = self.assert_ok(self.admin.post(CREDENTIALS, samples.credential(
            description="", metadata="", acl=[])), 201)
        self.assertEqual((made["description"], made["metadata"], made["acl"]), ("", "", []))

    def test_same_key_many_times(self):
        """Each POST of the same key makes another credential."""
        made = {self.assert_ok(self.admin.post(CREDENTIALS, samples.credential()), 201)["id"]
                for _ in range(3)}
        self.assertEqual(len(made), 3)

    def test_nothing_is_stored_by_a_refused_one(self):
        before = self.stack.dump()
        for members in ({"public_key": "x"}, {"acl": ["x"]}, {"description": "x" * 256},
                        {"owner_id": samples.unknown_id("usr")}, {"x": 1}):
            self.assertEqual(self.admin.post(CREDENTIALS, samples.credential(**members)).status,
                             400)
        self.assertEqual(self.stack.dump(), before)


class PublicKeys(Case):
    def fingerprints(self):
        """{id: (type, fingerprint)} of all credentials."""
        rows = self.stack.psql("SELECT id, key_type, fingerprint FROM adit.ssh_credential")
        return {row.split("|")[0]: tuple(row.split("|")[1:]) for row in rows.splitlines()}

    def test_accepted(self):
        made = {}

        def check(text, kind, fingerprint):
            answer = self.assert_ok(self.admin.post(CREDENTIALS, samples.credential(
                public_key=text)), 201)
            self.assertEqual(answer["public_key"], text)
            self.assertEqual(self.admin.get(CREDENTIALS + "/" + answer["id"]).json["public_key"],
                             text)
            made[answer["id"]] = kind, fingerprint
        self.each(samples.accepted_keys(), check)
        stored = self.fingerprints()
        self.assertEqual({ident: stored[ident] for ident in made}, made)

    def test_refused(self):
        def check(text, reason):
            answer = self.admin.post(CREDENTIALS, samples.credential(public_key=text))
            if len(text.encode()) > 16384:
                self.assert_error(answer, 9026, "public_key")
            elif not text:
                self.assert_error(answer, 611, "public_key")
            else:
                error = self.assert_error(answer, 612, "public_key")
                self.assertEqual(error["msg"].count("public_key"), 1, error)
                self.assertGreater(len(error["msg"]), 20)
                self.assertIn(reason.strip(), error["msg"])
        # One key of a kind: the unit tests read all of them.
        rows = {row[0].partition("/")[0]: row for row in samples.refused_keys()}
        self.each(rows.values(), check)

    def test_byte_for_byte(self):
        key = samples.ED25519

        def check(text):
            made = self.assert_ok(self.admin.post(CREDENTIALS, samples.credential(
                public_key=text)), 201)
            stored = self.admin.get(CREDENTIALS + "/" + made["id"]).json
            self.assertEqual((made["public_key"], stored["public_key"]), (text, text))
            self.assertEqual(self.fingerprints()[made["id"]],
                             ("ssh-ed25519", samples.ED25519_FINGERPRINT))
        self.each([
            ("alone", key),
            ("a trailing newline", key + "\n"),
            ("two trailing newlines", key + "\n\n"),
            ("a trailing carriage return", key + "\r\n"),
            ("a newline in front", "\n" + key),
            ("blanks around", " \t" + key + " \t"),
            ("a comment", key + " me@host"),
            ("a comment in UTF-8", key + " Größe \U0001F511"),
            ("a comment and a newline", key + " me@host\n"),
        ], check)

    def test_missing(self):
        self.each([("absent", {}), ("null", {"public_key": None}), ("empty", {"public_key": ""})],
                  lambda body: self.assert_error(self.admin.post(CREDENTIALS, body), 611,
                                                 "public_key"))

    def test_length(self):
        room = 16384 - len(samples.ED25519) - 1
        made = self.assert_ok(self.admin.post(CREDENTIALS, samples.credential(
            public_key=samples.ED25519 + " " + "x" * room)), 201)
        self.assertEqual(len(made["public_key"]), 16384)
        self.assert_error(self.admin.post(CREDENTIALS, samples.credential(
            public_key=samples.ED25519 + " " + "x" * (room + 1))), 9026, "public_key")

    def test_only_white_space(self):
        self.assert_error(self.admin.post(CREDENTIALS, {"public_key": " \n"}), 612, "public_key")

    @unittest.skipUnless(shutil.which("ssh-keygen"), "no ssh-keygen")
    def test_as_ssh_keygen_makes_them(self):
        for options in (["-t", "ed25519"], ["-t", "rsa", "-b", "2048"],
                        ["-t", "ecdsa", "-b", "256"], ["-t", "ecdsa", "-b", "384"],
                        ["-t", "ecdsa", "-b", "521"]):
            with self.subTest(" ".join(options)):
                private, public = samples.generate(*options)
                made = self.assert_ok(self.admin.post(CREDENTIALS, samples.credential(
                    public_key=public)), 201)
                self.assertEqual(made["public_key"], public)
                error = self.assert_error(self.admin.post(CREDENTIALS, samples.credential(
                    public_key=private)), 612, "public_key", "private")
                self.assertNotIn(private.splitlines()[1], error["msg"])


class Acl(Case):
    """Edge cases.  The unit tests cover the whole grammar."""

    GOOD = [
        "*", "bind:*", "bind:example.com", "bind:*.example.com", "bind:EXAMPLE.com",
        "bind:_acme.example.com", "bind:1.2.3.4", "bind:1.2.3.4:80", "bind:[::1]:443",
        "bind:example.com:1", "bind:example.com:65535", "bind:key=value", "bind:*=value",
        "bind:key=*", "bind:*=*", "bind:k:80=v", "bind:" + "k" * 255 + "=" + "v" * 255,
        "bind:" + ".".join(["a" * 63] * 3 + ["b" * 61]), "bind:x", "bind:*.a",
    ]
    BAD = [
        "", "x", "bind", "bind:", "Bind:example.com", "bind: example.com", " bind:example.com",
        "bind:example.com ", "bind:example.com.", "bind:.example.com", "bind:a..b",
        "bind:-a.example", "bind:a-.example", "bind:*example.com", "bind:a.*.example",
        "bind:*.*.example", "bind:*.", "bind:**", "bind:exa_mple.com", "bind:ä.example",
        "bind:" + "a" * 64, "bind:" + ".".join(["a" * 63] * 4), "bind:example.com:0",
        "bind:example.com:65536", "bind:example.com:080", "bind:example.com:+80",
        "bind:example.com:", "bind::80", "bind:*.example.com:80", "bind:*:80", "bind:1.2.3:80",
        "bind:1.2.3.256:80", "bind:01.2.3.4:80", "bind:::1:80", "bind:[::1]", "bind:[::g]:80",
        "bind:[1.2.3.4]:80", "bind:=", "bind:=v", "bind:k=", "bind:k=v=w", "bind:k =v",
        "bind:k=a,b", "bind:k*=v", "bind:k=v*", "bind:" + "k" * 256 + "=v", "bind:k=ü",
        "bind:k=a\x7f", "listen:example.com", "deny:*", "**", "* ", "bind:a\n", "bind:a/b",
        "bind:9000",
    ]

    def test_good(self):
        self.each([(rule[:40], rule) for rule in self.GOOD], lambda rule: self.assertEqual(
            self.assert_ok(self.admin.post(CREDENTIALS, samples.credential(acl=[rule])),
                           201)["acl"], [rule]))

    def test_bad(self):
        def check(rule):
            error = self.assert_error(self.admin.post(CREDENTIALS, samples.credential(
                acl=["*", rule])), 600, "acl[1]")
            if 0 < len(rule) < 40:
                self.assertIn(rule, error["msg"])
        self.each([(repr(rule[:40]), rule) for rule in self.BAD], check)

    def test_order_and_repetition_are_kept(self):
        rules = ["bind:b.example", "*", "bind:a.example", "bind:b.example", "bind:B.example"]
        made = self.assert_ok(self.admin.post(CREDENTIALS, samples.credential(acl=rules)), 201)
        self.assertEqual(made["acl"], rules)
        self.assertEqual(self.admin.get(CREDENTIALS + "/" + made["id"]).json["acl"], rules)


class Owners(Case):
    def test_default(self):
        for name, client, person in (("admin", self.admin, self.home.admin),
                                     ("member", self.member, self.home.member),
                                     ("bot", self.bot, self.home.bot)):
            for body in ({}, {"owner_id": None}, {"owner_id": person.id}):
                with self.subTest("%s %s" % (name, body)):
                    made = self.assert_ok(client.post(CREDENTIALS, samples.credential(**body)), 201)
                    self.assertEqual(made["owner_id"], person.id)

    def test_admin_names_anybody_of_the_account(self):
        for person in (self.home.member, self.home.bot, self.home.admin):
            with self.subTest(person.id):
                made = self.assert_ok(self.admin.post(CREDENTIALS, samples.credential(
                    owner_id=person.id)), 201)
                self.assertEqual(made["owner_id"], person.id)

    def test_a_bot_may_be_admin(self):
        robot = self.home.person("bot", "--admin")
        made = self.assert_ok(self.stack.client(robot.key).post(CREDENTIALS, samples.credential(
            owner_id=self.home.member.id)), 201)
        self.assertEqual(made["owner_id"], self.home.member.id)

    def test_others_name_nobody_else(self):
        stranger = self.stack.account().admin.id
        for name, client in (("member", self.member), ("bot", self.bot)):
            for other in (self.home.admin.id, samples.unknown_id("usr"), "x", stranger):
                with self.subTest("%s names %s" % (name, other)):
                    self.assert_error(client.post(CREDENTIALS, samples.credential(
                        owner_id=other)), 630, "owner_id")

    def test_admin_names_nobody(self):
        stranger = self.stack.account().admin.id
        answers = []
        for name, other in (("unknown user", samples.unknown_id("usr")),
                            ("unknown bot", samples.unknown_id("bot")), ("no such form", "x"),
                            ("another account's user", stranger),
                            ("its own account", self.home.id),
                            ("another case", self.home.member.id.upper())):
            with self.subTest(name):
                error = self.assert_error(self.admin.post(CREDENTIALS, samples.credential(
                    owner_id=other)), 9011, "owner_id")
                answers.append(error["msg"].replace(other, ""))
        self.assertEqual(len(set(answers)), 1)

    def test_who_stops_being_admin(self):
        person = self.home.person("user", "--admin")
        client = self.stack.client(person.key)
        body = samples.credential(owner_id=self.home.member.id)
        self.assert_ok(client.post(CREDENTIALS, body), 201)
        self.stack.psql("UPDATE adit.principal SET is_admin = false WHERE id = '%s'" % person.id)
        self.assert_error(client.post(CREDENTIALS, body), 630)

    def test_all_of_the_account_may_change_and_delete(self):
        made = self.admin.post(CREDENTIALS, samples.credential()).json
        path = CREDENTIALS + "/" + made["id"]
        for name, client in (("member", self.member), ("bot", self.bot)):
            with self.subTest(name):
                self.assertEqual(self.assert_ok(client.get(path))["owner_id"], self.home.admin.id)
                changed = self.assert_ok(client.patch(path, {"description": name}))
                self.assertEqual((changed["description"], changed["owner_id"]),
                                 (name, self.home.admin.id))
        self.assert_ok(self.bot.delete(path), 204)
        self.assert_error(self.admin.get(path), 9002)


class Change(Case):
    FULL = {"description": "d", "metadata": "m", "acl": ["bind:a.example", "*"]}

    def setUp(self):
        self.made = self.admin.post(CREDENTIALS, samples.credential(**self.FULL)).json
        self.path = CREDENTIALS + "/" + self.made["id"]

    def test_members(self):
        for body in ({}, {"description": "new"}, {"metadata": "new"}, {"acl": ["bind:k=v"]},
                     {"description": ""}, {"metadata": ""}, {"acl": []},
                     {"description": None}, {"metadata": None}, {"acl": None},
                     {"description": None, "metadata": None, "acl": None, "id": None},
                     {"description": "a", "metadata": None, "acl": []},
                     {"description": "", "metadata": "", "acl": []},
                     {"public_key": None}, {"owner_id": None}, {"id": "its own"},
                     {"id": "its own", "description": "x"}):
            with self.subTest(str(body)):
                self.setUp()
                if body.get("id"):
                    body["id"] = self.made["id"]
                given = {name: value for name, value in body.items() if value is not None}
                changed = self.assert_ok(self.admin.patch(self.path, body))
                self.assertEqual(changed, {**self.made, **given})
                self.assertEqual(self.admin.get(self.path).json, changed)

    def test_refused(self):
        for body, number, field in (
                ({"public_key": samples.ED25519}, 9014, "public_key"),
                ({"public_key": ""}, 9014, "public_key"),
                ({"public_key": 1}, 9014, "public_key"),
                ({"owner_id": self.home.admin.id}, 9015, "owner_id"),
                ({"owner_id": self.home.member.id}, 9015, "owner_id"),
                ({"owner_id": ""}, 9015, "owner_id"),
                ({"id": "other"}, 9013, "id"),
                ({"id": ""}, 9013, "id"),
                ({"id": self.made["id"].lower()}, 9013, "id"),
                ({"acl": ["x"]}, 600, "acl[0]"),
                ({"description": "x" * 256}, 604, "description"),
                ({"metadata": "x" * 4097}, 605, "metadata"),
                ({"description": "new", "x": 1}, 214, "x"),
                ({"description": "new", "acl": ["x"]}, 600, "acl[0]")):
            with self.subTest(str(body)[:60]):
                self.assert_error(self.admin.patch(self.path, body), number, field)
                self.assertEqual(self.admin.get(self.path).json, self.made)

    def test_id_may_be_encoded_in_the_path(self):
        encoded = CREDENTIALS + "/%73" + self.made["id"][1:]
        changed = self.assert_ok(self.admin.patch(encoded, {"id": self.made["id"],
                                                            "description": "x"}))
        self.assertEqual(changed["description"], "x")

    def test_of_nothing(self):
        for body in ({}, {"description": "x"}):
            self.assert_error(self.admin.patch(CREDENTIALS + "/" + samples.unknown_id(), body),
                              9002)


class Delete(Case):
    def test_once(self):
        made = self.admin.post(CREDENTIALS, samples.credential()).json
        path = CREDENTIALS + "/" + made["id"]
        self.assert_ok(self.admin.delete(path), 204)
        for method, body in (("DELETE", None), ("GET", None), ("PATCH", {})):
            with self.subTest(method):
                self.assert_error(self.admin.call(method, path, body), 9002)
        self.assertNotIn(made["id"], [row["id"] for row in
                                      self.admin.get(CREDENTIALS).json["ssh_credentials"]])

    def test_leaves_the_others(self):
        first, second = (self.admin.post(CREDENTIALS, samples.credential()).json for _ in "12")
        self.assert_ok(self.admin.delete(CREDENTIALS + "/" + first["id"]), 204)
        self.assertEqual(self.assert_ok(self.admin.get(CREDENTIALS + "/" + second["id"])), second)


class OnePerKey(Case):
    """The optional index that permits one credential for each public key and account."""

    stack_name = "unique"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(stack.ROOT + "/sql/optional/unique_public_keys.sql",
                  encoding="utf-8") as file:
            cls.stack.psql(file.read())

    def test_second_is_refused(self):
        rows = {name: (text, fingerprint) for name, text, _, fingerprint in
                samples.accepted_keys() if name.startswith("ed25519.")}
        self.assert_ok(self.admin.post(CREDENTIALS, {"public_key": rows["ed25519.line"][0]}), 201)
        same = [name for name in rows if rows[name][1] == rows["ed25519.line"][1]]
        self.assertGreater(len(same), 5)
        for name in same:
            with self.subTest(name):
                error = self.assert_error(self.admin.post(
                    CREDENTIALS, {"public_key": rows[name][0]}), 609)
                self.assertNotIn("SHA256", error["msg"])

    def test_violation_of_another_index(self):
        """The violation of an operator's own index is no conflict of public keys."""
        self.stack.psql("CREATE UNIQUE INDEX of_the_operator ON adit.ssh_credential (account_id, metadata)"
                        " WHERE metadata = 'once'")
        self.addCleanup(self.stack.psql, "DROP INDEX adit.of_the_operator")
        client = self.stack.client(self.stack.account().admin.key)
        rows = [text for name, text, _, _ in samples.accepted_keys() if name.endswith(".line")]
        bodies = [{"public_key": key, "metadata": "once"} for key in rows[:2]]
        self.assert_ok(client.post(CREDENTIALS, bodies[0]), 201)
        self.assert_error(client.post(CREDENTIALS, bodies[1]), 10000)

    def test_other_accounts_may(self):
        key = samples.ED25519
        other = self.stack.client(self.stack.account().admin.key)
        self.assert_ok(self.admin.post(CREDENTIALS, {"public_key": key}), 201)
        self.assert_ok(other.post(CREDENTIALS, {"public_key": key}), 201)
        self.assert_error(other.post(CREDENTIALS, {"public_key": key}), 609)

    def test_again_after_a_deletion(self):
        client = self.stack.client(self.stack.account().admin.key)
        body = {"public_key": samples.ED25519}
        made = self.assert_ok(client.post(CREDENTIALS, body), 201)
        self.assert_ok(client.delete(CREDENTIALS + "/" + made["id"]), 204)
        self.assert_ok(client.post(CREDENTIALS, body), 201)

    def test_permission_comes_first(self):
        client = self.stack.account()
        body = samples.credential()
        self.assert_ok(self.stack.client(client.admin.key).post(CREDENTIALS, body), 201)
        self.assert_error(self.stack.client(client.member.key).post(
            CREDENTIALS, samples.credential(owner_id=client.admin.id)), 630)
        self.assert_error(self.stack.client(client.read_only_key).post(CREDENTIALS, body), 9005)
