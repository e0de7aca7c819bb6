-- +goose Up

-- The overview counts the checks whose results are unknown.
CREATE INDEX checks_unknown ON checks (workspace_id) WHERE unknown_since_at IS NOT NULL;
