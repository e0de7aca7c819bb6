-- +goose Up

-- The last pings of each monitor, at most one per interval, newest first: see ping_history.go.
CREATE TABLE ping_history (
    monitor_id TEXT PRIMARY KEY REFERENCES monitors (id) ON DELETE CASCADE,
    pings      TEXT NOT NULL
);
