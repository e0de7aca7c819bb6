-- +goose Up

ALTER TABLE tokens ADD COLUMN expires_at BIGINT;

-- Tokens, invitations and members that are limited to some pages. holder_id is the id of a token or an invitation, or the
-- ids of a member's user and workspace with a space between them.
ALTER TABLE tokens ADD COLUMN page_limited BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE invitations ADD COLUMN page_limited BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE members ADD COLUMN page_limited BOOLEAN NOT NULL DEFAULT FALSE;

CREATE TABLE page_limits (
    holder_id TEXT NOT NULL,
    page_id   TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
    PRIMARY KEY (holder_id, page_id)
);
CREATE INDEX page_limits_page ON page_limits (page_id);
