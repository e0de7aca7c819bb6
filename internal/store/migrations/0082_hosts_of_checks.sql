-- +goose Up

-- host is the host that a check was last claimed for, '' before it is known: what it is follows from the configuration, which
-- may be secret in parts, so the replicas that run a check tell. Checks of a host or a workspace that has as many running as it
-- may are not claimed. The index has both columns, so that claims pass over many of them quickly.
ALTER TABLE checks ADD COLUMN host TEXT NOT NULL DEFAULT '';
ALTER TABLE checks ADD COLUMN workspace_id TEXT NOT NULL DEFAULT '';
UPDATE checks SET workspace_id = (SELECT workspace_id FROM monitors WHERE id = monitor_id);
DROP INDEX checks_due;
DROP INDEX checks_retry;
CREATE INDEX checks_due ON checks (due_at, monitor_id, host, workspace_id) WHERE due_at IS NOT NULL;
CREATE INDEX checks_retry ON checks (retry_at, monitor_id, host, workspace_id) WHERE retry_at IS NOT NULL;
