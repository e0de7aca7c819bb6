-- +goose Up

-- recorded_at: when an incident was recorded that began earlier, at created_at. From created_at to unnoticed_until_at, its
-- components had at least the statuses that it gives them.
ALTER TABLE incidents ADD COLUMN recorded_at BIGINT;
ALTER TABLE incidents ADD COLUMN unnoticed_until_at BIGINT;
CREATE INDEX incidents_unnoticed ON incidents (page_id, unnoticed_until_at) WHERE unnoticed_until_at IS NOT NULL;
