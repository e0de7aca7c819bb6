-- +goose Up

-- Why rules held alerts back, and until when. reason is an alert.HoldReason.
CREATE TABLE alert_holds (
    alert_id TEXT NOT NULL REFERENCES alerts (id) ON DELETE CASCADE,
    rule_id  TEXT NOT NULL,
    reason   TEXT NOT NULL,
    held_at  BIGINT NOT NULL,
    until_at BIGINT NOT NULL,
    PRIMARY KEY (alert_id, held_at, rule_id)
);

-- The alerts that last. Every screen of the dashboard counts those that nobody has acknowledged.
CREATE INDEX alerts_lasting ON alerts (workspace_id, opened_at, id) WHERE resolved_at IS NULL;
