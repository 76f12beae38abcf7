-- SPDX-License-Identifier: MIT Fills the table of SSH credentials for tools/bench, which sets the
-- variables rows, account and owner, and small_account and small_owner, of which there are as many as
-- accounts.  Each small account has 100 rows.  Each identifier and each fingerprint contains the row's
-- number.
-- Each key has a valid form.  created_at is the time that the identifier tells (sql/schema.sql):
-- its first 7 digits are two zeros and the first 5 of the number.
\set ON_ERROR_STOP on
-- These rows need no audit events, and their references need no check.
SET session_replication_role = replica;
SET maintenance_work_mem = '512MB';

CREATE TEMP TABLE made_later AS
SELECT indexname AS name, indexdef AS definition FROM pg_indexes
WHERE schemaname = 'adit' AND tablename = 'ssh_credential' AND indexname <> 'ssh_credential_pkey';
SELECT format('DROP INDEX adit.%I', name) FROM made_later \gexec

CREATE TEMP TABLE others AS
SELECT 'ac_' || lpad(n::text, 27, '0') AS account_id, 'usr_' || lpad(n::text, 27, '0') AS id
FROM generate_series(2, :accounts) AS n;
INSERT INTO adit.account (id) SELECT account_id FROM others;
INSERT INTO adit.principal (account_id, id, kind) SELECT account_id, id, 'user' FROM others;

INSERT INTO adit.ssh_credential
    (account_id, id, owner_id, key_type, fingerprint, description, metadata, acl, public_key,
     created_at)
SELECT owner.account_id, 'sshcr_00' || n || repeat('0', 17), owner.id, 'ssh-ed25519',
    'SHA256:' || n || repeat('0', 35),
    'edge ' || n, '', '{bind:*.example.com}', 'ssh-ed25519 ' || key,
    timestamptz '1970-01-01Z' + units * 0.13566701687887962 * interval '1 s'
FROM (SELECT :'account' AS account_id, :'owner' AS id, :rows AS n_rows
      UNION ALL SELECT :'small_account', :'small_owner', 100
      UNION ALL SELECT account_id, id, 100 FROM others) AS owner,
    generate_series(10000000, 9999999 + owner.n_rows) AS n,
    -- The key: the name of its type, two lengths, and 32 bytes.
    LATERAL (SELECT 'AAAAC3NzaC1lZDI1NTE5AAAAI'
                    || rtrim(encode(sha256(n::text::bytea), 'base64'), '=') AS key) AS made,
    LATERAL (SELECT sum(substr(n::text, place, 1)::int * 62 ^ (5 - place)) AS units
             FROM generate_series(1, 5) AS place) AS counted;

SELECT definition FROM made_later \gexec
VACUUM (ANALYZE) adit.ssh_credential;
CHECKPOINT;
-- Load the tables into memory, so that the first requests do not wait for the disk.
CREATE EXTENSION pg_prewarm;
SELECT count(pg_prewarm(relation))
FROM unnest('{adit.ssh_credential, adit.ssh_credential_pkey,
             adit.ssh_credential_fingerprint_account,
             adit.ssh_credential_owner_id}'::regclass[]) AS relation;
