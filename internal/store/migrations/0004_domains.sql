-- +goose Up

-- How far a page has proved that its domain is its own. domain_claimed_at is set
-- with domain; domain_verified_at while the page is served there;
-- domain_check_at unless no proof is needed. domain_result is that of the check
-- at domain_checked_at.
ALTER TABLE pages ADD COLUMN domain_claimed_at BIGINT;
ALTER TABLE pages ADD COLUMN domain_verified_at BIGINT;
ALTER TABLE pages ADD COLUMN domain_checked_at BIGINT;
ALTER TABLE pages ADD COLUMN domain_failed_at BIGINT;
ALTER TABLE pages ADD COLUMN domain_check_at BIGINT;
ALTER TABLE pages ADD COLUMN domain_result TEXT NOT NULL DEFAULT '';

-- Domains of today stay where they are. Those of the first workspace need no
-- proof; the others are checked at once, and the grace period of those without a
-- proof begins with the first check.
UPDATE pages SET domain_claimed_at = updated_at, domain_verified_at = updated_at WHERE domain IS NOT NULL;
UPDATE pages SET domain_check_at = updated_at WHERE domain IS NOT NULL
    AND workspace_id NOT IN (SELECT id FROM workspaces WHERE name = 'default');

-- Several pages may claim a domain, one is served there.
DROP INDEX pages_domain;
CREATE UNIQUE INDEX pages_domain ON pages (domain) WHERE domain_verified_at IS NOT NULL;
CREATE INDEX pages_domain_check ON pages (domain_check_at) WHERE domain_check_at IS NOT NULL;

-- Changes of who is served at a domain are made one after the other.
INSERT INTO turns (name) VALUES ('domains');
