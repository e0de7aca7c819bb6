// Package schedule decides when a job is due, and when its silence counts.
//
// A job pings within an interval, or at the times of a [Cron]: a cron expression, a calendar of systemd, or a list of
// clock times, in a time zone. [Cron.Next] returns the next of them; changes of the clocks neither skip a time nor
// repeat one.
//
// [PingWait.Deadline] is the rule of silence. A service that could not receive pings must not blame the jobs, so each
// [ListeningGap] moves the deadline: by as long as the job needs to repeat a ping that was lost, and no further.
// docs/deadlines.md tells the rule with examples. [CheckWait] is the same question for checks, which the service runs
// itself.
package schedule
