-- +goose Up

-- Whether a token was given by ALLSWELL_BOOTSTRAP_TOKEN: another value there
-- revokes it.
ALTER TABLE tokens ADD COLUMN bootstrap BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE tokens SET bootstrap = TRUE WHERE name = 'bootstrap' AND scope = 'admin';
