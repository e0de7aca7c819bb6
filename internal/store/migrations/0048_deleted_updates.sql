-- +goose Up

-- Finds the deleted updates of an incident, whose ids nothing else keeps.
CREATE INDEX audit_entries_deleted_updates ON audit_entries (workspace_id, id) WHERE object_kind = 'incident_update' AND action = 'delete';
