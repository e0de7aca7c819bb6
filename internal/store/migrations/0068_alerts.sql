-- +goose Up

-- Events that AdvanceAlerts has not looked at have no routed_at. Those of before there were alerts are told to nobody. Events that are not
-- about a monitor have an empty monitor_id; outage_id is the key of the alert: of an outage, a warning, or another object.
ALTER TABLE monitor_events ADD COLUMN routed_at BIGINT;
UPDATE monitor_events SET routed_at = created_at;
CREATE INDEX monitor_events_new ON monitor_events (created_at, kind, id) WHERE routed_at IS NULL;

-- due_at: when a message is sent next; NULL: none waits.
CREATE TABLE alert_channels (
    id               TEXT PRIMARY KEY,
    workspace_id     TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    type             TEXT NOT NULL,
    name             TEXT NOT NULL,
    enabled          BOOLEAN NOT NULL,
    config           TEXT NOT NULL,
    secrets          BYTEA,
    secret_fields    TEXT NOT NULL,
    max_per_minute   BIGINT NOT NULL,
    fallback_id      TEXT REFERENCES alert_channels (id) ON DELETE SET NULL,
    test_weekly      BOOLEAN NOT NULL,
    tested_at        BIGINT,
    attempted_at     BIGINT,
    taken_at         BIGINT,
    failing_since_at BIGINT,
    failures         BIGINT NOT NULL DEFAULT 0,
    reason           TEXT,
    due_at           BIGINT,
    lease_until_at   BIGINT,
    fencing_token    BIGINT NOT NULL DEFAULT 0,
    created_at       BIGINT NOT NULL,
    updated_at       BIGINT NOT NULL
);
CREATE UNIQUE INDEX alert_channels_name ON alert_channels (workspace_id, name);
CREATE INDEX alert_channels_due ON alert_channels (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX alert_channels_fallback ON alert_channels (fallback_id) WHERE fallback_id IS NOT NULL;

-- rule and schedule are JSON.
CREATE TABLE alert_rules (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    enabled      BOOLEAN NOT NULL,
    rule         TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
CREATE UNIQUE INDEX alert_rules_name ON alert_rules (workspace_id, name);

CREATE TABLE on_call (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    slug         TEXT NOT NULL,
    name         TEXT NOT NULL,
    schedule     TEXT NOT NULL,
    calendar_key TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
CREATE UNIQUE INDEX on_call_slug ON on_call (workspace_id, slug);
CREATE UNIQUE INDEX on_call_calendar ON on_call (calendar_key);

CREATE TABLE silences (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    filter       TEXT NOT NULL,
    comment      TEXT NOT NULL,
    starts_at    BIGINT NOT NULL,
    ends_at      BIGINT NOT NULL,
    created_by   TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
CREATE INDEX silences_end ON silences (workspace_id, ends_at);

-- event_key with workspace_id and event finds the alert that an event ends. tell_at is when the alert may be told: later than opened_at
-- if its monitor is flapping.
CREATE TABLE alerts (
    id              TEXT PRIMARY KEY,
    workspace_id    TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    event           TEXT NOT NULL,
    event_key       TEXT NOT NULL,
    monitor_id      TEXT,
    page_id         TEXT,
    subject         TEXT NOT NULL,
    opened_at       BIGINT NOT NULL,
    tell_at         BIGINT NOT NULL,
    acknowledged_at BIGINT,
    acknowledged_by TEXT,
    resolved_at     BIGINT,
    end_reason      TEXT
);
CREATE INDEX alerts_workspace ON alerts (workspace_id, opened_at, id);
CREATE INDEX alerts_open ON alerts (event_key) WHERE resolved_at IS NULL;
CREATE INDEX alerts_monitor ON alerts (monitor_id, opened_at) WHERE monitor_id IS NOT NULL;
CREATE INDEX alerts_ended ON alerts (resolved_at) WHERE resolved_at IS NOT NULL;

-- How far a rule is with an alert: see alert.Progress. A row without due_at has nothing left to do.
CREATE TABLE alert_progress (
    alert_id TEXT NOT NULL REFERENCES alerts (id) ON DELETE CASCADE,
    rule_id  TEXT NOT NULL REFERENCES alert_rules (id) ON DELETE CASCADE,
    due_at   BIGINT,
    step     BIGINT NOT NULL,
    repeats  BIGINT NOT NULL,
    holds    BIGINT NOT NULL,
    held     TEXT,
    flapping BOOLEAN NOT NULL,
    PRIMARY KEY (alert_id, rule_id)
);
CREATE INDEX alert_progress_due ON alert_progress (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX alert_progress_rule ON alert_progress (rule_id);

-- The conversations with channels about alerts. "key" is in the address that acknowledges the alerts of a thread.
CREATE TABLE alert_threads (
    id         TEXT PRIMARY KEY,
    channel_id TEXT NOT NULL REFERENCES alert_channels (id) ON DELETE CASCADE,
    secret_key TEXT NOT NULL,
    reference  TEXT,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX alert_threads_key ON alert_threads (secret_key);
CREATE INDEX alert_threads_channel ON alert_threads (channel_id, created_at);

-- Which channels are told of an alert. thread_id: in which thread they were told first; NULL: not yet.
CREATE TABLE alert_recipients (
    alert_id   TEXT NOT NULL REFERENCES alerts (id) ON DELETE CASCADE,
    channel_id TEXT NOT NULL REFERENCES alert_channels (id) ON DELETE CASCADE,
    thread_id  TEXT REFERENCES alert_threads (id) ON DELETE SET NULL,
    PRIMARY KEY (alert_id, channel_id)
);
CREATE INDEX alert_recipients_thread ON alert_recipients (thread_id) WHERE thread_id IS NOT NULL;
CREATE INDEX alert_recipients_channel ON alert_recipients (channel_id);

-- Messages that were composed. state is sending, sent or failed.
CREATE TABLE alert_messages (
    id          TEXT PRIMARY KEY,
    channel_id  TEXT NOT NULL REFERENCES alert_channels (id) ON DELETE CASCADE,
    thread_id   TEXT REFERENCES alert_threads (id) ON DELETE CASCADE,
    first       BOOLEAN NOT NULL,
    state       TEXT NOT NULL,
    attempts    BIGINT NOT NULL,
    reason      TEXT,
    created_at  BIGINT NOT NULL,
    finished_at BIGINT
);
CREATE INDEX alert_messages_open ON alert_messages (channel_id) WHERE state = 'sending';
CREATE INDEX alert_messages_channel ON alert_messages (channel_id, created_at);
CREATE INDEX alert_messages_sent ON alert_messages (channel_id, finished_at) WHERE state = 'sent';
CREATE INDEX alert_messages_thread ON alert_messages (thread_id) WHERE thread_id IS NOT NULL;

-- What channels are to be told of alerts. message_id: the message that tells it; NULL: it waits.
CREATE TABLE alert_notices (
    id         TEXT PRIMARY KEY,
    alert_id   TEXT NOT NULL REFERENCES alerts (id) ON DELETE CASCADE,
    channel_id TEXT NOT NULL REFERENCES alert_channels (id) ON DELETE CASCADE,
    kind       TEXT NOT NULL,
    rule_id    TEXT,
    message_id TEXT REFERENCES alert_messages (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL
);
CREATE INDEX alert_notices_waiting ON alert_notices (channel_id, created_at, id) WHERE message_id IS NULL;
CREATE INDEX alert_notices_message ON alert_notices (message_id) WHERE message_id IS NOT NULL;
CREATE INDEX alert_notices_alert ON alert_notices (alert_id);

-- Alerts are advanced by one replica at a time.
INSERT INTO mutexes (name) VALUES ('alerts');
