-- One credential per public key and account: a second one is answered with 409.  By default the same
-- key may be in several credentials, each of which is a grant.  Run with psql as the owner of the
-- tables; undo with DROP INDEX adit.ssh_credential_unique_public_key.
CREATE UNIQUE INDEX IF NOT EXISTS ssh_credential_unique_public_key
    ON adit.ssh_credential (account_id, fingerprint);
