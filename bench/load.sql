-- SPDX-License-Identifier: MIT
-- Fills the table of SSH credentials for tools/bench, which gives the variables rows, account and
-- owner.  Each row's identifier tells its number; its key is a real one in form, and the
-- fingerprint is the key's.
\set ON_ERROR_STOP on
-- Rows that are made here are no changes for anybody to read about, and their references hold.
SET session_replication_role = replica;
SET maintenance_work_mem = '512MB';

CREATE TEMP TABLE made_later AS
SELECT indexname AS name, indexdef AS definition FROM pg_indexes
WHERE schemaname = 'adit' AND tablename = 'ssh_credential' AND indexname <> 'ssh_credential_pkey';
SELECT format('DROP INDEX adit.%I', name) FROM made_later \gexec

INSERT INTO adit.ssh_credential
    (account_id, id, owner_id, key_type, fingerprint, description, metadata, acl, public_key)
SELECT :'account', 'sshcr_00' || n || repeat('0', 17), :'owner', 'ssh-ed25519',
    'SHA256:' || rtrim(encode(sha256(decode(key, 'base64')), 'base64'), '='),
    'edge ' || n, '', '{bind:*.example.com}', 'ssh-ed25519 ' || key
FROM generate_series(10000000, 9999999 + :rows) AS n,
    -- The name of the type and two lengths, and then 32 bytes.
    LATERAL (SELECT 'AAAAC3NzaC1lZDI1NTE5AAAAI'
                    || rtrim(encode(sha256(n::text::bytea), 'base64'), '=') AS key) AS made;

SELECT definition FROM made_later \gexec
VACUUM (ANALYZE) adit.ssh_credential;
CHECKPOINT;
-- What requests read is in memory from the start, and not only once each page was read.
CREATE EXTENSION pg_prewarm;
SELECT count(pg_prewarm(relation))
FROM unnest('{adit.ssh_credential, adit.ssh_credential_pkey}'::regclass[]) AS relation;
