-- +goose Up

-- What is published about an incident after its end; published_at NULL: a draft. postmortem_announced: a post-mortem of
-- the incident has been published once, so that subscribers are not notified again.
CREATE TABLE postmortems (
    incident_id  TEXT PRIMARY KEY REFERENCES incidents (id) ON DELETE CASCADE,
    body         TEXT NOT NULL,
    published_at BIGINT,
    edited_at    BIGINT,
    notified     BOOLEAN NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL
);
ALTER TABLE incidents ADD COLUMN postmortem_announced BOOLEAN NOT NULL DEFAULT FALSE;
