-- +goose Up

-- The history of plain pings: see internal/store/pinghistory. A block is what one batch of pings added.
CREATE TABLE ping_blocks (
    id   TEXT PRIMARY KEY,
    data BYTEA NOT NULL
);

-- Blocks become segments, and segments of one level a segment of the next one. state: building (the merge of the segments
-- whose merged_into it is has come to next_key), live (it can be read) or dead (its chunks are being deleted).
CREATE TABLE ping_segments (
    id          TEXT PRIMARY KEY,
    level       BIGINT NOT NULL,
    state       TEXT NOT NULL,
    merged_into TEXT,
    next_key    BIGINT NOT NULL,
    oldest_at   BIGINT NOT NULL,
    newest_at   BIGINT NOT NULL
);

CREATE TABLE ping_chunks (
    segment_id TEXT NOT NULL REFERENCES ping_segments (id),
    first_key  BIGINT NOT NULL,
    last_key   BIGINT NOT NULL,
    data       BYTEA NOT NULL,
    PRIMARY KEY (segment_id, first_key)
);

-- The keys of tokens that monitors had, and until when: another monitor may get the same token later.
CREATE TABLE past_ping_tokens (
    monitor_id TEXT NOT NULL REFERENCES monitors (id) ON DELETE CASCADE,
    ping_key   BIGINT NOT NULL,
    until_at   BIGINT NOT NULL,
    PRIMARY KEY (monitor_id, ping_key)
);
