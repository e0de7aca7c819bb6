// Package schedule decides when a job is due, and when its silence counts.
//
// A job pings within an interval, or at the times of a [Cron]: one or several cron expressions or systemd calendar
// expressions, in a time zone. [Cron.Next] returns the next of these times. [Cron] and [NewCalendar] say which times
// are skipped or repeated when the clock of the zone changes.
//
// [PingWait.Deadline] is the rule of silence. A service that could not receive pings must not blame the jobs, so each
// [ListeningGap] moves the deadline: by as long as the job needs to repeat a ping that was lost, and no further.
// docs/deadlines.md explains the rule with examples. [CheckWait] is the rule for checks, which the service runs itself.
package schedule
