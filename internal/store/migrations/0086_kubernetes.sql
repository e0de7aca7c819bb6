-- +goose Up

-- The cron_expression of the monitor is read as Kubernetes reads those of CronJobs.
ALTER TABLE monitors ADD COLUMN kubernetes BOOLEAN NOT NULL DEFAULT FALSE;
