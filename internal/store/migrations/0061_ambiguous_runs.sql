-- +goose Up

-- Of starts without a run id: another run without one had not ended, so that the next end can be that of either.
ALTER TABLE signals ADD COLUMN ambiguous BOOLEAN NOT NULL DEFAULT FALSE;
