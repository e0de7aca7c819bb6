-- +goose Up

-- Where a page's domain points to, as a JSON object; none: not looked up yet.
ALTER TABLE pages ADD COLUMN domain_lookup TEXT;
