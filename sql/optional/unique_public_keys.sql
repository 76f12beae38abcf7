-- Allow one credential per public key and account: a second one gets 409.  By default several credentials
-- may have the same key, and each is a grant.  Run this with psql as the owner of the tables.  To undo it,
-- run DROP INDEX adit.ssh_credential_unique_public_key.
SET search_path = pg_catalog, pg_temp;
CREATE UNIQUE INDEX IF NOT EXISTS ssh_credential_unique_public_key
    ON adit.ssh_credential (account_id, fingerprint);
