-- +goose Up

-- Who can see a private page, besides clients with a token (docs/decisions/0056-private-pages-and-hidden-components.md).
ALTER TABLE pages ADD COLUMN access_members BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE pages ADD COLUMN access_networks TEXT NOT NULL DEFAULT '[]';
ALTER TABLE pages ADD COLUMN access_password_hash TEXT;
ALTER TABLE pages ADD COLUMN access_password_set_at BIGINT;
ALTER TABLE pages ADD COLUMN access_link_hash TEXT;
ALTER TABLE pages ADD COLUMN access_link_created_at BIGINT;

-- Whether the subscriber signed up on the page while it was private, and so may get its events.
ALTER TABLE subscribers ADD COLUMN admitted BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE sign_ups ADD COLUMN admitted BOOLEAN NOT NULL DEFAULT FALSE;
