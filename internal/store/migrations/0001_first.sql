-- +goose Up

-- One schema for SQLite and PostgreSQL: types that both spell alike, ids made
-- by us, instants as milliseconds since 1970 (…_at), durations as …_ms.

CREATE TABLE workspaces (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

CREATE TABLE tokens (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    scope        TEXT NOT NULL,
    hash         BYTEA NOT NULL UNIQUE,
    created_at   BIGINT NOT NULL,
    last_used_at BIGINT,
    revoked_at   BIGINT
);
CREATE INDEX tokens_workspace ON tokens (workspace_id, created_at);

CREATE TABLE pages (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    slug         TEXT NOT NULL UNIQUE,
    name         TEXT NOT NULL,
    description  TEXT,
    version      BIGINT NOT NULL DEFAULT 1,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
CREATE INDEX pages_workspace ON pages (workspace_id, created_at);

CREATE TABLE component_groups (
    id         TEXT PRIMARY KEY,
    page_id    TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
    name       TEXT NOT NULL,
    position   BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX component_groups_page ON component_groups (page_id, position);

CREATE TABLE components (
    id          TEXT PRIMARY KEY,
    page_id     TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
    group_id    TEXT REFERENCES component_groups (id) ON DELETE SET NULL,
    name        TEXT NOT NULL,
    description TEXT,
    baseline    TEXT NOT NULL,
    position    BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);
CREATE INDEX components_page ON components (page_id, position);
CREATE INDEX components_group ON components (group_id) WHERE group_id IS NOT NULL;

CREATE TABLE monitors (
    id                   TEXT PRIMARY KEY,
    workspace_id         TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    page_id              TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
    component_id         TEXT REFERENCES components (id) ON DELETE SET NULL,
    name                 TEXT NOT NULL,
    token                TEXT NOT NULL UNIQUE,
    old_token            TEXT,
    old_token_until_at   BIGINT,
    interval_ms          BIGINT NOT NULL,
    enabled              BOOLEAN NOT NULL,
    failure_threshold    BIGINT NOT NULL,
    down_status          TEXT NOT NULL,
    state                TEXT NOT NULL,
    consecutive_failures BIGINT NOT NULL,
    last_ping_at         BIGINT,
    waiting_since_at     BIGINT,
    next_check_at        BIGINT,
    refused_at           BIGINT,
    ticked_at            BIGINT,
    created_at           BIGINT NOT NULL,
    updated_at           BIGINT NOT NULL
);
CREATE INDEX monitors_workspace ON monitors (workspace_id, created_at);
CREATE INDEX monitors_page ON monitors (page_id);
CREATE INDEX monitors_component ON monitors (component_id) WHERE component_id IS NOT NULL;
CREATE UNIQUE INDEX monitors_old_token ON monitors (old_token) WHERE old_token IS NOT NULL;
-- What a tick looks through: monitors that could be overdue, soonest first.
CREATE INDEX monitors_due ON monitors (next_check_at)
    WHERE enabled AND state = 'up' AND next_check_at IS NOT NULL;

-- The last ping of each monitor, apart from all else, because it is what is
-- written most: a narrow row, and no index that moves with it. It is put into
-- the monitor when that is loaded. live: the monitor is enabled, up, and was
-- pinged before, so that a ping means no more than this row.
CREATE TABLE heard (
    token    TEXT PRIMARY KEY REFERENCES monitors (token) ON DELETE CASCADE ON UPDATE CASCADE,
    heard_at BIGINT,
    live     BOOLEAN NOT NULL
);

CREATE TABLE outages (
    id              TEXT PRIMARY KEY,
    monitor_id      TEXT NOT NULL REFERENCES monitors (id) ON DELETE CASCADE,
    silent_since_at BIGINT NOT NULL,
    started_at      BIGINT NOT NULL,
    ended_at        BIGINT
);
CREATE INDEX outages_monitor ON outages (monitor_id);
CREATE UNIQUE INDEX outages_open ON outages (monitor_id) WHERE ended_at IS NULL;

CREATE TABLE causes (
    outage_id    TEXT PRIMARY KEY REFERENCES outages (id) ON DELETE CASCADE,
    component_id TEXT NOT NULL REFERENCES components (id) ON DELETE CASCADE,
    status       TEXT NOT NULL,
    acknowledged BOOLEAN NOT NULL,
    started_at   BIGINT NOT NULL
);
CREATE INDEX causes_component ON causes (component_id);

-- outage_id is kept without a foreign key: the incident stays when its monitor
-- is deleted.
CREATE TABLE incidents (
    id          TEXT PRIMARY KEY,
    page_id     TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
    outage_id   TEXT,
    title       TEXT NOT NULL,
    impact      TEXT NOT NULL,
    state       TEXT NOT NULL,
    resolved    BOOLEAN NOT NULL,
    resolved_at BIGINT,
    created_at  BIGINT NOT NULL,
    updated_at  BIGINT NOT NULL
);
CREATE INDEX incidents_page ON incidents (page_id, created_at);
CREATE INDEX incidents_active ON incidents (page_id) WHERE NOT resolved;
CREATE UNIQUE INDEX incidents_outage ON incidents (outage_id) WHERE outage_id IS NOT NULL;

CREATE TABLE incident_updates (
    id          TEXT PRIMARY KEY,
    incident_id TEXT NOT NULL REFERENCES incidents (id) ON DELETE CASCADE,
    number      BIGINT NOT NULL,
    message     TEXT NOT NULL,
    state       TEXT NOT NULL,
    created_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX incident_updates_number ON incident_updates (incident_id, number);

-- What subscribers may be told, written in the transaction of what happened.
-- Ids without foreign keys: what happened stays true when its object is gone.
CREATE TABLE events (
    id           TEXT PRIMARY KEY,
    page_id      TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
    page_version BIGINT NOT NULL,
    ordinal      BIGINT NOT NULL,
    kind         TEXT NOT NULL,
    incident_id  TEXT,
    update_id    TEXT,
    component_id TEXT,
    outage_id    TEXT,
    data         TEXT NOT NULL,
    created_at   BIGINT NOT NULL
);
CREATE UNIQUE INDEX events_order ON events (page_id, page_version, ordinal);

-- The ledger of listening: when each replica last noted that it could hear, and
-- the holes in which none could.
CREATE TABLE beats (
    replica    TEXT PRIMARY KEY,
    beat_at    BIGINT NOT NULL,
    backlog_ms BIGINT NOT NULL
);
CREATE TABLE holes (
    from_at BIGINT PRIMARY KEY,
    to_at   BIGINT NOT NULL
);
CREATE INDEX holes_to ON holes (to_at);

-- The first answers to requests with an idempotency key.
CREATE TABLE answers (
    token_id     TEXT NOT NULL REFERENCES tokens (id) ON DELETE CASCADE,
    key          TEXT NOT NULL,
    request_hash BYTEA NOT NULL,
    status       BIGINT NOT NULL,
    body         BYTEA NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (token_id, key)
);
CREATE INDEX answers_age ON answers (created_at);
