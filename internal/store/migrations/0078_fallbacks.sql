-- +goose Up

-- Notices for a fallback: fallback_for is the channel that did not take the notice, and decided_at when it was made for the first channel. NULL: the
-- notice is not for a fallback.
ALTER TABLE alert_notices ADD COLUMN decided_at BIGINT;
ALTER TABLE alert_notices ADD COLUMN fallback_for TEXT REFERENCES alert_channels (id) ON DELETE SET NULL;
CREATE INDEX alert_notices_fallback ON alert_notices (fallback_for) WHERE fallback_for IS NOT NULL;
