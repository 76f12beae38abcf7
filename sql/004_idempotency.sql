-- The answers to requests with an Idempotency-Key, so that a repeat gets the same answer.

CREATE TABLE adit.idempotency_key (
    account_id text COLLATE "C" NOT NULL,
    principal_id text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    request_digest bytea NOT NULL,
    base_url text NOT NULL,
    id text COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    owner_id text COLLATE "C" NOT NULL,
    description text NOT NULL,
    metadata text NOT NULL,
    acl text[] NOT NULL,
    public_key text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account_id, principal_id, key),
    CONSTRAINT idempotency_key_principal FOREIGN KEY (account_id, principal_id)
        REFERENCES adit.principal (account_id, id),
    CONSTRAINT idempotency_key_length CHECK (octet_length(key) BETWEEN 1 AND 255),
    CONSTRAINT idempotency_key_digest_length CHECK (octet_length(request_digest) = 32)
);
CREATE INDEX idempotency_key_created_at ON adit.idempotency_key USING brin (created_at);
COMMENT ON TABLE adit.idempotency_key IS
    'Creations of SSH credentials that were asked for with an Idempotency-Key, as they were answered; ''aditctl purge'' removes old ones.';
COMMENT ON COLUMN adit.idempotency_key.account_id IS 'The account of the User or Bot.';
COMMENT ON COLUMN adit.idempotency_key.principal_id IS 'The User or Bot that sent it.';
COMMENT ON COLUMN adit.idempotency_key.key IS 'The value of the header.';
COMMENT ON COLUMN adit.idempotency_key.request_digest IS 'SHA-256 of the request''s body.';
COMMENT ON COLUMN adit.idempotency_key.base_url IS 'What the uri in the answer began with.';
COMMENT ON COLUMN adit.idempotency_key.id IS 'The credential that was created.';
COMMENT ON COLUMN adit.idempotency_key.revision IS 'Its revision then.';
COMMENT ON COLUMN adit.idempotency_key.owner_id IS 'Its owner.';
COMMENT ON COLUMN adit.idempotency_key.description IS 'Its description then.';
COMMENT ON COLUMN adit.idempotency_key.metadata IS 'Its metadata then.';
COMMENT ON COLUMN adit.idempotency_key.acl IS 'Its ACL rules then.';
COMMENT ON COLUMN adit.idempotency_key.public_key IS 'Its public key.';
COMMENT ON COLUMN adit.idempotency_key.created_at IS
    'When it was created, and from when on the key is kept for a day at least.';
