-- +goose Up

-- workspace_id: whose page a delivery is of, so that workspaces take turns when deliveries are sent.
ALTER TABLE deliveries ADD COLUMN workspace_id TEXT NOT NULL DEFAULT '';
UPDATE deliveries SET workspace_id = (SELECT p.workspace_id FROM pages p WHERE p.id = deliveries.page_id) WHERE state IN ('pending', 'sending');

DROP INDEX deliveries_due;
CREATE INDEX deliveries_due ON deliveries (channel, workspace_id, next_attempt_at, host) WHERE state = 'pending';
