-- +goose Up

-- When a disabled monitor is enabled again by itself.
ALTER TABLE monitors ADD COLUMN paused_until_at BIGINT;
CREATE INDEX monitors_by_pause ON monitors (paused_until_at, id) WHERE paused_until_at IS NOT NULL;
