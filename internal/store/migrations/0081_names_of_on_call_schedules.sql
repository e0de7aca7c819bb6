-- +goose Up

-- Names of on-call schedules are unique, as those of channels and rules are. The oldest of several with a name keeps it; the others get a number, or their id if
-- another one has this name or it would be too long.
CREATE TABLE new_names AS
SELECT id, CASE
        WHEN length(name) <= 240 AND NOT EXISTS (SELECT 1 FROM on_call o WHERE o.workspace_id = d.workspace_id AND o.name = d.name || ' (' || d.number || ')')
        THEN name || ' (' || number || ')' ELSE substr(name, 1, 225) || ' (' || id || ')' END AS name
FROM (SELECT id, workspace_id, name, row_number() OVER (PARTITION BY workspace_id, name ORDER BY created_at, id) AS number FROM on_call) d WHERE number > 1;
UPDATE on_call SET name = (SELECT n.name FROM new_names n WHERE n.id = on_call.id) WHERE id IN (SELECT id FROM new_names);
DROP TABLE new_names;

CREATE UNIQUE INDEX on_call_name ON on_call (workspace_id, name);
