-- +goose Up

-- How a session began.
ALTER TABLE sessions ADD COLUMN method TEXT NOT NULL DEFAULT 'password';
