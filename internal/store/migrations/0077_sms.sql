-- +goose Up

-- What is limited in a day of UTC: "sent" counts SMS to subscribers, "sign_ups" those of visitors by SMS, and the hash of a phone number how often
-- visitors entered it. Rows are deleted after two days.
CREATE TABLE sms_counts (
    day_at  BIGINT NOT NULL,
    counter TEXT NOT NULL,
    n       BIGINT NOT NULL,
    PRIMARY KEY (day_at, counter)
);
