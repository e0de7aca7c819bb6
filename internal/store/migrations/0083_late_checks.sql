-- +goose Up

-- late: the last result is so old that the check is late (see CheckWait), and so unknown_since_at is not NULL. awaited_since_at
-- is CheckWait.Since as far as it was known when the check was claimed or looked at last, and late_at when it is looked at
-- next, which is never after CheckWait.LateAt; NULL: disabled, or late already. Results do not write them.
ALTER TABLE checks ADD COLUMN late BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE checks ADD COLUMN awaited_since_at BIGINT;
ALTER TABLE checks ADD COLUMN late_at BIGINT;
UPDATE checks SET awaited_since_at = due_at - (SELECT interval_ms FROM monitors WHERE id = monitor_id),
    late_at = due_at + 2 * (SELECT interval_ms FROM monitors WHERE id = monitor_id) WHERE due_at IS NOT NULL;
-- Their results are not kept until they are late: see Monitor.ForgetsResults.
UPDATE checks SET healthy = FALSE WHERE monitor_id IN (SELECT id FROM monitors WHERE interval_ms >= 28800000);
CREATE INDEX checks_late_at ON checks (late_at, monitor_id) WHERE late_at IS NOT NULL;
CREATE INDEX checks_late ON checks (workspace_id) WHERE late;

-- Workspaces whose members were notified that checks are late, until they are notified of the end.
CREATE TABLE late_workspaces (
    workspace_id TEXT PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
    since_at     BIGINT NOT NULL
);
