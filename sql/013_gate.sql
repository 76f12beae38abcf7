-- What adit-gate keeps of its sessions.

-- A session is in a cookie of the visitor.  A row is here if it does not fit into one, and if the
-- visitor has signed out: whoever has a copy of the cookie does not pass then.
CREATE TABLE IF NOT EXISTS adit.gate_session (
    id text COLLATE "C" PRIMARY KEY,
    key_id text COLLATE "C",
    sealed bytea,
    ends_at timestamptz NOT NULL,
    CONSTRAINT gate_session_id_form CHECK (id ~ '^[A-Za-z0-9_-]{22}$'),
    CONSTRAINT gate_session_sealed CHECK ((key_id IS NULL) = (sealed IS NULL))
);
COMMENT ON TABLE adit.gate_session IS
    'Sessions of visitors of routes that do not fit into a cookie, and those that were signed out.';
COMMENT ON COLUMN adit.gate_session.id IS 'The session''s random id, which its cookie names.';
COMMENT ON COLUMN adit.gate_session.key_id IS
    'The key of the key file that seals the row; NULL: the visitor has signed out.';
COMMENT ON COLUMN adit.gate_session.sealed IS
    'Who the visitor is, encrypted: addresses, organizations, teams, the provider''s token.';
COMMENT ON COLUMN adit.gate_session.ends_at IS
    'When the session ends at the latest.  adit-gate deletes the row then.';

CREATE INDEX IF NOT EXISTS gate_session_ends_at ON adit.gate_session (ends_at);
