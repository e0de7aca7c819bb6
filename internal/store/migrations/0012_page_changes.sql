-- +goose Up

-- How many transactions changed what a page shows. On PostgreSQL each of them
-- adds one, as its last statement, so that replicas need to read one row to see
-- that another replica changed something. SQLite has no replicas and leaves it 0.
CREATE TABLE page_changes (
    id      BIGINT PRIMARY KEY CHECK (id = 1),
    changes BIGINT NOT NULL
);
INSERT INTO page_changes (id, changes) VALUES (1, 0);
