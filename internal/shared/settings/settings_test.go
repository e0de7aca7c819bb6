package settings

import (
	"strings"
	"testing"
	"time"
)

func TestShortDuration(t *testing.T) {
	for text, want := range map[string]string{
		"0s": "0s", "1s": "1s", "60s": "1m", "90s": "1m30s", "600s": "10m", "3600s": "1h", "3601s": "1h0m1s",
		"3660s": "1h1m", "36000s": "10h",
	} {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := ShortDuration(d); got != want {
			t.Errorf("ShortDuration(%s) = %s, want %s", text, got, want)
		}
	}
}

func TestSwitch(t *testing.T) {
	for value, want := range map[string]bool{
		"on": true, "true": true, "1": true, "ON": true, "True": true, "off": false, "false": false, "0": false,
		"OFF": false,
	} {
		if got, err := Switch(value); err != nil || got != want {
			t.Errorf("Switch(%q) = %v, %v, want %v", value, got, err, want)
		}
	}
	for _, value := range []string{"", "yes", "no", "maybe", "2", "on off"} {
		if _, err := Switch(value); err == nil {
			t.Errorf("Switch(%q) is accepted", value)
		}
	}
}

func TestSeconds(t *testing.T) {
	parse := Seconds(time.Second, time.Hour)
	for value, want := range map[string]time.Duration{
		"1s": time.Second, "90s": 90 * time.Second, "1m30s": 90 * time.Second, "1h": time.Hour,
	} {
		if got, err := parse(value); err != nil || got != want {
			t.Errorf("Seconds: %q is %v, %v; want %v", value, got, err, want)
		}
	}
	for _, value := range []string{"", "60", "0s", "-1s", "999ms", "1500ms", "59m59.5s", "1h1s", "1d"} {
		if got, err := parse(value); err == nil {
			t.Errorf("%q is accepted as %v", value, got)
		}
	}
}

func TestDays(t *testing.T) {
	const day = 24 * time.Hour
	parse := Days(1, 3650)
	for value, want := range map[string]time.Duration{
		"1d": day, "400d": 400 * day, "3650d": 3650 * day, "24h": day, "36h": 36 * time.Hour, "87600h": 3650 * day,
	} {
		if got, err := parse(value); err != nil || got != want {
			t.Errorf("Days: %q is %v, %v; want %v", value, got, err, want)
		}
	}
	// 2^48 days are a multiple of 2^64 nanoseconds: in a duration they vanish.
	for _, value := range []string{
		"", "400", "d", "0d", "-1d", "3651d", "1.5d", "1d1h", "23h59m", "87600h1s", "281474976710657d",
		"9223372036854775807d", "-281474976710655d",
	} {
		if got, err := parse(value); err == nil {
			t.Errorf("%q is accepted as %v", value, got)
		}
	}
}

// TestDatabaseName checks that the name of a database contains no part of its address
// that can be secret.
func TestDatabaseName(t *testing.T) {
	for address, want := range map[string]string{
		"sqlite:/var/lib/allswell.db":                              "sqlite:/var/lib/allswell.db",
		"postgres://me:hunter2@db.example.com:5432/allswell":       "postgres://db.example.com:5432/allswell",
		"postgres://db/allswell?password=hunter2&user=me":          "postgres://db/allswell",
		"postgresql:///allswell?host=/run/postgresql&password=pwd": "postgres:///allswell",
		"postgres://me:hunter2%@db/allswell":                       "postgres",
	} {
		if got := DatabaseName(address); got != want {
			t.Errorf("DatabaseName(%q) = %s, want %s", address, got, want)
		}
	}
}

func TestDatabaseAddressWithUnescapedPassword(t *testing.T) {
	for _, value := range []string{
		"postgres://me:p@ss#w@127.0.0.1/allswell", "postgres://me:p/w@127.0.0.1/allswell",
		"postgres://me:50%@127.0.0.1/allswell",
	} {
		got, err := Database(value)
		if err == nil || !strings.Contains(err.Error(), "%-escapes") || strings.Contains(err.Error(), "127") {
			t.Errorf("Database(%s) = %q, %v", value, got, err)
		}
	}
	if _, err := Database("postgres://me:p%40ss%23w@127.0.0.1/allswell"); err != nil {
		t.Error(err)
	}
}

// TestError checks that an error names the setting by variable and flag, and shows the
// value unless it is secret.
func TestError(t *testing.T) {
	type group struct {
		Level  string `env:"ALLSWELL_LOG_LEVEL" default:"info"`
		Secret string `env:"ALLSWELL_SECRET" default:"a" secret:""`
	}
	for _, c := range []struct {
		group group
		want  string
	}{
		{group{Level: " verbose "},
			`ALLSWELL_LOG_LEVEL (--log-level) must be debug, info, warn or error, not "verbose".`},
		{group{Secret: "hunter2"}, `ALLSWELL_SECRET (--secret) must be a or b.`},
		{group{Level: "verbose", Secret: "hunter2"},
			`ALLSWELL_LOG_LEVEL (--log-level) must be debug, info, warn or error, not "verbose".`},
	} {
		p := NewParser(&c.group)
		Parse(p, &c.group.Level, LogLevel)
		Parse(p, &c.group.Secret, OneOf("a", "b"))
		if err := p.Err(); err == nil || err.Error() != c.want {
			t.Errorf("%+v: the error is %q, want %q", c.group, err, c.want)
		}
	}
}

func TestLocalURL(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:8080": "http://127.0.0.1:8080", ":80": "http://localhost:80", "0.0.0.0:80": "http://localhost:80",
		"[::]:80":  "http://localhost:80",
		"[::1]:80": "http://[::1]:80", "status.internal:80": "http://status.internal:80",
	} {
		if got := LocalURL(address); got != want {
			t.Errorf("LocalURL(%s) = %s, want %s", address, got, want)
		}
	}
}
