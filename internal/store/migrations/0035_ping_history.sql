-- +goose Up

-- The last pings of each monitor, at most one per interval, newest first: see ping_history.go.
CREATE TABLE ping_history (
    monitor_id TEXT PRIMARY KEY REFERENCES monitors (id) ON DELETE CASCADE,
    pings      TEXT NOT NULL
);

-- What the overview lists of the last hour.
CREATE INDEX incidents_resolved ON incidents (resolved_at) WHERE resolved_at IS NOT NULL;
CREATE INDEX subscribers_suspended ON subscribers (suspended_at) WHERE suspended_at IS NOT NULL;
