-- +goose Up

-- People who sign in to the dashboard, and their roles in workspaces.
CREATE TABLE users (
    id            TEXT PRIMARY KEY,
    email         TEXT NOT NULL UNIQUE,
    name          TEXT NOT NULL,
    password_hash TEXT,
    created_at    BIGINT NOT NULL
);

CREATE TABLE members (
    user_id      TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    role         TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (user_id, workspace_id)
);
CREATE INDEX members_workspace ON members (workspace_id, created_at);

CREATE TABLE sessions (
    id           TEXT PRIMARY KEY,
    user_id      TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    hash         BYTEA NOT NULL UNIQUE,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    confirmed_at BIGINT NOT NULL,
    address      TEXT NOT NULL,
    client       TEXT NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id, created_at);
CREATE INDEX sessions_workspace ON sessions (workspace_id);
CREATE INDEX sessions_last_used ON sessions (last_used_at);

CREATE TABLE one_time_codes (
    hash       BYTEA PRIMARY KEY,
    purpose    TEXT NOT NULL,
    user_id    TEXT REFERENCES users (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    ends_at    BIGINT NOT NULL
);
CREATE INDEX one_time_codes_user ON one_time_codes (user_id);
