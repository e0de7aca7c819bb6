-- +goose Up

-- The ping keys of pages: one that is valid until it is rotated or removed (ends_at is NULL), and the one before it.
CREATE TABLE ping_keys (
    ping_key     TEXT PRIMARY KEY,
    page_id      TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    access       TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    ends_at      BIGINT
);
CREATE INDEX ping_keys_page ON ping_keys (page_id);
CREATE UNIQUE INDEX ping_keys_current ON ping_keys (page_id) WHERE ends_at IS NULL;
