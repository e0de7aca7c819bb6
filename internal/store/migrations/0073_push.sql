-- +goose Up

-- The key by which push services know this installation. There is one row.
CREATE TABLE push_keys (
    id             TEXT PRIMARY KEY,
    public_key     TEXT NOT NULL,
    sealed_private BYTEA NOT NULL,
    created_at     BIGINT NOT NULL
);

-- A browser that is notified of the end of one incident, and of nothing else.
ALTER TABLE subscribers ADD COLUMN incident_id TEXT REFERENCES incidents (id) ON DELETE CASCADE;
CREATE INDEX subscribers_incident ON subscribers (incident_id) WHERE incident_id IS NOT NULL;
