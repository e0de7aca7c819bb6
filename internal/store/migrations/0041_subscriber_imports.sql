-- +goose Up

-- Where the consent of the owner of an imported address comes from, and who said so.
ALTER TABLE subscribers ADD COLUMN consent TEXT;
ALTER TABLE subscribers ADD COLUMN consent_by TEXT;

-- Hashes of the addresses whose owners have unsubscribed, so that an import does not subscribe them again.
CREATE TABLE unsubscriptions (
    page_id     TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
    target_hash TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    PRIMARY KEY (page_id, target_hash)
);
