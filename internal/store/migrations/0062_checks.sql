-- +goose Up

-- type is one of MonitorType. Monitors of other types than heartbeat have a row in checks, and no ping token: the column
-- token has a text that is none. failures_suppressed: the last failures were counted while a parent was down.
ALTER TABLE monitors ADD COLUMN type TEXT NOT NULL DEFAULT 'heartbeat';
ALTER TABLE monitors ADD COLUMN parent_id TEXT REFERENCES monitors (id) ON DELETE SET NULL;
ALTER TABLE monitors ADD COLUMN failures_suppressed BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX monitors_parent ON monitors (parent_id) WHERE parent_id IS NOT NULL;

-- What the service checks itself: see CheckSpec and CheckState. config and secret_fields are JSON; secrets is sealed. version
-- counts the configurations. due_at is the next regular check or the re-check before it (NULL: disabled). retry_at is
-- when another replica than those in retry_without is asked, in the same round, for its view. healthy: a good result
-- changes nothing here.
CREATE TABLE checks (
    monitor_id         TEXT PRIMARY KEY REFERENCES monitors (id) ON DELETE CASCADE,
    version            BIGINT NOT NULL,
    timeout_ms         BIGINT NOT NULL,
    slow_after_ms      BIGINT,
    recovery_threshold BIGINT NOT NULL,
    confirm_from       BIGINT NOT NULL,
    config             TEXT NOT NULL,
    secret_fields      TEXT NOT NULL,
    secrets            BYTEA,
    due_at             BIGINT,
    retry_at           BIGINT,
    retry_without      TEXT NOT NULL DEFAULT '[]',
    failed_from        TEXT NOT NULL DEFAULT '[]',
    unknown_from       TEXT NOT NULL DEFAULT '[]',
    counted            BOOLEAN NOT NULL DEFAULT FALSE,
    healthy            BOOLEAN NOT NULL DEFAULT FALSE,
    status             TEXT,
    reason             TEXT,
    good_results       BIGINT NOT NULL DEFAULT 0,
    slow_results       BIGINT NOT NULL DEFAULT 0,
    slow_since_at      BIGINT,
    unknown_since_at   BIGINT
);
CREATE INDEX checks_due ON checks (due_at, monitor_id) WHERE due_at IS NOT NULL;
CREATE INDEX checks_retry ON checks (retry_at, monitor_id) WHERE retry_at IS NOT NULL;

-- The results of the last day. Phases are in microseconds.
CREATE TABLE check_results (
    monitor_id             TEXT NOT NULL REFERENCES monitors (id) ON DELETE CASCADE,
    started_at             BIGINT NOT NULL,
    due_at                 BIGINT NOT NULL,
    status                 TEXT NOT NULL,
    reason                 TEXT,
    answered               BOOLEAN NOT NULL,
    warning                BOOLEAN NOT NULL,
    dns_us                 BIGINT NOT NULL,
    connect_us             BIGINT NOT NULL,
    tls_us                 BIGINT NOT NULL,
    first_byte_us          BIGINT NOT NULL,
    total_us               BIGINT NOT NULL,
    location               TEXT,
    certificate_expires_at BIGINT,
    body                   TEXT
);
CREATE INDEX check_results_of_monitor ON check_results (monitor_id, started_at);
CREATE INDEX check_results_started ON check_results (started_at);

-- Two monitors must not become each other's parents at the same time.
INSERT INTO mutexes (name) VALUES ('parents');

-- Where the replica is; '' if that is not set.
ALTER TABLE liveness ADD COLUMN location TEXT NOT NULL DEFAULT '';
