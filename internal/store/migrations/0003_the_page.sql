-- +goose Up

-- How a page looks, and where it is.
ALTER TABLE pages ADD COLUMN time_zone TEXT NOT NULL DEFAULT 'UTC';
ALTER TABLE pages ADD COLUMN language TEXT NOT NULL DEFAULT '';
ALTER TABLE pages ADD COLUMN domain TEXT;
ALTER TABLE pages ADD COLUMN accent TEXT NOT NULL DEFAULT '';
ALTER TABLE pages ADD COLUMN footer TEXT NOT NULL DEFAULT '[]';
CREATE UNIQUE INDEX pages_domain ON pages (domain) WHERE domain IS NOT NULL;

CREATE TABLE page_images (
    page_id TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
    kind    TEXT NOT NULL,
    type    TEXT NOT NULL,
    name    TEXT NOT NULL,
    body    BYTEA NOT NULL,
    PRIMARY KEY (page_id, kind)
);

-- A cause is of whatever has one: an outage, an incident, a maintenance. source
-- is its id, without a foreign key, because it is of one of three tables; the
-- verbs that end a source remove its causes.
CREATE TABLE causes_of_all (
    source       TEXT NOT NULL,
    component_id TEXT NOT NULL REFERENCES components (id) ON DELETE CASCADE,
    status       TEXT NOT NULL,
    acknowledged BOOLEAN NOT NULL,
    started_at   BIGINT NOT NULL,
    PRIMARY KEY (source, component_id)
);
INSERT INTO causes_of_all (source, component_id, status, acknowledged, started_at)
    SELECT outage_id, component_id, status, acknowledged, started_at FROM causes;
DROP TABLE causes;
ALTER TABLE causes_of_all RENAME TO causes;
CREATE INDEX causes_component ON causes (component_id);

-- The effective status of each component, change by change. What was before the
-- first row is not known.
CREATE TABLE status_changes (
    component_id TEXT NOT NULL REFERENCES components (id) ON DELETE CASCADE,
    changed_at   BIGINT NOT NULL,
    status       TEXT NOT NULL,
    PRIMARY KEY (component_id, changed_at)
);
-- Of the components that are there already, only the present status is known,
-- and that they have had it since they were last changed. The most severe of
-- the baseline and the causes, by the order of the rollup:
INSERT INTO status_changes (component_id, changed_at, status)
    SELECT id, updated_at, CASE worst WHEN 6 THEN 'major_outage' WHEN 5 THEN 'partial_outage' WHEN 4 THEN 'degraded'
        WHEN 3 THEN 'maintenance' WHEN 2 THEN 'operational' ELSE 'unknown' END
    FROM (SELECT c.id, c.updated_at, (SELECT max(CASE s.status WHEN 'major_outage' THEN 6 WHEN 'partial_outage' THEN 5
            WHEN 'degraded' THEN 4 WHEN 'degraded_performance' THEN 4 WHEN 'maintenance' THEN 3 WHEN 'operational' THEN 2 ELSE 1 END)
        FROM (SELECT c.baseline AS status UNION ALL
            SELECT k.status FROM causes k WHERE k.component_id = c.id AND NOT k.acknowledged) AS s) AS worst
        FROM components c) AS rated;

-- What an incident concerns. An update keeps what that was when it was written.
CREATE TABLE incident_components (
    incident_id  TEXT NOT NULL REFERENCES incidents (id) ON DELETE CASCADE,
    component_id TEXT NOT NULL REFERENCES components (id) ON DELETE CASCADE,
    status       TEXT NOT NULL,
    PRIMARY KEY (incident_id, component_id)
);
CREATE INDEX incident_components_component ON incident_components (component_id);
ALTER TABLE incident_updates ADD COLUMN affected TEXT NOT NULL DEFAULT '[]';
-- What the service itself tells by an update, as JSON; NULL: a human wrote it,
-- or it is not known.
ALTER TABLE incident_updates ADD COLUMN auto TEXT;

CREATE TABLE maintenances (
    id                 TEXT PRIMARY KEY,
    page_id            TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
    title              TEXT NOT NULL,
    state              TEXT NOT NULL,
    scheduled_for_at   BIGINT NOT NULL,
    scheduled_until_at BIGINT NOT NULL,
    begun_at           BIGINT,
    ended_at           BIGINT,
    remind_before_ms   BIGINT NOT NULL,
    reminded_at        BIGINT,
    next_edge_at       BIGINT,
    created_at         BIGINT NOT NULL,
    updated_at         BIGINT NOT NULL
);
CREATE INDEX maintenances_page ON maintenances (page_id, scheduled_for_at);
-- What the clock looks through.
CREATE INDEX maintenances_edge ON maintenances (next_edge_at) WHERE next_edge_at IS NOT NULL;

CREATE TABLE maintenance_components (
    maintenance_id TEXT NOT NULL REFERENCES maintenances (id) ON DELETE CASCADE,
    component_id   TEXT NOT NULL REFERENCES components (id) ON DELETE CASCADE,
    PRIMARY KEY (maintenance_id, component_id)
);
CREATE INDEX maintenance_components_component ON maintenance_components (component_id);

CREATE TABLE maintenance_updates (
    id             TEXT PRIMARY KEY,
    maintenance_id TEXT NOT NULL REFERENCES maintenances (id) ON DELETE CASCADE,
    number         BIGINT NOT NULL,
    message        TEXT NOT NULL,
    state          TEXT NOT NULL,
    auto           TEXT, -- as in incident_updates
    created_at     BIGINT NOT NULL
);
CREATE UNIQUE INDEX maintenance_updates_number ON maintenance_updates (maintenance_id, number);

-- When the planned maintenance of the monitor's component ends, or ended: until
-- then silence does not count.
ALTER TABLE monitors ADD COLUMN quiet_until_at BIGINT;

-- components: the ids of those that an event concerns, as a JSON array; NULL is
-- the whole page.
ALTER TABLE events ADD COLUMN maintenance_id TEXT;
ALTER TABLE events ADD COLUMN components TEXT;
UPDATE events SET components = '["' || component_id || '"]' WHERE component_id IS NOT NULL;
CREATE INDEX events_maintenance ON events (maintenance_id) WHERE maintenance_id IS NOT NULL;
