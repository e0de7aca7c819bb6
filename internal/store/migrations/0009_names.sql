-- +goose Up

-- Tables and columns get the names under which engineers of this field look for
-- them. Nothing else changes: every row stays as it is.

-- The last ping of each monitor. healthy: the monitor is enabled, up, and was
-- pinged before, so that a ping changes nothing but this row.
ALTER TABLE heard RENAME TO last_pings;
ALTER TABLE last_pings RENAME COLUMN heard_at TO pinged_at;
ALTER TABLE last_pings RENAME COLUMN live TO healthy;

-- When each replica was last able to receive pings, and the gaps in which none was.
ALTER TABLE beats RENAME TO liveness;
ALTER TABLE liveness RENAME COLUMN beat_at TO seen_at;
ALTER TABLE holes RENAME TO listening_gaps;
DROP INDEX holes_to;
CREATE INDEX listening_gaps_to ON listening_gaps (to_at);

-- The first responses to requests with an idempotency key.
ALTER TABLE answers RENAME TO idempotency_keys;
DROP INDEX answers_age;
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- A replica that holds the lock of a row is the only one that does what it names.
ALTER TABLE turns RENAME TO mutexes;

ALTER TABLE monitors RENAME COLUMN refused_at TO rejected_at;
ALTER TABLE monitors RENAME COLUMN quiet_until_at TO suppressed_until_at;

ALTER TABLE maintenances RENAME COLUMN next_edge_at TO next_transition_at;
DROP INDEX maintenances_edge;
CREATE INDEX maintenances_transition ON maintenances (next_transition_at) WHERE next_transition_at IS NOT NULL;

-- The text that the service itself wrote, as JSON.
ALTER TABLE incident_updates RENAME COLUMN auto TO system_message;
ALTER TABLE maintenance_updates RENAME COLUMN auto TO system_message;

ALTER TABLE subscribers RENAME COLUMN refusals TO rejections;
ALTER TABLE subscribers RENAME COLUMN suspended_for TO suspension_reason;

-- notify_at: when mail of the event is due. fan_out_cursor: the last subscriber
-- that the fan-out has reached.
ALTER TABLE events RENAME COLUMN bundle TO digest_key;
ALTER TABLE events RENAME COLUMN told_at TO notify_at;
ALTER TABLE events RENAME COLUMN reached TO fan_out_cursor;
ALTER TABLE events RENAME COLUMN progressed_at TO fan_out_progress_at;
ALTER TABLE events RENAME COLUMN fanned_at TO fanned_out_at;

-- Deliveries with one ordering key are sent one at a time. A later mail replaces
-- a waiting one with the same collapse key; those with one digest key share a mail.
ALTER TABLE deliveries RENAME COLUMN lane TO ordering_key;
ALTER TABLE deliveries RENAME COLUMN thread TO collapse_key;
ALTER TABLE deliveries RENAME COLUMN bundle TO digest_key;
ALTER TABLE deliveries RENAME COLUMN fence TO fencing_token;
ALTER TABLE deliveries RENAME COLUMN carried_by TO merged_into;
DROP INDEX deliveries_lane;
CREATE INDEX deliveries_ordering ON deliveries (ordering_key, position) WHERE state IN ('pending', 'sending');
DROP INDEX deliveries_carried;
CREATE INDEX deliveries_merged ON deliveries (merged_into) WHERE merged_into IS NOT NULL;
