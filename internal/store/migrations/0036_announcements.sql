-- +goose Up

-- Notices at the top of a page.
CREATE TABLE announcements (
    id             TEXT PRIMARY KEY,
    page_id        TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
    title          TEXT NOT NULL,
    message        TEXT NOT NULL,
    level          TEXT NOT NULL,
    shown_from_at  BIGINT NOT NULL,
    shown_until_at BIGINT,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL
);
CREATE INDEX announcements_by_page ON announcements (page_id, shown_until_at);
