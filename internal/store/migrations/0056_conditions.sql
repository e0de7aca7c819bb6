-- +goose Up

-- The conditions on the runs of the job (NULL: none), and what happens when a run violates them: see RunConditions. warned
-- has the conditions that the last runs violated and that only warn, as JSON.
ALTER TABLE monitors ADD COLUMN min_runtime_ms BIGINT;
ALTER TABLE monitors ADD COLUMN max_per_interval BIGINT;
ALTER TABLE monitors ADD COLUMN no_overlap BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE monitors ADD COLUMN max_runtime_action TEXT NOT NULL DEFAULT 'down';
ALTER TABLE monitors ADD COLUMN min_runtime_action TEXT NOT NULL DEFAULT 'warn';
ALTER TABLE monitors ADD COLUMN max_per_interval_action TEXT NOT NULL DEFAULT 'warn';
ALTER TABLE monitors ADD COLUMN no_overlap_action TEXT NOT NULL DEFAULT 'warn';
ALTER TABLE monitors ADD COLUMN warned TEXT NOT NULL DEFAULT '[]';

-- Of starts. doubtful: the run may have begun earlier, or the start was recorded before. violated: the start violated a
-- condition that makes the monitor down, so that the end of the run does not bring it up.
ALTER TABLE signals ADD COLUMN doubtful BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE signals ADD COLUMN violated BOOLEAN NOT NULL DEFAULT FALSE;

-- Runs that violated a condition that warns. number counts those of a monitor.
CREATE TABLE warnings (
    id         TEXT PRIMARY KEY,
    monitor_id TEXT NOT NULL REFERENCES monitors (id) ON DELETE CASCADE,
    number     BIGINT NOT NULL,
    condition  TEXT NOT NULL,
    run_id     TEXT,
    message    TEXT NOT NULL,
    warned_at  BIGINT NOT NULL,
    ended_at   BIGINT,
    UNIQUE (monitor_id, number)
);
CREATE INDEX warnings_age ON warnings (warned_at);
