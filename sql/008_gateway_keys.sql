-- API keys for gateways, which may only ask for decisions, and an index for those.
--
-- An operator may run this ahead of an upgrade, with CREATE INDEX CONCURRENTLY where the table of
-- credentials is large.  What is there already stays.

-- A statement that changes something asks only for read_only, and so does every earlier version of
-- the responder.  Hence the second check.
ALTER TABLE adit.api_key
    ADD COLUMN IF NOT EXISTS scope text NOT NULL DEFAULT 'account'
        CONSTRAINT api_key_scope CHECK (scope IN ('account', 'gateway'))
        CONSTRAINT api_key_gateway_reads CHECK (scope <> 'gateway' OR read_only);
COMMENT ON COLUMN adit.api_key.scope IS
    'What it may ask: account, everything that read_only permits; or gateway, only decisions.';

-- Finds the credentials of one account with a key, in the order of their identifiers, however many
-- other accounts have that key.  It also serves queries by the fingerprint alone.
CREATE INDEX IF NOT EXISTS ssh_credential_fingerprint_account
    ON adit.ssh_credential (fingerprint, account_id, id);
DROP INDEX IF EXISTS adit.ssh_credential_fingerprint;
