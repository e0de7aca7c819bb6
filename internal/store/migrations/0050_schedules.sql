-- +goose Up

-- The schedule of a monitor whose pings are due at the times of a cron expression; none: within interval_ms.
ALTER TABLE monitors ADD COLUMN cron_expression TEXT;
ALTER TABLE monitors ADD COLUMN cron_zone TEXT;

-- How much later than due a ping may come.
ALTER TABLE monitors ADD COLUMN grace_ms BIGINT NOT NULL DEFAULT 0;
