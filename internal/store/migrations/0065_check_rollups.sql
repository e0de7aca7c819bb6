-- +goose Up

-- Summaries of the results of checks. A row has those of consecutive periods of step_ms, the first of which begins at
-- starts_at: see checkStep. data is an encoded checkstats.Chunk.
CREATE TABLE check_rollups (
    monitor_id TEXT NOT NULL REFERENCES monitors (id) ON DELETE CASCADE,
    step_ms    BIGINT NOT NULL,
    starts_at  BIGINT NOT NULL,
    data       BYTEA NOT NULL,
    PRIMARY KEY (monitor_id, step_ms, starts_at)
);
CREATE INDEX check_rollups_age ON check_rollups (step_ms, starts_at);

-- Whether the pages of components show how long the checks of their monitors took.
ALTER TABLE pages ADD COLUMN response_times BOOLEAN NOT NULL DEFAULT FALSE;

-- How far results have been summed up: those of all hours before hour_at, and of that hour those of the monitors
-- up to after_id. One row.
CREATE TABLE check_fold (
    id       BIGINT PRIMARY KEY,
    hour_at  BIGINT NOT NULL,
    after_id TEXT NOT NULL
);
