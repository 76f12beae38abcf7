# SPDX-License-Identifier: MIT
"""Filters, compared with two implementations of CEL.

More of them, and others:
    ADIT_FILTERS=20000 ADIT_SEED=7 tests/e2e/run test_filter_oracle
"""
import datetime
import os
import random
import re
import urllib.parse

from adit import filters, samples
from adit.case import Case

CREDENTIALS = "/ssh_credentials"

N_ROWS = 55
N_FILTERS = int(os.environ.get("ADIT_FILTERS", "400"))
SEED = int(os.environ.get("ADIT_SEED", "16"))

# Times that are far from now, some of them between two seconds.
FAR = ("0002-01-01T00:00:00Z", "1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00Z",
       "2024-02-29T12:00:00.000001Z", "2024-02-29T12:00:01Z", "2038-01-19T03:14:08.5Z",
       "9998-12-31T23:59:59Z")

# The differences that are meant, as parts of messages, and why.
REFUSED_BY_ADIT = (
    (r"is not supported", "a form that Adit has not"),
    (r"expected a string in quotes: a list holds|expected ',' or '\]'", "lists of strings alone"),
    (r"expected a string, found", "an empty list of the other may be of anything"),
    (r"expected a time such as|in the years 1 to 9999", "the other reads times with less care"),
    (r"expected a duration", "the other reads those alone that it needs"),
    (r"U\+0000", "PostgreSQL has no such character"),
    (r"needs more than 64 bits", "the other does not check"),
    (r"expected '\)', found ','", "the other takes a comma there"),
    (r"function \w+\(\) is unknown|has no members", "the other knows more"),
    (r"than 64 operators|than 16 levels|than 4096 bytes", "limits"),
)
REFUSED_BY_STRICT = (
    (r"overload: (list<\w+> [!=]= string|string [!=]= list<\w+>)", 'an empty list equals ""'),
    (r"list<null>", "null in a list is the empty string"),
    (r"overload: .* [<>]=? bool", "the other lets < bind tighter than =="),
)

TEXTS = ("", "", "", "a", "b", "A", "ab", "a%", "a_b", "\\", "it's", 'say "a"', "é", "ß€", "a😀",
         "null", "rack 7", " a ", "{}", "$1", "'; --", "`")


class Oracle(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.account = cls.stack.account()
        cls.client = cls.stack.client(cls.account.admin.key)
        cls.random = random.Random(SEED)
        keys = [text for _, text, _, _ in samples.accepted_keys()]
        owners = [cls.account.admin.id, cls.account.member.id, cls.account.bot.id]
        idents = []
        for i in range(N_ROWS):
            rules = cls.random.sample(["*", "bind:*", "bind:a", "bind:A.example", "bind:a=B",
                                       "bind:*=a", "bind:a:22"], cls.random.choice((0, 0, 1, 2, 5)))
            made = cls.client.post(CREDENTIALS, {
                "public_key": keys[i % len(keys)], "description": cls.random.choice(TEXTS),
                "metadata": cls.random.choice(TEXTS) * cls.random.choice((1, 1, 2)),
                "acl": rules, "owner_id": cls.random.choice(owners),
                "enabled": cls.random.random() < 0.6})
            assert made.status == 201, made
            idents.append(made.json["id"])
        cls.stack.psql("".join(cls.move(ident, i) for i, ident in enumerate(idents)))
        cls.now = datetime.datetime.now(datetime.timezone.utc).isoformat()
        cls.rows = cls.read_rows(cls.client.get(CREDENTIALS + "?limit=100"))

    @classmethod
    def move(cls, ident, i):
        """SQL that gives most credentials another time: half an hour from those of filters."""
        if i % 3 == 0:
            return ""
        made_at = "'%s'" % FAR[i % len(FAR)] if i % 3 == 1 else \
            "now() - interval '30 minutes' - interval '1 hour' * %d" % (i * 2)
        return "UPDATE adit.ssh_credential SET created_at = %s WHERE id = '%s';\n" % (made_at, ident)

    @classmethod
    def read_rows(cls, page):
        """The rows as the API shows them, and the two members that it does not show."""
        rows = page.json["ssh_credentials"]
        assert len(rows) == N_ROWS, page
        hidden = {}
        for line in cls.stack.psql("SELECT id, fingerprint, key_type FROM adit.ssh_credential"
                                   ).splitlines():
            ident, fingerprint, key_type = line.split("|")
            hidden[ident] = {"fingerprint": fingerprint, "key_type": key_type}
        return [{name: {**row, **hidden[row["id"]]}[name] for name in filters.TYPES}
                for row in rows]

    def ask(self, text):
        return self.client.get("%s?limit=100&filter=%s" % (CREDENTIALS, urllib.parse.quote(text)),
                               is_held=False)

    def judged(self, texts):
        return filters.judge(self.rows, self.now, texts)

    def test_same_rows(self):
        """Random filters are true for the same rows."""
        generator = filters.Generator(SEED, self.rows)
        texts = [generator.short_filter() for _ in range(N_FILTERS)]
        n_pairs = n_true = 0
        for text, (refused, matches) in zip(texts, self.judged(texts)):
            self.assertIsNone(refused, text)
            page = self.assert_ok(self.ask(text[0]))
            found = {row["id"] for row in page["ssh_credentials"]}
            for matched in matches:
                self.assertEqual(found, {self.rows[number]["id"] for number in matched},
                                 "seed %d: %s" % (SEED, text[0]))
            n_pairs += len(self.rows)
            n_true += len(found)
        self.assertGreaterEqual(n_pairs, 20000)
        self.assertTrue(n_pairs / 10 < n_true < n_pairs * 9 / 10, n_true)

    def test_same_refusals(self):
        """Texts that are hardly filters are refused, or not, as by the strict implementation.  They
        are the same in each run."""
        fixed = {"id": "sshcr_1", "owner_id": "usr_1", "created_at": "2026-01-01T00:00:00Z"}
        generator = filters.Generator(SEED, [{**row, **fixed} for row in self.rows])
        texts = [filters.broken(generator, generator.short_filter(200)[0])
                 for _ in range(N_FILTERS)]
        n_differences = 0
        for text, (refused, _) in zip(texts, self.judged(texts)):
            answer = self.ask(text[0])
            self.assertIn((answer.status, answer.code), ((200, None), (400, 250)), text[0])
            said = answer.json["msg"] if answer.status == 400 else None
            if (said is None) == (refused is None):
                continue
            n_differences += 1
            self.assertTrue(
                any(re.search(pattern, said or refused) for pattern, _ in
                    (REFUSED_BY_ADIT if said else REFUSED_BY_STRICT)),
                "seed %d: %r: Adit says: %s; the other: %s" % (SEED, text[0], said, refused))
        self.assertLess(n_differences, len(texts) / 20)
