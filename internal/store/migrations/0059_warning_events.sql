-- +goose Up

-- Whether a webhook that an operator added is notified of the warnings of monitors.
ALTER TABLE subscribers ADD COLUMN warnings BOOLEAN NOT NULL DEFAULT FALSE;

-- The warning that an event is about. Such an event does not change the page: it has the page's version of its time, and
-- for its ordinal the number of the warning. Each warning begins and ends once.
ALTER TABLE events ADD COLUMN warning_id TEXT;
DROP INDEX events_order;
CREATE UNIQUE INDEX events_order ON events (page_id, page_version, ordinal, coalesce(warning_id, ''));
CREATE UNIQUE INDEX events_warning ON events (warning_id, kind) WHERE warning_id IS NOT NULL;
