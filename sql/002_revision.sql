-- The revision of each row of the three resources.  The API shows it as the ETag.

-- A random number below 2^53, not a counter.  A shared counter would tell each account how much
-- the others change.  A counter for each resource would repeat after a delete and a new create.
CREATE FUNCTION adit.new_revision() RETURNS bigint LANGUAGE sql VOLATILE
RETURN floor(pg_catalog.random() * 9007199254740992)::bigint;
COMMENT ON FUNCTION adit.new_revision() IS 'A revision: a random number.';

-- Existing rows get revision 0.  A default that is not constant would rewrite all of them.
ALTER TABLE adit.ssh_credential ADD COLUMN revision bigint NOT NULL DEFAULT 0;
ALTER TABLE adit.oauth_module ADD COLUMN revision bigint NOT NULL DEFAULT 0;
ALTER TABLE adit.mutual_tls_module ADD COLUMN revision bigint NOT NULL DEFAULT 0;
ALTER TABLE adit.ssh_credential ALTER COLUMN revision SET DEFAULT adit.new_revision();
ALTER TABLE adit.oauth_module ALTER COLUMN revision SET DEFAULT adit.new_revision();
ALTER TABLE adit.mutual_tls_module ALTER COLUMN revision SET DEFAULT adit.new_revision();
COMMENT ON COLUMN adit.ssh_credential.revision IS 'Changes whenever the row does: its ETag.';
COMMENT ON COLUMN adit.oauth_module.revision IS 'Changes whenever the row does: its ETag.';
COMMENT ON COLUMN adit.mutual_tls_module.revision IS 'Changes whenever the row does: its ETag.';

-- A trigger, so that a change with psql also gives the row a new revision.
CREATE FUNCTION adit.renew_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.revision := adit.new_revision();
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION adit.renew_revision() IS 'Gives a row that changes its next revision.';

-- 'aditctl secrets rekey' keeps the revision, since it changes nothing that a caller sees.
CREATE TRIGGER renew_revision BEFORE UPDATE ON adit.ssh_credential
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*)
    EXECUTE FUNCTION adit.renew_revision();
CREATE TRIGGER renew_revision BEFORE UPDATE ON adit.oauth_module
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*
                       AND pg_catalog.current_setting('adit.rekey', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION adit.renew_revision();
CREATE TRIGGER renew_revision BEFORE UPDATE ON adit.mutual_tls_module
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*)
    EXECUTE FUNCTION adit.renew_revision();
