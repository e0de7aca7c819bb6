-- +goose Up

-- taken_over: the recovery of the monitor whose outage opened the incident does not resolve it. merged_into: the incident
-- in which its components and what happens next are; it is resolved.
ALTER TABLE incidents ADD COLUMN taken_over BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE incidents ADD COLUMN merged_into TEXT REFERENCES incidents (id) ON DELETE SET NULL;
CREATE INDEX incidents_merged_into ON incidents (merged_into) WHERE merged_into IS NOT NULL;
