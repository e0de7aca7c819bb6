-- +goose Up

-- Monitors are looked up by their names, among up to a million in a workspace.
CREATE INDEX monitors_name ON monitors (workspace_id, name);
