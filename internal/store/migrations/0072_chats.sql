-- +goose Up

-- The URL of a chat's incoming webhook is a secret: whoever has it can post there. target has the part of it that people see, sealed_target all of it,
-- and target_key a hash by which it is found again. Other channels have neither. code confirms a subscription.
ALTER TABLE subscribers ADD COLUMN target_key TEXT NOT NULL DEFAULT '';
ALTER TABLE subscribers ADD COLUMN sealed_target BYTEA;
ALTER TABLE subscribers ADD COLUMN code TEXT;
ALTER TABLE subscribers ADD COLUMN code_until_at BIGINT;
ALTER TABLE subscribers ADD COLUMN code_attempts BIGINT NOT NULL DEFAULT 0;
DROP INDEX subscribers_target;
CREATE UNIQUE INDEX subscribers_target ON subscribers (page_id, channel, target, target_key);
CREATE INDEX subscribers_target_key ON subscribers (target_key) WHERE target_key <> '';
ALTER TABLE sign_ups ADD COLUMN target_key TEXT NOT NULL DEFAULT '';
ALTER TABLE sign_ups ADD COLUMN sealed_target BYTEA;
