-- Users and Bots that are disabled, API keys for own credentials alone, and when each key was last
-- used.

-- ---- keys for own credentials ----

-- Earlier versions of the responder look at read_only alone: to them such a key is read-only.
ALTER TABLE adit.api_key DROP CONSTRAINT api_key_scope;
ALTER TABLE adit.api_key
    ADD CONSTRAINT api_key_scope CHECK (scope IN ('account', 'gateway', 'own')),
    ADD CONSTRAINT api_key_own_reads CHECK (scope <> 'own' OR read_only);
COMMENT ON COLUMN adit.api_key.scope IS
    'What it may ask: account, everything that read_only permits; gateway, only decisions; own, reads, and changes of the SSH credentials that its User or Bot owns.';

-- ---- disabled Users and Bots ----

ALTER TABLE adit.principal ADD COLUMN disabled_at timestamptz;
COMMENT ON COLUMN adit.principal.disabled_at IS
    'From when on all of its API keys are refused; NULL: they are not.';

-- A key is found by its digest.  If that is put aside, no version of the responder finds the key,
-- and no request has to look at its User or Bot.
ALTER TABLE adit.api_key ADD COLUMN disabled_digest bytea
    CONSTRAINT api_key_disabled_digest_length CHECK (octet_length(disabled_digest) = 32);
COMMENT ON COLUMN adit.api_key.disabled_digest IS
    'While its User or Bot is disabled: SHA-256 of the key.  digest then belongs to no key.  NULL: it is not disabled.';

-- The issue of a key and a change of its User or Bot wait for each other: otherwise neither would see
-- the other's row.  A key's issue makes a new version of that row, so that a transaction with an
-- older snapshot fails when it changes the row.
CREATE FUNCTION adit.put_digest_aside() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    is_disabled boolean;
BEGIN
    IF TG_OP = 'INSERT' THEN
        UPDATE adit.principal AS p SET disabled_at = p.disabled_at
            WHERE p.account_id = NEW.account_id AND p.id = NEW.principal_id
            RETURNING p.disabled_at IS NOT NULL INTO is_disabled;
    ELSE
        SELECT p.disabled_at IS NOT NULL INTO is_disabled FROM adit.principal AS p
            WHERE p.account_id = NEW.account_id AND p.id = NEW.principal_id FOR SHARE;
    END IF;
    IF is_disabled THEN
        NEW.disabled_digest := coalesce(NEW.disabled_digest, OLD.disabled_digest, NEW.digest);
        NEW.digest := sha256('disabled '::bytea || NEW.disabled_digest);
    ELSIF NEW.disabled_digest IS NOT NULL THEN
        NEW.digest := NEW.disabled_digest;
        NEW.disabled_digest := NULL;
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION adit.put_digest_aside() IS
    'Puts the digest of a key aside while its User or Bot is disabled, and back afterwards.';
CREATE TRIGGER put_digest_aside
    BEFORE INSERT OR UPDATE OF account_id, principal_id, digest, disabled_digest ON adit.api_key
    FOR EACH ROW EXECUTE FUNCTION adit.put_digest_aside();

CREATE FUNCTION adit.follow_holder() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE adit.api_key AS k SET disabled_digest = k.disabled_digest
        WHERE k.account_id = NEW.account_id AND k.principal_id = NEW.id;
    RETURN NULL;
END
$$;
COMMENT ON FUNCTION adit.follow_holder() IS
    'Runs put_digest_aside() for the keys of a User or Bot that was disabled or enabled.';
CREATE TRIGGER follow_holder AFTER UPDATE ON adit.principal
    FOR EACH ROW WHEN ((OLD.disabled_at IS NULL) <> (NEW.disabled_at IS NULL))
    EXECUTE FUNCTION adit.follow_holder();

-- The record of changes holds neither digest.
DROP TRIGGER record_change ON adit.api_key;
CREATE TRIGGER record_change AFTER INSERT OR DELETE ON adit.api_key
    FOR EACH ROW EXECUTE FUNCTION adit.record_change('digest', 'disabled_digest');
DROP TRIGGER record_update ON adit.api_key;
CREATE TRIGGER record_update AFTER UPDATE ON adit.api_key
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*)
    EXECUTE FUNCTION adit.record_change('digest', 'disabled_digest');

-- ---- last use ----

-- A table of its own: every request reads api_key, and every change of that is recorded.
CREATE TABLE adit.api_key_use (
    account_id text COLLATE "C" NOT NULL,
    api_key_id text COLLATE "C" NOT NULL,
    used_at timestamptz NOT NULL,
    client_address inet,
    PRIMARY KEY (account_id, api_key_id),
    CONSTRAINT api_key_use_key FOREIGN KEY (account_id, api_key_id)
        REFERENCES adit.api_key (account_id, id) ON DELETE CASCADE
) WITH (fillfactor = 50);
COMMENT ON TABLE adit.api_key_use IS
    'When and from where each API key was last used, to within five minutes.';
COMMENT ON COLUMN adit.api_key_use.account_id IS 'The account of the key.';
COMMENT ON COLUMN adit.api_key_use.api_key_id IS 'The key.';
COMMENT ON COLUMN adit.api_key_use.used_at IS 'When it was last used.';
COMMENT ON COLUMN adit.api_key_use.client_address IS
    'The client''s address, as the web server told it; NULL: it told none.';

-- ---- names of those who were deleted ----

-- A name that no table has any more is in the record of the deletion.
CREATE OR REPLACE VIEW adit.audit AS
SELECT e.at, e.event, e.resource, e.account_id,
    coalesce(a.name, (SELECT d.before ->> 'name' FROM adit.audit_event AS d
                      WHERE d.account_id = e.account_id AND d.resource = e.account_id
                      AND d.event = 'account_deleted' ORDER BY d.id DESC LIMIT 1)) AS account,
    e.principal_id,
    coalesce(p.name, (SELECT d.before ->> 'name' FROM adit.audit_event AS d
                      WHERE d.account_id = e.account_id AND d.resource = e.principal_id
                      AND d.event = 'principal_deleted' ORDER BY d.id DESC LIMIT 1)) AS principal,
    e.api_key_id,
    coalesce(k.description, (SELECT d.before ->> 'description' FROM adit.audit_event AS d
                             WHERE d.account_id = e.account_id AND d.resource = e.api_key_id
                             AND d.event = 'api_key_deleted' ORDER BY d.id DESC LIMIT 1)) AS api_key,
    e.operation_id, e.database_user, e.before, e.after, e.id, e.changed, e.client_address,
    e.operator
FROM adit.audit_event AS e
LEFT JOIN adit.account AS a ON a.id = e.account_id
LEFT JOIN adit.principal AS p ON p.account_id = e.account_id AND p.id = e.principal_id
LEFT JOIN adit.api_key AS k ON k.account_id = e.account_id AND k.id = e.api_key_id;

-- ---- an index that is no longer needed ----

-- All migrations are one transaction.  From here to its end, which is near, nobody reads credentials.
DROP INDEX IF EXISTS adit.ssh_credential_owner;
