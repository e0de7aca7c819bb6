-- +goose Up

-- Authenticator apps of users, and the hashes of recovery codes that have not been used.
CREATE TABLE authenticators (
    user_id    TEXT PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    secret     TEXT NOT NULL,
    last_step  BIGINT NOT NULL, -- of the last code that was accepted
    created_at BIGINT NOT NULL
);

CREATE TABLE recovery_codes (
    user_id    TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    hash       BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, hash)
);

-- Passkeys of users.
CREATE TABLE passkeys (
    id              TEXT PRIMARY KEY,
    user_id         TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name            TEXT NOT NULL,
    credential_id   BYTEA NOT NULL UNIQUE,
    public_key      BYTEA NOT NULL,
    sign_count      BIGINT NOT NULL,
    backup_eligible BOOLEAN NOT NULL,
    created_at      BIGINT NOT NULL,
    last_used_at    BIGINT
);
CREATE INDEX passkeys_user ON passkeys (user_id, created_at);
