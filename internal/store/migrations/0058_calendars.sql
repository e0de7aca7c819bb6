-- +goose Up

-- The cron_expression of the monitor is one of systemd's OnCalendar.
ALTER TABLE monitors ADD COLUMN calendar BOOLEAN NOT NULL DEFAULT FALSE;
