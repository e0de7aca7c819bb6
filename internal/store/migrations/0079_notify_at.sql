-- +goose Up

-- notify_at is when channels may be notified of the alert: later than opened_at if its monitor is flapping.
ALTER TABLE alerts RENAME COLUMN tell_at TO notify_at;
