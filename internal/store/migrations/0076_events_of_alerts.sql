-- +goose Up

-- Certificates that expire soon have an event of their own. Rules and silences about warnings stay about them, too.
UPDATE alert_rules SET rule = replace(rule, '"monitor.warning"', '"monitor.warning","monitor.certificate"');
UPDATE silences SET filter = replace(filter, '"monitor.warning"', '"monitor.warning","monitor.certificate"');
UPDATE alerts SET event = 'monitor.certificate', subject = replace(subject, '"event":"monitor.warning"', '"event":"monitor.certificate"')
    WHERE event = 'monitor.warning' AND event_key IN (SELECT id FROM warnings WHERE condition = 'certificate_expiry');
UPDATE monitor_events SET kind = 'monitor.certificate'
    WHERE routed_at IS NULL AND kind = 'monitor.warning' AND outage_id IN (SELECT id FROM warnings WHERE condition = 'certificate_expiry');
UPDATE monitor_events SET kind = 'monitor.certificate_ended'
    WHERE routed_at IS NULL AND kind = 'monitor.warning_ended' AND outage_id IN (SELECT id FROM warnings WHERE condition = 'certificate_expiry');

-- Alerts of monitors that are late: each tick ends those that are not any more.
CREATE INDEX alerts_late ON alerts (event_key) WHERE event = 'monitor.late' AND resolved_at IS NULL;

-- The messages of a channel, as Go templates; '': the default. template_error says why the last message was the default nevertheless.
ALTER TABLE alert_channels ADD COLUMN title_template TEXT NOT NULL DEFAULT '';
ALTER TABLE alert_channels ADD COLUMN text_template TEXT NOT NULL DEFAULT '';
ALTER TABLE alert_channels ADD COLUMN template_error TEXT;
