-- +goose Up

-- Who changed what: an entry for each change by an actor, written in the
-- transaction of the change. old_fields and new_fields are JSON objects with the
-- fields that changed, without secrets and addresses of people. The object may
-- be gone, so nothing is referenced but the workspace.
CREATE TABLE audit_entries (
    id            TEXT PRIMARY KEY, -- sorts by time
    workspace_id  TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    happened_at   BIGINT NOT NULL,
    actor_kind    TEXT NOT NULL,
    actor_id      TEXT,
    actor_name    TEXT NOT NULL,
    actor_address TEXT,
    action        TEXT NOT NULL,
    object_kind   TEXT NOT NULL,
    object_id     TEXT NOT NULL,
    object_name   TEXT NOT NULL,
    old_fields    TEXT NOT NULL,
    new_fields    TEXT NOT NULL
);
CREATE INDEX audit_entries_workspace ON audit_entries (workspace_id, id);
CREATE INDEX audit_entries_object ON audit_entries (workspace_id, object_id, id);
CREATE INDEX audit_entries_age ON audit_entries (happened_at);
