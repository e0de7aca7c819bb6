-- +goose Up

-- Why nobody knew whether the target works: see monitor.GapCauses. NULL: saved before the column was.
ALTER TABLE checking_gaps ADD COLUMN cause TEXT;
