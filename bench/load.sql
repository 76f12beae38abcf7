-- SPDX-License-Identifier: MIT Fills the table of SSH credentials for tools/bench, which sets the
-- variables rows, account and owner.  Each identifier and each fingerprint contains the row's number.
-- Each key has a valid form.
\set ON_ERROR_STOP on
-- These rows need no audit events, and their references need no check.
SET session_replication_role = replica;
SET maintenance_work_mem = '512MB';

CREATE TEMP TABLE made_later AS
SELECT indexname AS name, indexdef AS definition FROM pg_indexes
WHERE schemaname = 'adit' AND tablename = 'ssh_credential' AND indexname <> 'ssh_credential_pkey';
SELECT format('DROP INDEX adit.%I', name) FROM made_later \gexec

INSERT INTO adit.ssh_credential
    (account_id, id, owner_id, key_type, fingerprint, description, metadata, acl, public_key)
SELECT :'account', 'sshcr_00' || n || repeat('0', 17), :'owner', 'ssh-ed25519',
    'SHA256:' || n || repeat('0', 35),
    'edge ' || n, '', '{bind:*.example.com}', 'ssh-ed25519 ' || key
FROM generate_series(10000000, 9999999 + :rows) AS n,
    -- The key: the name of its type, two lengths, and 32 bytes.
    LATERAL (SELECT 'AAAAC3NzaC1lZDI1NTE5AAAAI'
                    || rtrim(encode(sha256(n::text::bytea), 'base64'), '=') AS key) AS made;

SELECT definition FROM made_later \gexec
VACUUM (ANALYZE) adit.ssh_credential;
CHECKPOINT;
-- Load the tables into memory, so that the first requests do not wait for the disk.
CREATE EXTENSION pg_prewarm;
SELECT count(pg_prewarm(relation))
FROM unnest('{adit.ssh_credential, adit.ssh_credential_pkey,
             adit.ssh_credential_fingerprint_account}'::regclass[]) AS relation;
