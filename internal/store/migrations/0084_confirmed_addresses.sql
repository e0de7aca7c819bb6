-- +goose Up

-- Channels of the type email are sent nothing before their address is confirmed. address is the one of such a channel, in the form in which addresses are compared.
ALTER TABLE alert_channels ADD COLUMN address TEXT;
UPDATE alert_channels SET address = lower(replace(substr(config, 8, length(config) - 9), '\u0026', '&')) WHERE type = 'email' AND substr(config, 1, 7) = '{"to":"';

-- The addresses that may be sent alerts of a workspace.
CREATE TABLE channel_addresses (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    address      TEXT NOT NULL,
    confirmed_at BIGINT NOT NULL,
    PRIMARY KEY (workspace_id, address)
);
INSERT INTO channel_addresses (workspace_id, address, confirmed_at)
SELECT workspace_id, address, min(created_at) FROM alert_channels WHERE address IS NOT NULL GROUP BY workspace_id, address;

-- Mails that ask for a confirmation, and those that are to be sent. hash is the hash of the code of the last attempt to send it.
CREATE TABLE address_confirmations (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    address      TEXT NOT NULL,
    asked_at     BIGINT NOT NULL,
    attempts     BIGINT NOT NULL,
    due_at       BIGINT,
    hash         BYTEA UNIQUE,
    PRIMARY KEY (workspace_id, address, asked_at)
);
CREATE INDEX address_confirmations_due ON address_confirmations (due_at) WHERE due_at IS NOT NULL;

-- Whether a user has proved that the address is theirs. An invitation does not, because whoever invites sees the link.
ALTER TABLE users ADD COLUMN email_confirmed BOOLEAN NOT NULL DEFAULT FALSE;
UPDATE users SET email_confirmed = TRUE;
