-- +goose Up

-- Components that were hidden when they were deleted. Updates that were written before they were
-- hidden name them, and visitors do not see that.
CREATE TABLE deleted_hidden_components (
    id      TEXT PRIMARY KEY,
    page_id TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE
);
CREATE INDEX deleted_hidden_components_page ON deleted_hidden_components (page_id);
