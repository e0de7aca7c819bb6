-- +goose Up

-- edited_at: when the text of an update was last changed. silent: nobody was notified of the update. notified:
-- subscribers were notified of the incident.
ALTER TABLE incident_updates ADD COLUMN edited_at BIGINT;
ALTER TABLE incident_updates ADD COLUMN silent BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE incidents ADD COLUMN notified BOOLEAN NOT NULL DEFAULT TRUE;
UPDATE incidents SET notified = FALSE WHERE draft;
