-- +goose Up

-- The monitor that the title of an incident names, while the title is the one
-- that its outage gave it; NULL if a person wrote the title. Pages translate
-- such titles.
ALTER TABLE incidents ADD COLUMN down_monitor TEXT;
UPDATE incidents SET down_monitor = substr(title, 1, length(title) - 8)
    WHERE outage_id IS NOT NULL AND length(title) > 8 AND substr(title, length(title) - 7) = ' is down';
