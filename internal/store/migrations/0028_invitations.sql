-- +goose Up

-- Invitations to workspaces, with the hash of their one-time codes.
CREATE TABLE invitations (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    email        TEXT NOT NULL,
    role         TEXT NOT NULL,
    hash         BYTEA NOT NULL UNIQUE,
    inviter_id   TEXT,
    inviter_name TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    ends_at      BIGINT NOT NULL,
    UNIQUE (workspace_id, email)
);

ALTER TABLE members ADD COLUMN last_seen_at BIGINT;
