-- +goose Up

-- The languages that visitors of a page are offered, as a JSON array of tags; none: all.
ALTER TABLE pages ADD COLUMN languages TEXT NOT NULL DEFAULT '[]';

-- The style sheet of the page's own.
ALTER TABLE pages ADD COLUMN custom_css TEXT NOT NULL DEFAULT '';
