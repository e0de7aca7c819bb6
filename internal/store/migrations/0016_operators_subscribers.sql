-- +goose Up

-- Whether an operator added the subscriber, and not the form of the page. The mail that asks
-- for the confirmation says which.
ALTER TABLE subscribers ADD COLUMN added_by_operator BOOLEAN NOT NULL DEFAULT FALSE;
