package store

// The statements that the engines need in different forms.

// recordPingsOnSQLite and recordPingsOnPostgreSQL record pings in the healthy rows of last_pings: $1 is now, $2 the
// tokens. TestRecordPingsIsMonitorRecordPing compares them with MonitorStatus.RecordPing.
const (
	recordPingsOnSQLite = `UPDATE last_pings SET pinged_at = $1 WHERE token IN EACH($2) AND healthy
		AND (pinged_at IS NULL OR pinged_at <= $1)`

	// The rows are locked in the order of their tokens to prevent deadlocks: see locks.go. Rows
	// that are not healthy are not locked, because their monitors have to be locked first.
	recordPingsOnPostgreSQL = `WITH given AS MATERIALIZED (SELECT token FROM last_pings WHERE token IN EACH($2)
		AND healthy ORDER BY token COLLATE "C" FOR UPDATE)
		UPDATE last_pings SET pinged_at = $1 WHERE token IN (SELECT token FROM given) AND healthy
		AND (pinged_at IS NULL OR pinged_at <= $1)`
)

// announcePages counts a transaction that changed pages (see page_changes) and notifies the other replicas of each
// page: $1 is the replica, $2 a JSON object of versions by page ids. Locking the counter costs little, because
// PostgreSQL serializes the commits of transactions with NOTIFY anyway. Only PostgreSQL has other replicas.
const announcePages = `WITH counted AS (UPDATE page_changes SET changes = changes + 1 RETURNING changes)
	SELECT changes, pg_notify('` + pageChannel + `', concat_ws(' ', $1::text, changes, page.key, page.value))::text
	FROM counted, json_each_text($2::json) AS page`

// pageChannel is the channel of notifications about changed pages: see parsePageChange.
const pageChannel = "allswell_page"
