-- +goose Up

-- How long a run of the job may take (NULL: the default, see Monitor.RunLimit), whether the end of the output of a failed
-- run is published, and when the first of the runs that have begun must have ended.
ALTER TABLE monitors ADD COLUMN max_runtime_ms BIGINT;
ALTER TABLE monitors ADD COLUMN publish_output BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE monitors ADD COLUMN run_due_at BIGINT;
CREATE INDEX monitors_run_due ON monitors (run_due_at, id) WHERE run_due_at IS NOT NULL;

-- Why it began: see OutageReason.
ALTER TABLE outages ADD COLUMN reason TEXT NOT NULL DEFAULT 'silent';

-- What jobs reported of themselves, except for plain pings. number counts those of a monitor. running is set for a start
-- whose run has not ended, and due_at is when it must have; NULL: that is no longer expected. output is compressed: see
-- ping_signal_output.go.
CREATE TABLE signals (
    id          TEXT PRIMARY KEY,
    monitor_id  TEXT NOT NULL REFERENCES monitors (id) ON DELETE CASCADE,
    number      BIGINT NOT NULL,
    received_at BIGINT NOT NULL,
    kind        TEXT NOT NULL,
    exit_code   BIGINT,
    run_id      TEXT,
    duration_ms BIGINT,
    running     BOOLEAN NOT NULL,
    due_at      BIGINT,
    address     TEXT,
    user_agent  TEXT NOT NULL,
    output_size BIGINT NOT NULL,
    output_cut  BOOLEAN NOT NULL,
    output      BYTEA,
    UNIQUE (monitor_id, number)
);
CREATE INDEX signals_received ON signals (received_at);
CREATE INDEX signals_running ON signals (monitor_id) WHERE running;

-- How a job failed whose incident it is; only people who have signed in and API tokens see it.
CREATE TABLE incident_notes (
    id          TEXT PRIMARY KEY,
    incident_id TEXT NOT NULL REFERENCES incidents (id) ON DELETE CASCADE,
    exit_code   BIGINT,
    output      TEXT NOT NULL,
    created_at  BIGINT NOT NULL
);
CREATE INDEX incident_notes_of_incident ON incident_notes (incident_id);
