-- +goose Up

-- fallback_for is the channel that did not take a notice, which is for its fallback; decided_at is when the notice was made for the first channel. NULL: not for a
-- fallback, and at created_at.
ALTER TABLE alert_notices ADD COLUMN decided_at BIGINT;
ALTER TABLE alert_notices ADD COLUMN fallback_for TEXT REFERENCES alert_channels (id) ON DELETE SET NULL;
CREATE INDEX alert_notices_fallback ON alert_notices (fallback_for) WHERE fallback_for IS NOT NULL;
