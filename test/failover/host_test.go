package failover

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A machine is a network, mount and host name namespace with a cable to the
// bridge that all machines share.
type machine struct {
	t       *testing.T
	name    string
	address string
	dir     string // its disk
	logs    string
	holder  *exec.Cmd // keeps the namespaces
	netns   string    // the identity of its network namespace

	mu       sync.Mutex
	programs map[string]*program
}

// A program is a service of a machine.
type program struct {
	cmd   *exec.Cmd
	gone  chan struct{}
	ended bool // by the test: the supervisor does not start it again
}

const bridge = "allswell0"

// run runs a command that has to succeed.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// newBridge connects the test itself, at address, with its machines, until it ends.
func newBridge(t *testing.T, address string) {
	t.Helper()
	run(t, "ip", "link", "set", "lo", "up")
	run(t, "ip", "link", "add", bridge, "type", "bridge")
	t.Cleanup(func() { run(t, "ip", "link", "delete", bridge) })
	run(t, "ip", "address", "add", address+"/24", "dev", bridge)
	run(t, "ip", "link", "set", bridge, "up")
}

// directories are the directories of the file system that each machine has for itself.
var directories = []string{"/etc/patroni", "/etc/haproxy", "/var/lib/etcd", "/var/lib/postgresql"}

// newMachine starts a machine, which is gone when the test ends.
func newMachine(t *testing.T, name, address, hosts string) *machine {
	t.Helper()
	m := &machine{t: t, name: name, address: address, dir: t.TempDir(), programs: map[string]*program{}}
	m.logs = filepath.Join(m.dir, "log")
	if dir := os.Getenv(logsVariable); dir != "" {
		m.logs = filepath.Join(dir, name)
	}
	for _, dir := range append([]string{"/log"}, directories...) {
		if err := os.MkdirAll(m.disk(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(m.logs, 0o755); err != nil {
		t.Fatal(err)
	}
	m.write("/hosts", hosts)
	m.holder = exec.Command("unshare", "--net", "--mount", "--uts", "sleep", "infinity")
	if err := m.holder.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.destroy)
	m.awaitNamespace()
	m.connect()
	setup := []string{
		"hostname " + name, "mount --bind " + m.disk("/hosts") + " /etc/hosts", "mount -t tmpfs none /run",
		"mkdir -p /run/postgresql && chown postgres /run/postgresql",
	}
	for _, dir := range directories {
		setup = append(setup, "mount --bind "+m.disk(dir)+" "+dir)
	}
	run(t, "nsenter", m.enter("sh", "-ec", strings.Join(setup, "\n"))...)
	return m
}

// disk returns the path at which the test finds a file of the machine.
func (m *machine) disk(path string) string { return filepath.Join(m.dir, path) }

// write writes a file of the machine.
func (m *machine) write(path, content string) {
	m.t.Helper()
	if err := os.WriteFile(m.disk(path), []byte(content), 0o644); err != nil {
		m.t.Fatal(err)
	}
}

func namespaceOf(pid int) string {
	ns, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return "" // it has ended
	}
	return ns
}

// awaitNamespace waits until the holder has left the namespace of the test.
func (m *machine) awaitNamespace() {
	m.t.Helper()
	await(m.t, 10*time.Second, func() error {
		m.netns = namespaceOf(m.holder.Process.Pid)
		if m.netns == "" || m.netns == namespaceOf(os.Getpid()) {
			return fmt.Errorf("%s has no network namespace", m.name)
		}
		return nil
	})
}

// connect plugs the cable in.
func (m *machine) connect() {
	m.t.Helper()
	run(m.t, "ip", "link", "add", m.cable(), "type", "veth", "peer", "name", "eth0", "netns",
		strconv.Itoa(m.holder.Process.Pid))
	run(m.t, "ip", "link", "set", m.cable(), "master", bridge, "up")
	run(m.t, "nsenter",
		m.enter("sh", "-ec", "ip link set lo up; ip address add "+m.address+"/24 dev eth0; ip link set eth0 up")...)
}

// sysctl sets parameters of the kernel for this machine's network.
func (m *machine) sysctl(lines []string) {
	m.t.Helper()
	for _, line := range lines {
		name, value, _ := strings.Cut(line, " = ")
		path := "/proc/sys/" + strings.ReplaceAll(name, ".", "/")
		run(m.t, "nsenter", m.enter("sh", "-ec", "echo "+value+" >"+path)...)
	}
}

func (m *machine) cable() string { return "to-" + m.name }

// cut pulls the cable: packets are lost, and no connection is closed.
func (m *machine) cut() { run(m.t, "ip", "link", "set", m.cable(), "down") }

// uncut plugs it in again.
func (m *machine) uncut() { run(m.t, "ip", "link", "set", m.cable(), "up") }

func (m *machine) enter(args ...string) []string {
	return append([]string{"--target", strconv.Itoa(m.holder.Process.Pid), "--net", "--mount", "--uts", "--"}, args...)
}

// supervise starts a service as start does, and again a second after it has
// ended by itself.
func (m *machine) supervise(name, username string, env []string, args ...string) {
	m.t.Helper()
	p := m.start(name, username, env, args...)
	go func() {
		<-p.gone
		time.Sleep(time.Second)
		m.mu.Lock()
		ended := p.ended
		m.mu.Unlock()
		if !ended {
			m.supervise(name, username, env, args...)
		}
	}()
}

// start starts a service as a user, with nothing but env in its environment.
func (m *machine) start(name, username string, env []string, args ...string) *program {
	m.t.Helper()
	log, err := os.OpenFile(m.logFile(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		m.t.Fatal(err)
	}
	defer log.Close()
	u, err := user.Lookup(username)
	if err != nil {
		m.t.Fatal(err)
	}
	as := []string{"setpriv", "--reuid", u.Uid, "--regid", u.Gid, "--init-groups"}
	cmd := exec.Command("nsenter", m.enter(append(as, args...)...)...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}, env...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	p := &program{cmd: cmd, gone: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // how it ended is in its log
		close(p.gone)
	}()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.programs[name] = p
	return p
}

// kill ends all processes as a power cut does: no packet announces it.
func (m *machine) kill() {
	m.mu.Lock()
	for _, p := range m.programs {
		p.ended = true
	}
	m.mu.Unlock()
	m.cut()
	m.signalAll("", syscall.SIGKILL)
}

func (m *machine) logFile(name string) string { return filepath.Join(m.logs, name+".log") }

// signal sends a signal to the first process of a service and returns the
// channel that is closed when that process has ended.
func (m *machine) signal(name string, sig syscall.Signal) <-chan struct{} {
	m.t.Helper()
	m.mu.Lock()
	p := m.programs[name]
	if p != nil && sig != syscall.SIGSTOP && sig != syscall.SIGCONT {
		p.ended = true
	}
	m.mu.Unlock()
	if p == nil {
		m.t.Fatalf("%s runs no %s", m.name, name)
	}
	_ = p.cmd.Process.Signal(sig) // an error means that it has ended
	return p.gone
}

// end sends a signal to a service and waits until it has ended.
func (m *machine) end(name string, sig syscall.Signal) {
	m.t.Helper()
	select {
	case <-m.signal(name, sig):
	case <-time.After(30 * time.Second):
		m.t.Fatalf("%s of %s still runs 30 s after %v", name, m.name, sig)
	}
}

// processes returns the process ids of this machine, all of them or only a program's.
func (m *machine) processes(program string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		m.t.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == m.holder.Process.Pid || namespaceOf(pid) != m.netns {
			continue
		}
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if err == nil && (program == "" || filepath.Base(exe) == program) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// signalAll sends a signal to all processes of a program ("": of the machine).
// It repeats that, because a process may start another meanwhile.
func (m *machine) signalAll(program string, sig syscall.Signal) {
	for range 3 {
		for _, pid := range m.processes(program) {
			_ = syscall.Kill(pid, sig) // an error means that it has ended
		}
	}
}

// destroy ends all processes.
func (m *machine) destroy() {
	if m.t.Failed() {
		m.report()
	}
	m.kill()
	_ = m.holder.Process.Kill()
	_ = m.holder.Wait()
	_ = exec.Command("ip", "link", "delete", m.cable()).Run() // the kernel may have done so already
}

// report prints the last lines of all logs.
func (m *machine) report() {
	files, _ := filepath.Glob(filepath.Join(m.logs, "*.log"))
	for _, file := range files {
		b, _ := os.ReadFile(file) // only for a person to read
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		m.t.Logf("%s of %s:\n%s", filepath.Base(file), m.name, strings.Join(lines[max(0, len(lines)-12):], "\n"))
	}
}

// await returns when check returns nil, and fails the test when it has not
// within timeout.
func await(t *testing.T, timeout time.Duration, check func() error) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(timeout); ; <-tick.C {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %v: %v", timeout, err)
		}
	}
}
