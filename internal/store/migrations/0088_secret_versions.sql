-- +goose Up

-- How often each secret was changed, as a JSON object by field: see SecretVersions. NULL: never.
ALTER TABLE monitors ADD COLUMN secret_versions TEXT;
ALTER TABLE alert_channels ADD COLUMN secret_versions TEXT;
ALTER TABLE subscribers ADD COLUMN secret_versions TEXT;
