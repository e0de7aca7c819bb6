-- +goose Up

-- Who is told what happens on a page. key: what the links to the subscription
-- carry. host: where its messages go, so that one destination delays no other.
CREATE TABLE subscribers (
    id            TEXT PRIMARY KEY,
    page_id       TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
    channel       TEXT NOT NULL,
    target        TEXT NOT NULL,
    host          TEXT NOT NULL,
    key           TEXT NOT NULL UNIQUE,
    whole_page    BOOLEAN NOT NULL,
    secret        TEXT,
    old_secret    TEXT,
    old_secret_until_at BIGINT,
    confirmed_at  BIGINT,
    suspended_at  BIGINT,
    suspended_for TEXT,
    refusals      BIGINT NOT NULL,
    mailed_at     BIGINT,
    created_at    BIGINT NOT NULL,
    updated_at    BIGINT NOT NULL
);
CREATE UNIQUE INDEX subscribers_target ON subscribers (page_id, channel, target);
CREATE INDEX subscribers_page ON subscribers (page_id, id);
CREATE INDEX subscribers_unconfirmed ON subscribers (created_at) WHERE confirmed_at IS NULL;

-- The chosen components of those that did not choose the whole page. When the
-- last of them is deleted, they are told of what concerns the whole page.
CREATE TABLE subscriber_components (
    subscriber_id TEXT NOT NULL REFERENCES subscribers (id) ON DELETE CASCADE,
    component_id  TEXT NOT NULL REFERENCES components (id) ON DELETE CASCADE,
    PRIMARY KEY (subscriber_id, component_id)
);
CREATE INDEX subscriber_components_component ON subscriber_components (component_id);

-- One event, or one question, for one subscriber. An event's id and a
-- subscriber's make the id, so there is one of each. subscriber_id has no
-- foreign key: the log stays when the subscription and its address are gone.
CREATE TABLE deliveries (
    id              TEXT PRIMARY KEY,
    page_id         TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
    subscriber_id   TEXT NOT NULL,
    event_id        TEXT,
    purpose         TEXT NOT NULL,
    channel         TEXT NOT NULL,
    host            TEXT NOT NULL,
    lane            TEXT NOT NULL,
    position        BIGINT NOT NULL,
    thread          TEXT NOT NULL,
    bundle          TEXT,
    state           TEXT NOT NULL,
    happened_at     BIGINT NOT NULL,
    held_until_at   BIGINT,
    next_attempt_at BIGINT NOT NULL,
    attempts        BIGINT NOT NULL,
    fence           BIGINT NOT NULL,
    lease_until_at  BIGINT,
    carried_by      TEXT,
    reason          TEXT,
    created_at      BIGINT NOT NULL,
    updated_at      BIGINT NOT NULL
);
CREATE INDEX deliveries_due ON deliveries (channel, next_attempt_at) WHERE state = 'pending';
CREATE INDEX deliveries_leased ON deliveries (lease_until_at) WHERE state = 'sending';
CREATE INDEX deliveries_lane ON deliveries (lane, position) WHERE state IN ('pending', 'sending');
CREATE INDEX deliveries_subscriber ON deliveries (subscriber_id);
CREATE INDEX deliveries_carried ON deliveries (carried_by) WHERE carried_by IS NOT NULL;
CREATE INDEX deliveries_page ON deliveries (page_id, created_at);

-- How far the fan-out of each event is. reached: the last subscriber that has
-- its delivery; told_at: when mail tells of it (notices of a flapping monitor
-- wait). What happened before there were subscribers is told to nobody.
ALTER TABLE events ADD COLUMN monitor_id TEXT;
ALTER TABLE events ADD COLUMN bundle TEXT;
ALTER TABLE events ADD COLUMN told_at BIGINT;
ALTER TABLE events ADD COLUMN reached TEXT;
ALTER TABLE events ADD COLUMN progressed_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE events ADD COLUMN fanned_at BIGINT;
UPDATE events SET fanned_at = created_at;
CREATE INDEX events_open ON events (page_id, page_version, ordinal) WHERE fanned_at IS NULL;
CREATE INDEX events_incident ON events (incident_id) WHERE incident_id IS NOT NULL;
CREATE INDEX events_monitor ON events (monitor_id, told_at) WHERE monitor_id IS NOT NULL;

-- What replicas do one at a time: whoever has the row's lock.
CREATE TABLE turns (name TEXT PRIMARY KEY);
INSERT INTO turns (name) VALUES ('fan-out'), ('claim');
