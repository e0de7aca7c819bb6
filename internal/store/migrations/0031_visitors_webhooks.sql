-- +goose Up

-- Whether visitors can subscribe webhooks to a page, and the channel of each request.
ALTER TABLE pages ADD COLUMN webhook_sign_ups BOOLEAN NOT NULL DEFAULT TRUE;
ALTER TABLE sign_ups ADD COLUMN channel TEXT NOT NULL DEFAULT 'email';

-- Until now, only operators added webhooks.
UPDATE subscribers SET added_by_operator = TRUE WHERE channel = 'webhook';
