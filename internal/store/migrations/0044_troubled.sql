-- +goose Up

-- The few monitors that an overview shows among many.
CREATE INDEX monitors_troubled ON monitors (workspace_id) WHERE enabled AND (state = 'down' OR consecutive_failures > 0);
