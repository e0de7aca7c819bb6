-- +goose Up

-- A deleted channel is kept, without its settings and secrets, as long as the history of an alert names it. Its name may be used again.
ALTER TABLE alert_channels ADD COLUMN deleted_at BIGINT;
DROP INDEX alert_channels_name;
CREATE UNIQUE INDEX alert_channels_name ON alert_channels (workspace_id, name) WHERE deleted_at IS NULL;
CREATE INDEX alert_channels_deleted ON alert_channels (deleted_at) WHERE deleted_at IS NOT NULL;
