-- The schema and the list of migrations.  Run this before the migrations, every time.
CREATE SCHEMA IF NOT EXISTS adit;
COMMENT ON SCHEMA adit IS 'Adit: who may open a tunnel, pass a route, and be trusted by an edge.';
CREATE TABLE IF NOT EXISTS adit.migration (
    version integer PRIMARY KEY,
    name text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE adit.migration IS 'The migrations that were applied to this schema.';
COMMENT ON COLUMN adit.migration.version IS 'Number of the migration.';
COMMENT ON COLUMN adit.migration.name IS 'Name of its file.';
COMMENT ON COLUMN adit.migration.applied_at IS 'When it was applied.';
