package attack

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/allswell/allswell/test/binary"
)

// attacks are all there are, each against a server of its own.
var attacks = []struct {
	name   string
	files  int // the server's limit of open files; 0: the system's
	attack func(w *environment)
}{
	{"idle connections take all descriptors", 256, idleConnections},
	{"connections from everywhere", 1024, connectionsFromEverywhere},
	{"slow requests", 0, slowRequests},
	{"open pages", 1024, openPages},
	{"smuggled requests", 0, smuggledRequests},
	{"fuzzed bodies", 0, fuzzedBodies},
	{"bombs", 0, bombs},
	{"a page of long updates", 0, longUpdates},
	{"guesses", 0, guesses},
	{"another workspace", 0, anotherWorkspace},
	{"webhooks to this machine", 0, webhooksInside},
	{"a stop under load", 0, stopUnderLoad},
}

// TestAttacks runs every attack once, or for as long as ALLSWELL_ATTACK says.
func TestAttacks(t *testing.T) {
	var duration time.Duration
	if value := os.Getenv("ALLSWELL_ATTACK"); value != "" {
		var err error
		if duration, err = time.ParseDuration(value); err != nil {
			t.Fatalf("ALLSWELL_ATTACK: %v", err)
		}
	}
	exe := binary.Build(t)
	for deadline := time.Now().Add(duration); ; {
		t.Run("round", func(t *testing.T) {
			for _, a := range attacks {
				seed := rand.Uint64()
				t.Run(a.name, func(t *testing.T) {
					if duration == 0 {
						t.Parallel() // they mostly wait
					}
					t.Logf("seed %d", seed)
					w := newEnvironment(t, setup{exe: exe, seed: seed, files: a.files, long: duration > 0})
					a.attack(w)
					w.finish()
				})
			}
		})
		if t.Failed() || !time.Now().Before(deadline) {
			return
		}
	}
}
