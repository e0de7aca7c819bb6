-- +goose Up

-- Set until a person gives the impact: it follows the components until then. Of older incidents it is not known who gave it.
ALTER TABLE incidents ADD COLUMN impact_derived BOOLEAN NOT NULL DEFAULT FALSE;
