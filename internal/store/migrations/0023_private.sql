-- +goose Up

-- A monitor needs no page. Neither engine changes a column to accept NULL in the same way, so
-- the column is replaced; the table itself stays, with the rows that refer to it.
ALTER TABLE monitors ADD COLUMN optional_page_id TEXT REFERENCES pages (id) ON DELETE CASCADE;
UPDATE monitors SET optional_page_id = page_id;
DROP INDEX monitors_page;
ALTER TABLE monitors DROP COLUMN page_id;
ALTER TABLE monitors RENAME COLUMN optional_page_id TO page_id;
CREATE INDEX monitors_page ON monitors (page_id) WHERE page_id IS NOT NULL;

-- What happens to the incident that an outage opens: publish, draft or off. A monitor without
-- a value has that of its page.
ALTER TABLE pages ADD COLUMN auto_incidents TEXT NOT NULL DEFAULT 'publish';
ALTER TABLE monitors ADD COLUMN auto_incidents TEXT;

-- A draft waits for a person to publish it. Visitors and subscribers do not see it.
ALTER TABLE incidents ADD COLUMN draft BOOLEAN NOT NULL DEFAULT FALSE;

-- Who can see a page: public, unlisted or private. home: the page is shown at "/".
ALTER TABLE pages ADD COLUMN visibility TEXT NOT NULL DEFAULT 'public';
ALTER TABLE pages ADD COLUMN home BOOLEAN NOT NULL DEFAULT FALSE;
CREATE UNIQUE INDEX pages_home ON pages (workspace_id) WHERE home;

-- Visitors and subscribers do not see hidden components.
ALTER TABLE components ADD COLUMN hidden BOOLEAN NOT NULL DEFAULT FALSE;

-- What members of a workspace may be notified of: a monitor went down or came up. Written in the
-- transaction of the change, and apart from the events of pages, because subscribers never hear
-- of it and a monitor may have no page (docs/decisions/0053-incidents-without-and-after.md).
CREATE TABLE monitor_events (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    monitor_id   TEXT NOT NULL,
    outage_id    TEXT NOT NULL,
    kind         TEXT NOT NULL,
    data         TEXT NOT NULL,
    created_at   BIGINT NOT NULL
);
CREATE INDEX monitor_events_monitor ON monitor_events (monitor_id, created_at);
CREATE INDEX monitor_events_age ON monitor_events (created_at);

-- Changes of the home page of a workspace are made one after the other.
INSERT INTO mutexes (name) VALUES ('home');
