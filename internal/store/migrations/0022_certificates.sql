-- +goose Up

-- What package certificates keeps for all replicas: certificates, their private keys, the
-- account with the certificate authority, and the state of validations that are under way.
CREATE TABLE certificate_files (
    path        TEXT   NOT NULL PRIMARY KEY,
    content     BYTEA  NOT NULL,
    modified_at BIGINT NOT NULL
);

-- Leases: the holder of a lock obtains or renews a certificate. After expires_at another
-- replica may take the lock.
CREATE TABLE certificate_locks (
    name       TEXT   NOT NULL PRIMARY KEY,
    holder     TEXT   NOT NULL,
    expires_at BIGINT NOT NULL
);
