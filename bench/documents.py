# SPDX-License-Identifier: MIT
"""Times "aditctl export", "aditctl apply" and "aditctl restore"."""
import base64
import json
import os
import random
import subprocess
import time

from adit import stack

import measure

APPLIED = 10000
CHANGED = 100
EXPORTED = 100000


def _document(account):
    """APPLIED credentials with keys of their own, since aditctl reads each key."""
    source = random.Random(1)
    return {"version": 1, "accounts": [{"id": account.id, "ssh_credentials": [
        {"owner_id": account.admin.id, "description": "device %d" % number,
         "acl": ["bind:device-%d.example" % number], "public_key": "ssh-ed25519 "
         + base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + source.randbytes(32)).decode()}
        for number in range(APPLIED)]}]}


def _run(bed, *words, output=os.devnull):
    """Runs aditctl.  Returns its seconds and its largest resident memory in KiB."""
    with open(output, "wb") as file:
        started = time.monotonic()
        process = subprocess.Popen([bed.stack.env["ADITCTL"], "-c", bed.stack.conf_path, *words],
                                   stdin=subprocess.DEVNULL, stdout=file, env=stack.CLEAN_ENV)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise measure.Broken("aditctl %s ended with %d" % (" ".join(words), process.returncode))
    return seconds, usage.ru_maxrss


def _write(path, document):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)


def _restore(bed, account):
    """Restores the credentials of the account after a change of all.  Returns the seconds."""
    time_before = bed.stack.psql("SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC',"
                                 " 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')")
    bed.stack.psql("SET adit.operator = 'mistaken'; UPDATE adit.ssh_credential"
                   " SET metadata = 'changed' WHERE account_id = '%s'" % account.id)
    seconds, _ = _run(bed, "restore", "--since", time_before, "--by", "mistaken", "--yes")
    return seconds


def take(few, many):
    """Exports the credentials of both beds.  Applies changes to an account of its own in the first,
    and restores it.  Returns the figures."""
    account = few.stack.account("documents")
    for bed in few, many:
        # pgbench stores secrets that no key opens.
        bed.stack.psql("DELETE FROM adit.oauth_module")
    path = os.path.join(few.folder, "document.json")
    _, few_kib = _run(few, "export")
    export_s, many_kib = _run(many, "export")
    _write(path, _document(account))
    _run(few, "apply", path)
    _run(few, "export", "--account", account.id, output=path)
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    credentials = document["accounts"][0]["ssh_credentials"]
    if len(credentials) != APPLIED:
        raise measure.Broken("apply made %d credentials" % len(credentials))
    for credential in credentials[::APPLIED // CHANGED]:
        credential["acl"].append("bind:*.changed.example")
    _write(path, document)
    apply_s, _ = _run(few, "apply", "--prune", "--yes", path)
    return {"export_s": export_s * EXPORTED / many.n_all_rows, "apply_s": apply_s,
            "restore_s": _restore(few, account), "export_growth": many_kib / few_kib}
