-- +goose Up

-- Tags of monitors: a list in JSON, in order.
ALTER TABLE monitors ADD COLUMN tags TEXT NOT NULL DEFAULT '[]';
