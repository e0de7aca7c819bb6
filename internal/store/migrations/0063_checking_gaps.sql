-- +goose Up

-- Periods in which no replica could check the target of a monitor, because of its own network: like a listening gap, but of one
-- monitor. The current one is checks.unknown_since_at.
CREATE TABLE checking_gaps (
    monitor_id TEXT NOT NULL REFERENCES monitors (id) ON DELETE CASCADE,
    from_at    BIGINT NOT NULL,
    to_at      BIGINT NOT NULL,
    PRIMARY KEY (monitor_id, from_at)
);
CREATE INDEX checking_gaps_age ON checking_gaps (to_at);
