package failover

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Environment variables of this test.
const (
	// faultsVariable is the number of faults. Without it the test is skipped.
	faultsVariable = "ALLSWELL_FAILOVER_FAULTS"
	// seedVariable is the seed from which faults are chosen, 1 by default.
	seedVariable = "ALLSWELL_FAILOVER_SEED"
	// kindsVariable is a regular expression: only these kinds of faults.
	kindsVariable = "ALLSWELL_FAILOVER_KINDS"
	// routeVariable is how Allswell reaches the primary: "haproxy", which is
	// documented and the default; "sessions", a HAProxy that keeps sessions to a
	// node that is no longer primary; "hosts", all nodes in the address of the
	// database and no HAProxy.
	routeVariable = "ALLSWELL_FAILOVER_ROUTE"
	// logsVariable is a directory in which the logs of all programs are kept.
	logsVariable = "ALLSWELL_FAILOVER_LOGS"
	// requireVariable, set to 1, makes the test fail instead of skip.
	requireVariable = "ALLSWELL_TEST_REQUIRE_FAILOVER"
	// insideVariable is set in the namespaces that TestMain makes.
	insideVariable = "ALLSWELL_FAILOVER_INSIDE"
)

// postgresBin is bin_dir of deploy/high-availability/patroni.yml.
const postgresBin = "/usr/lib/postgresql/15/bin"

// TestMain runs the test in namespaces of its own, with process ids, network and
// mounts that nobody else sees. When the test process ends, however that is, the
// kernel ends all programs that it started and removes the namespaces.
func TestMain(m *testing.M) {
	if faultsWanted() > 0 && missing() == nil && os.Getenv(insideVariable) == "" {
		fmt.Fprintln(os.Stderr, "failover: entering the namespaces:", enter())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// faultsWanted returns the number of faults, 0 if none are asked for.
func faultsWanted() int {
	n, err := strconv.Atoi(os.Getenv(faultsVariable))
	if err != nil {
		return 0
	}
	return n
}

// missing returns an error that names a program or right that the machine lacks, or nil.
func missing() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("namespaces need root")
	}
	for _, program := range []string{"patroni", "etcd", "haproxy", "ip", "unshare", "nsenter", "setpriv", "mount",
		filepath.Join(postgresBin, "postgres")} {
		if _, err := exec.LookPath(program); err != nil {
			return err
		}
	}
	for _, name := range []string{"postgres", "etcd", "haproxy"} {
		if _, err := user.Lookup(name); err != nil {
			return err
		}
	}
	if out, err := exec.Command("unshare", "--net", "ip", "link", "add", "type", "veth").CombinedOutput(); err != nil {
		return fmt.Errorf("network namespaces: %w: %s", err, out)
	}
	return nil
}

// enter replaces this process by unshare, which runs the test again inside. A
// shell is the first process there, to reap what is orphaned. It returns only
// if it failed.
func enter() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		return err
	}
	args := []string{unshare, "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
		"sh", "-c", `"$@" & wait $!`, "sh", self}
	return syscall.Exec(unshare, append(args, os.Args[1:]...), append(os.Environ(), insideVariable+"=1"))
}

// require skips the test, or fails it, unless it runs in its namespaces.
func require(t *testing.T) {
	t.Helper()
	if os.Getenv(insideVariable) != "" {
		return
	}
	if err := missing(); err != nil && os.Getenv(requireVariable) == "1" {
		t.Fatalf("the requirements: %s=1, and %v", requireVariable, err)
	} else if err != nil {
		t.Skipf("skipped: %v", err)
	}
	if os.Getenv(requireVariable) == "1" {
		t.Fatalf("%s=1 needs %s", requireVariable, faultsVariable)
	}
	t.Skipf("skipped: takes minutes; set %s to the number of faults", faultsVariable)
}
