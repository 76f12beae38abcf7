-- Sessions of visitors end with the module that let them in, also if another one takes its place.

-- Existing rows get 0.  A default that is not constant would rewrite all of them.
ALTER TABLE adit.oauth_module ADD COLUMN incarnation bigint NOT NULL DEFAULT 0;
ALTER TABLE adit.oauth_module ALTER COLUMN incarnation SET DEFAULT adit.new_revision();
COMMENT ON COLUMN adit.oauth_module.incarnation IS
    'A random number, kept until the row is deleted.  Sessions of visitors are valid for it.';

-- It says nothing to readers of the record of changes, and nobody restores it.
SELECT adit.make_recorder('oauth_module', '{client_secret_sealed,incarnation}');

-- No session that begins from now on has as many bytes, and adit-gate reads no such row.
DELETE FROM adit.gate_session WHERE octet_length(sealed) > 24576 + 28;
