# SPDX-License-Identifier: MIT
"""The console on screens of all sizes and in both languages: nothing is cut, and all is there."""
import json

from adit import samples
from adit.console import HOSTILE, SIZES, ConsoleCase

SCREENS = {"phone": (360, 640, True), "wide": (1920, 1080, False)}
WIDTHS = (360, 700, 1024, 1280, 1920)

# Texts that the console itself wrote, and the facts of a row, have room.  So has the chosen option.
CUT = """(() => {
    const names = "h1, h2, button, a.button, nav a, legend, label, dt, th, td, p, li, [role=columnheader], .cell, .cell a, code";
    // What only screen readers get has one pixel.
    const isSeen = (one) => one.getClientRects().length > 0 && !one.closest(".skip") &&
        (one.closest(".head")?.clientWidth ?? 9) > 1;
    const isCut = (one) => {
        const style = getComputedStyle(one);
        const hides = style.overflowX !== "visible" || style.overflowY !== "visible";
        return style.display !== "inline" && (one.scrollWidth > one.clientWidth + 1 ||
            (hides && one.scrollHeight > one.clientHeight + 1));
    };
    // A row cuts what does not fit into it.
    const isOutside = (one) => {
        const [own, row] = [one, one.closest(".body .row")].map((each) => each?.getBoundingClientRect());
        return row && (own.top < row.top - 1 || own.bottom > row.bottom + 1);
    };
    const pen = document.createElement("canvas").getContext("2d");
    const isChoiceCut = (one) => {
        const style = getComputedStyle(one);
        pen.font = style.font;
        return pen.measureText(one.selectedOptions[0]?.text ?? "").width + parseFloat(style.paddingLeft) + 20 >
            one.clientWidth;
    };
    const found = [...document.querySelectorAll(names)].filter((one) => isSeen(one) && (isCut(one) || isOutside(one)));
    const choices = [...document.querySelectorAll("select")].filter((one) => isSeen(one) && isChoiceCut(one));
    return [...found, ...choices].map((one) =>
        one.tagName + "." + one.className + " in ." + one.parentElement.className + ": " + one.innerText.slice(0, 80));
})()"""

# What stands in the cells of a table, by its row and column.  Cells that cannot be seen are not there.
FACTS = """Object.fromEntries([...document.querySelectorAll(".table .body .row")].flatMap((row) =>
    [...row.querySelectorAll(".cell")].filter((cell) => cell.getClientRects().length > 0).map((cell) =>
        [row.ariaRowIndex + " " + cell.className, cell.innerText.replace(/\\s+/g, " ")])))"""


# 255 bytes each, or almost: emoji, a text from right to left, and marks above one letter.
LONG = {"hostile": HOSTILE, "emoji": "\U0001f600" * 63 + "abc", "right-to-left": "\u05d0" * 127,
        "marks": "e" + "\u0301" * 127}


class Hostile(ConsoleCase):
    """Texts that break pages, in every member of everything that is shown."""

    def test_every_view(self):
        self.each([(name, name, text) for name, text in LONG.items()], self.check_text)

    def check_text(self, name, text):
        account = self.stack.account("hostile")
        client = self.stack.client(account.admin.key)
        quoted, short = ("$text$%s$text$" % one for one in (
            text, text.encode()[:100].decode(errors="ignore")))
        made = self.assert_ok(client.post("/ssh_credentials", {
            "public_key": samples.ED25519 + " " + text, "description": text, "metadata": text}), 201)["id"]
        config = {"client_id": text, "client_secret": text, "scopes": [text], "organizations": [text]}
        path = "/edges/https/%s/routes/%s/oauth" % ("e" * 255, "r" * 255)
        for provider in ({"provider_a": config}, {"provider_a": {**config, "scopes": []}}):
            self.assert_ok(client.put(path, {"provider": provider}))
        self.assert_ok(client.put("/edges/tls/%s/mutual_tls" % ("t" * 255), {}))
        account.admin.issue("--description", "named", "--expires", "5d")
        # What the interface takes from nobody, another program may have stored.
        self.stack.psql(
            "UPDATE adit.oauth_module SET email_addresses = ARRAY[%s], email_domains = ARRAY[%s],"
            " teams = ARRAY[%s], cookie_prefix = %s WHERE account_id = '%s';"
            "UPDATE adit.mutual_tls_module SET certificate_authority_ids = ARRAY[%s] WHERE account_id = '%s';"
            "UPDATE adit.ssh_credential SET acl = ARRAY[%s] WHERE id = '%s';"
            "UPDATE adit.api_key SET description = %s WHERE description = 'named';"
            "UPDATE adit.audit_event SET operator = %s WHERE operator IS NOT NULL AND account_id = '%s'"
            % (*(quoted,) * 3, short, account.id, quoted, account.id, quoted, made, quoted, quoted, account.id))
        latest = dict(line.split("|") for line in self.stack.psql(
            "SELECT event, 'ae_' || lpad(max(id)::text, 19, '0') FROM adit.audit_event"
            " WHERE account_id = '%s' GROUP BY event" % account.id).splitlines())
        self.sign_in(account.admin.key)
        for view, part in (
                ("#/overview", ".keys li"), ("#/credentials", ".table .body .row"),
                ("#/credentials/" + made, ".description input"), ("#/modules", ".table .body .row"),
                ("#/modules/oauth/%s/%s" % ("e" * 255, "r" * 255), ".scopes textarea"),
                ("#/modules/mutual_tls", ".table .body .row"),
                ("#/modules/mutual_tls/" + "t" * 255, ".certificate_authority_ids textarea"),
                ("#/history", ".who option[value*=principal]"),
                *(("#/history/" + latest[event], ".difference") for event in (
                    "ssh_credential_updated", "oauth_module_updated", "mutual_tls_module_updated",
                    "api_key_updated")),
                ("#/history/%s/before" % latest["ssh_credential_updated"], ".restore"),
                ("#/history/%s/before" % latest["oauth_module_updated"], ".restore")):
            self.go(view)
            self.until("document.querySelector(%s)" % json.dumps(part), view)
            for screen, (width, height, is_phone) in SCREENS.items():
                with self.subTest("%s, %s, %s" % (name, view[:40], screen)):
                    self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                                      deviceScaleFactor=1, mobile=is_phone)
                    self.check_fits()
                    self.check_rows()
                    if name == "hostile":
                        self.screenshot("hostile-%s-%s" % (view[2:30].replace("/", "-"), screen))
        # The name is in the notice too.
        self.go("#/credentials/" + made)
        self.click("button.delete")
        self.see("Deleted: ", ".notice")
        self.check_fits()

    def check_rows(self):
        """No row draws over another one."""
        # The rows are placed after the screen has changed.
        self.until("""(() => {
            const rows = [...document.querySelectorAll(".table .body .row")].map((row) => row.getBoundingClientRect());
            return rows.every((row, n) => n === 0 || row.top >= rows[n - 1].bottom - 1);
        })()""", "rows below each other")


class Looks(ConsoleCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.account = cls.stack.account("looks")
        cls.client = cls.stack.client(cls.account.admin.key)
        cls.fill()

    @classmethod
    def fill(cls):
        """Things with names of a usual length."""
        keys = [text for _, text, _, _ in samples.accepted_keys()]
        made = []
        for key, acl in zip(keys[::5], (["bind:*.a.example"], [], ["bind:b.example:22", "bind:team=web"])):
            made.append(cls.client.post("/ssh_credentials", {
                "public_key": key, "description": "gateway in Frankfurt", "acl": acl, "metadata": "rack 7"}).json)
        cls.credential = made[0]["id"]
        cls.client.patch("/ssh_credentials/" + cls.credential, {"metadata": "rack 8", "acl": []})
        cls.client.put("/edges/https/edge-1/routes/route-1/oauth", {"provider": {"provider_a": {
            "client_id": "app", "client_secret": "hush", "email_domains": ["a.example", "b.example", "c.example"],
            "teams": ["acme/ops"]}}})
        cls.client.put("/edges/https/edge-1/routes/route-2/oauth", {})
        cls.client.put("/edges/https/edge-1/routes/route-2/oauth", {"enabled": False})
        cls.client.put("/edges/tls/edge-2/mutual_tls", {"certificate_authority_ids": ["ca-1", "ca-2"]})
        cls.client.put("/edges/tls/edge-3/mutual_tls", {})
        cls.account.admin.issue("--description", "deploy", "--expires", "5d")
        events = cls.client.get("/audit_events").json["audit_events"]
        changed = {kind: next(event["id"] for event in events if event["event"] == kind + "_updated")
                   for kind in ("ssh_credential", "oauth_module")}
        cls.views = [
            ("overview", "", ".changes td"),
            ("credentials", "#/credentials", ".table .body .row"),
            ("credential-new", "#/credentials/new", "form.edit"),
            ("credential", "#/credentials/" + cls.credential, "form.edit"),
            ("oauth", "#/modules", ".table .body .row"),
            ("oauth-new", "#/modules/new/oauth", ".provider select"),
            ("oauth-one", "#/modules/oauth/edge-1/route-1", ".provider select"),
            ("mutual-tls", "#/modules/mutual_tls", ".table .body .row"),
            ("mutual-tls-new", "#/modules/new/mutual_tls", "form.edit"),
            ("mutual-tls-one", "#/modules/mutual_tls/edge-2", "form.edit"),
            ("history", "#/history", ".table .body .row"),
            ("change", "#/history/" + changed["ssh_credential"], ".difference"),
            ("restore", "#/history/%s/before" % changed["ssh_credential"], ".restore"),
            ("restore-oauth", "#/history/%s/before" % changed["oauth_module"], ".restore"),
            ("nothing", "#/history/ae_9223372036854775807", ".error")]

    def show(self, view, part):
        self.go(view or "#/")
        self.until("document.querySelector(%s)" % json.dumps("main " + part), view + " " + part)
        self.until("![...document.querySelectorAll('[role=status]')].some((one) => /Reading|gelesen/.test("
                   "one.innerText))", "all of " + view)

    def resize(self, width, height, is_phone):
        self.browser.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                          deviceScaleFactor=1, mobile=is_phone)
        self.browser.draw()

    def sign_in_as(self, language):
        self.open()
        self.choose(".language", language)
        self.sign_in(self.account.admin.key)
        self.addCleanup(self.browser.evaluate, "localStorage.clear()")

    def test_sizes(self):
        """The header leaves room, nothing is wider than the screen, and no fact is missing on a phone."""
        self.sign_in(self.account.admin.key)
        for name, view, part in self.views:
            self.show(view, part)
            facts = {}
            for screen, size in SCREENS.items():
                with self.subTest("%s, %s" % (name, screen)):
                    self.resize(*size)
                    self.check_fits()
                    share = self.browser.evaluate(
                        "document.querySelector('header').offsetHeight / innerHeight")
                    self.assertLess(share, 0.15)
                    self.assertGreater(share, 0.01)
                    facts[screen] = self.browser.evaluate(FACTS)
                    self.screenshot("looks-%s-%s" % (name, screen))
            # What a phone shows beyond its screen is drawn when it is scrolled there.
            seen = facts["phone"]
            while len(seen) < len(facts["wide"]):
                self.resize(*SCREENS["phone"])
                n = len(seen)
                self.browser.evaluate("document.querySelector('main').scrollBy(0, innerHeight)")
                self.resize(*SCREENS["phone"])
                seen = {**seen, **self.browser.evaluate(FACTS)}
                self.assertGreater(len(seen), n, name)
            self.assertEqual(seen, facts["wide"], name)

    def test_phone_scrolls_as_one(self):
        """A list on a phone has no scrolling box inside the scrolling view, and shows the rows in sight."""
        account = self.stack.account("long")
        self.stack.psql("INSERT INTO adit.mutual_tls_module (account_id, edge_id, enabled)"
                        " SELECT '%s', 'e' || lpad(n::text, 3, '0'), true FROM generate_series(0, 229) AS n"
                        % account.id)
        SIZES["small"] = SCREENS["phone"]
        self.sign_in(account.admin.key, "#/modules/mutual_tls", "small")
        self.see("e000", ".table")
        self.until("(document.querySelector('main').scrollTo(0, 1e7), "
                   "document.querySelector('.table').ariaRowCount === '231')", "all pages")
        self.until("(document.querySelector('main').scrollTo(0, 1e7), [...document.querySelectorAll('.body .row')]"
                   ".some((row) => row.innerText.includes('e229') && row.getBoundingClientRect().bottom <="
                   " innerHeight))", "the last row")
        self.assertLess(len(self.rows()), 40)
        self.assertEqual(self.browser.evaluate(
            "[...document.querySelectorAll('main *')].filter((one) => one.scrollHeight > one.clientHeight + 1 &&"
            " ['auto', 'scroll'].includes(getComputedStyle(one).overflowY)).length"), 0)

    def test_menu(self):
        """On a phone, the rooms, the key's rights, the language and signing out are behind a button."""
        SIZES["small"] = SCREENS["phone"]
        self.sign_in(self.account.admin.key, "#/credentials", "small")
        parts = ["header nav a", ".holder", ".language", ".sign-out"]
        def seen():
            return self.browser.evaluate("%s.map((one) => document.querySelector(one).getClientRects().length > 0)"
                                         % json.dumps(parts))
        self.assertEqual(seen(), [False] * 4)
        self.click(".menu-button")
        self.until("document.querySelector('.menu-button').ariaExpanded === 'true'", "the menu")
        self.assertEqual(seen(), [True] * 4)
        self.check_fits()
        self.screenshot("menu")
        self.browser.evaluate("document.querySelector('.sign-out').focus()")
        self.press("Escape", 27)
        self.until("document.querySelector('.menu-button').ariaExpanded === 'false'", "no menu")
        self.assertEqual(self.browser.evaluate("document.activeElement.className"), "menu-button")
        # It closes where it led.
        self.click(".menu-button")
        self.click("header nav a[href='#/history']")
        self.see("History", "h1")
        self.until("document.querySelector('.menu-button').ariaExpanded === 'false'", "no menu")

    def test_nothing_is_cut(self):
        for language in ("en", "de"):
            self.sign_in_as(language)
            for name, view, part in self.views:
                self.show(view, part)
                for width in WIDTHS:
                    with self.subTest("%s, %s, %d px" % (name, language, width)):
                        self.resize(width, 800, width < 500)
                        if name == "history":
                            self.browser.evaluate("document.querySelector('main').scrollTo(0, 0)")
                        self.assertEqual(self.browser.evaluate(CUT), [])
                        self.check_fits()
                if language == "de":
                    self.screenshot("looks-%s-german" % name)

    def test_words_of_the_moment(self):
        """Switching the language translates what is shown already.  The server's words stay as they are."""
        self.client.put("/edges/tls/german/mutual_tls", {})
        self.sign_in(self.account.admin.key, "#/modules/mutual_tls/german")
        self.click("button.delete")
        self.see("Deleted: german.", ".notice")
        self.choose(".language", "de")
        self.see("Gelöscht: german.", ".notice")
        self.see("Rückgängig", ".notice")
        self.go("#/credentials/" + samples.unknown_id())
        self.see("Fehler 9002.", ".error")
        self.assertEqual(self.text(".error .generally"), "Das gibt es nicht:")
        words = self.text(".error [lang=en]")
        self.assertIn("ssh_credential", words.lower().replace(" ", "_"))
        self.choose(".language", "en")
        self.see("That does not exist:", ".error")
        self.assertEqual(self.text(".error [lang=en]"), words)
        self.screenshot("looks-error")

    def test_zone(self):
        """Times are those of the reader's zone, in every view."""
        made = self.client.post("/ssh_credentials", samples.credential()).json["id"]
        self.stack.psql("UPDATE adit.ssh_credential SET created_at = '2026-03-28T23:30:00Z' WHERE id = '%s'" % made)
        self.set_zone("Asia/Kathmandu")
        self.sign_in(self.account.admin.key, '#/credentials?filter=obj.id == "%s"' % made)
        self.see("Mar 29, 2026, 5:15 AM", ".table .created.cell time")
        self.go("#/credentials/" + made)
        self.see("Mar 29, 2026, 5:15 AM", ".facts time")
        self.choose(".language", "de")
        self.see("29.03.2026, 05:15", ".facts time")
        self.stack.psql("UPDATE adit.api_key SET expires_at = date_trunc('day', now()) + interval '3 days 23 hours'"
                        " WHERE description = 'deploy'")
        self.go("#/overview")
        self.see("04:45", ".keys li time")
