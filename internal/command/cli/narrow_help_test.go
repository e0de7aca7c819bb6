package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/command/console"
)

// TestHelpOfOneType checks that --type limits the help to the flags of the type, with their own texts, and that the
// help without it is true for all types.
func TestHelpOfOneType(t *testing.T) {
	for _, c := range []struct {
		args        string
		says, lacks []string
	}{
		{"channel create|--type=slack|--help",
			[]string{"The URL of an incoming webhook.", "hooks.slack.com", "--fallback"},
			[]string{"--bot-token", "--secret", "--type TYPE --help"}},
		{"channel create|--help|--type|sms", []string{"URL of the gateway.", "Value that replaces {secret}."},
			[]string{"--bot-token", "incoming webhook"}},
		{"channel create|--type=webhook|--help", []string{"Where messages are posted.", "Signs messages"},
			[]string{"--bot-token", "incoming webhook"}},
		{"channel create|--help",
			[]string{"URL. See --type TYPE --help.", "--bot-token", "Secret. See --type TYPE --help."},
			[]string{"Signs messages", "hooks.slack.com"}},
		{"monitor create|--type=tcp|--help", []string{"--port", "--interval"}, []string{"--expected-status"}},
		{"monitor create|--type=heartbeat|--help", []string{"--interval"}, nil},
	} {
		status, stdout, stderr := against(t, func(_ http.ResponseWriter, r *http.Request) {
			t.Errorf("%s was sent", r.URL)
		}, expand(c.args)...)
		text := strings.Join(strings.Fields(stdout), " ")
		if status != console.ExitDone {
			t.Errorf("%s: status %d: %s", c.args, status, stderr)
		}
		for _, says := range c.says {
			if !strings.Contains(text, says) {
				t.Errorf("%s does not say %q:\n%s", c.args, says, stdout)
			}
		}
		for _, lacks := range c.lacks {
			if strings.Contains(text, lacks) {
				t.Errorf("%s says %q:\n%s", c.args, lacks, stdout)
			}
		}
	}
}

// TestHelpOfAnUnknownType checks that the help of a type that does not exist suggests one, and lists all.
func TestHelpOfAnUnknownType(t *testing.T) {
	for args, want := range map[string]string{
		"channel create|--type=nftfy|--help": `--type: there is no type "nftfy": did you mean ntfy? The types are `,
		"channel test|--help|--type|nothing": `--type: there is no type "nothing". The types are `,
		"monitor create|--type=htpp|--help": `--type: there is no type "htpp": did you mean http? The types are ` +
			`heartbeat, `,
		"monitor list|--type=certainly|--help": `--type: there is no type "certainly". The types are heartbeat, `,
	} {
		status, stdout, stderr := against(t, func(_ http.ResponseWriter, r *http.Request) {
			t.Errorf("%s was sent", r.URL)
		}, expand(args)...)
		if status != console.ExitUsage || stdout != "" || !strings.Contains(stderr, want) ||
			strings.Count(stderr, ", ") < 5 {
			t.Errorf("%s: status %d\n%s%s", args, status, stdout, stderr)
		}
	}
}
