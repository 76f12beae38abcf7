-- At most 1,000 credentials of an account have the same public key: a decision and adit-gateway read no
-- more of one key (src/model/ssh_decision.h), so more would only lock the key out.  Rows that are there
-- already stay.
--
-- Up to 500, a new row costs one look at the index.  From there on, a transaction holds a lock for its key,
-- so that each counts what the one before it has committed.  So the limit is exact unless more than 500
-- transactions insert the same key at once.  A transaction that is not READ COMMITTED counts what its
-- snapshot shows, and its own rows.
--
-- The account's condition fits no index, on purpose: a session that plans this while the table is empty
-- would take one of the account's, and read the whole account for each row that it inserts.
--
-- As the functions of 012_cheaper_writes.sql, it has no SET search_path, so every name is qualified.
CREATE FUNCTION adit.limit_public_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM adit.ssh_credential AS c
    WHERE c.fingerprint OPERATOR(pg_catalog.=) NEW.fingerprint
    AND (c.account_id OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) NEW.account_id
    OFFSET 499 LIMIT 1;
    IF NOT FOUND THEN
        RETURN NEW;
    END IF;
    PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(
        pg_catalog.concat(NEW.account_id, ' ', NEW.fingerprint), 0));
    PERFORM FROM adit.ssh_credential AS c
    WHERE c.fingerprint OPERATOR(pg_catalog.=) NEW.fingerprint
    AND (c.account_id OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) NEW.account_id
    OFFSET 999 LIMIT 1;
    IF FOUND THEN
        RAISE 'the public key is in 1000 credentials of the account: "ssh_credential_key_limit"'
            USING ERRCODE = '23514', CONSTRAINT = 'ssh_credential_key_limit',
            SCHEMA = 'adit', TABLE = 'ssh_credential';
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION adit.limit_public_key() IS
    'Refuses a credential whose public key is in 1,000 others of its account.';
REVOKE ALL ON FUNCTION adit.limit_public_key() FROM PUBLIC;

-- It waits for writes of the table and keeps out others until the migrations end.  Reads go on.
CREATE TRIGGER limit_public_key BEFORE INSERT ON adit.ssh_credential
    FOR EACH ROW EXECUTE FUNCTION adit.limit_public_key();
