-- Whoever has an API key for own credentials alone may store any public key, which is no secret.  Such an
-- owner gets at most half of what the other owners leave of the 1,000 places of a public key, and so keeps
-- nobody out of a key.  Operators, and API keys that may change everything, are not bound by that.
--
-- It counts no further than 1,000: more rows may be there from before 017_key_limit.sql, which says the
-- rest.  The first 500 rows need no count: half of what is left is more.
CREATE OR REPLACE FUNCTION adit.limit_public_key() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    n_all pg_catalog.int8;
    n_own pg_catalog.int8;
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
    SELECT pg_catalog.count(*),
        pg_catalog.count(*) FILTER (WHERE c.owner_id OPERATOR(pg_catalog.=) NEW.owner_id)
    INTO n_all, n_own
    FROM (
        SELECT c.owner_id FROM adit.ssh_credential AS c
        WHERE c.fingerprint OPERATOR(pg_catalog.=) NEW.fingerprint
        AND (c.account_id OPERATOR(pg_catalog.||) '') OPERATOR(pg_catalog.=) NEW.account_id
        LIMIT 1000
    ) AS c;
    PERFORM FROM adit.api_key AS k
    WHERE k.account_id OPERATOR(pg_catalog.=) NEW.account_id
    AND k.id OPERATOR(pg_catalog.=)
        pg_catalog.split_part(pg_catalog.current_setting('adit.caller', true), ' ', 2)
    AND k.scope OPERATOR(pg_catalog.=) 'own';
    IF NOT FOUND THEN
        n_own := 0;
    END IF;
    IF n_all OPERATOR(pg_catalog.+) n_own OPERATOR(pg_catalog.>=) 1000 THEN
        RAISE 'too many credentials of the account have the public key: "ssh_credential_key_limit"'
            USING ERRCODE = '23514', CONSTRAINT = 'ssh_credential_key_limit',
            SCHEMA = 'adit', TABLE = 'ssh_credential';
    END IF;
    RETURN NEW;
END
$$;
COMMENT ON FUNCTION adit.limit_public_key() IS
    'Refuses a credential whose public key is in 1,000 others of its account, or whose owner has a key for own credentials and half of what others leave.';
