-- +goose Up

-- The value of Allswell-Ignored of the saved response; '': it has none.
ALTER TABLE idempotency_keys ADD COLUMN ignored TEXT NOT NULL DEFAULT '';
