-- +goose Up

-- What people asked for by the public form, until it is done a moment later.
-- Every request writes one row here and nothing else, so that its answer takes
-- as long for an address that is known as for one that is not. components: the
-- ids of those that were chosen, as a JSON array; none is the whole page.
-- discarded: the mailbox has had enough mail; the row only takes its time.
CREATE TABLE sign_ups (
    id         TEXT PRIMARY KEY,
    page_id    TEXT NOT NULL REFERENCES pages (id) ON DELETE CASCADE,
    target     TEXT NOT NULL,
    components TEXT NOT NULL,
    discarded  BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE INDEX sign_ups_page ON sign_ups (page_id);
