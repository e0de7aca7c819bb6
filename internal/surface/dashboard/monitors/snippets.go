package monitors

import (
	"fmt"
	"strings"
	"time"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/domain/monitor"
	"github.com/allswell/allswell/internal/domain/schedule"
)

// snippet is code that sends a ping, for copying.
type snippet struct{ Name, Key, Note, Code string }

// snippets returns code that sends pings to a URL, for a job that runs about as often as the monitor expects.
func snippets(url string, m monitor.Monitor) []snippet {
	when, timer, cronJob := cronTime(m.Interval), "", ""
	switch m.Cron.Kind() {
	case schedule.ScheduleCron:
		if m.Cron.Kubernetes {
			cronJob = "\n\n# In the spec of the CronJob\nschedule: \"" + m.Cron.Expression + "\"\ntimeZone: " +
				m.Cron.TimeZone
		} else {
			when = m.Cron.Expression
		}
	case schedule.ScheduleCalendar:
		timer = "\n\n# In the timer\n[Timer]\nOnCalendar=" +
			strings.ReplaceAll(m.Cron.Expression, "\n", " "+m.Cron.TimeZone+"\nOnCalendar=") + " " + m.Cron.TimeZone
	case schedule.ScheduleInterval:
	}
	ping := monitor.PingCommand(url)
	job := " /usr/local/bin/job && " + ping + " >/dev/null"
	all := []snippet{
		{Name: "curl", Note: "Add it to the end of your script.", Code: ping},
		{
			Name: "wget", Note: "Add it to the end of your script.",
			Code: "wget -q -O /dev/null -T 10 -t 5 --retry-connrefused " + url,
		},
		{
			Name: "cron", Note: "The ping is sent only if the job succeeds.",
			Code: strings.ReplaceAll(when, "\n", job+"\n") + job,
		},
		{
			Name: "systemd", Note: "In the [Service] part of the unit that your timer starts.",
			Code: "[Service]\nType=oneshot\nExecStart=/usr/local/bin/job\nExecStartPost=/usr/bin/" + ping + timer,
		},
		{
			Name: "Kubernetes", Note: "In the container of your CronJob. Its image needs curl.",
			Code: "command: [\"sh\", \"-c\"]\nargs:\n  - /usr/local/bin/job && " + ping + cronJob,
		},
		{
			Name: "GitHub Actions", Note: "The last step of the job. Keep the URL as a secret of the repository.",
			Code: "- name: Report success\n  if: success()\n  run: " + monitor.PingCommand(`"${{ secrets.PING_URL }}"`),
		},
		{
			Name: "PowerShell", Note: "At the end of your script.",
			Code: "Invoke-RestMethod -Uri " + url + " -TimeoutSec 10 -MaximumRetryCount 5 -RetryIntervalSec 2",
		},
		{
			Name: "Go",
			Code: "client := &http.Client{Timeout: 10 * time.Second}\nresponse, err := client.Get(\"" + url +
				"\")\nif err == nil {\n\tresponse.Body.Close()\n}",
		},
		{Name: "Python", Code: "import urllib.request\n\nurllib.request.urlopen(\"" + url + "\", timeout=10)"},
		{Name: "Node.js", Code: "await fetch(\"" + url + "\", { signal: AbortSignal.timeout(10_000) });"},
	}
	for i := range all {
		all[i].Key = kernel.SlugOf(all[i].Name, "snippet")
	}
	return all
}

// cronTime returns the time fields of a crontab line that runs at least as often as the interval.
func cronTime(interval time.Duration) string {
	minutes := int(interval / time.Minute)
	switch {
	case minutes < 2:
		return "* * * * *"
	case minutes < 60:
		return fmt.Sprintf("*/%d * * * *", divisor(60, minutes))
	case minutes < 2*60:
		return "0 * * * *"
	case minutes < 24*60:
		return fmt.Sprintf("0 */%d * * *", divisor(24, minutes/60))
	case minutes < 7*24*60:
		return "30 2 * * *"
	default:
		return "30 2 * * 1"
	}
}

// divisor returns the largest divisor of whole that is at most n.
func divisor(whole, n int) int {
	for whole%n != 0 {
		n--
	}
	return n
}
