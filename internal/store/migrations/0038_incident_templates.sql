-- +goose Up

-- Templates of incidents; page_id NULL: of all pages of the workspace.
CREATE TABLE incident_templates (
    id           TEXT PRIMARY KEY,
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    page_id      TEXT REFERENCES pages (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    title        TEXT NOT NULL,
    impact       TEXT NOT NULL,
    state        TEXT NOT NULL,
    message      TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    UNIQUE (workspace_id, name)
);
CREATE INDEX incident_templates_page ON incident_templates (page_id) WHERE page_id IS NOT NULL;
