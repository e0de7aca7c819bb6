package server

import (
	"fmt"
	"io/fs"
	"testing"
)

// TestAvailableMemory checks the limits that Linux reports, in a container and without one.
func TestAvailableMemory(t *testing.T) {
	const machine = "MemTotal:        8000000 kB\nMemFree:         1 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		limit int64
		from  string
	}{
		"another system": {nil, 0, "machine"},
		"no group":       {map[string]string{"/proc/meminfo": machine}, 8000000 << 10, "machine"},
		"version 2, no limit": {map[string]string{
			"/proc/meminfo": machine, "/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "max\n",
		}, 8000000 << 10, "machine"},
		"version 2, its own": {map[string]string{
			"/proc/meminfo": machine, "/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "1000000\n",
			"/sys/fs/cgroup/a/memory.max": "2000000\n",
		}, 1000000, "control group"},
		"version 2, above": {map[string]string{
			"/proc/meminfo": machine, "/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "max\n",
			"/sys/fs/cgroup/a/memory.max": "2000000\n",
		}, 2000000, "control group"},
		"in a container": {map[string]string{
			"/proc/meminfo": machine, "/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "3000000\n",
		}, 3000000, "control group"},
		"a path of the host": {map[string]string{
			"/proc/meminfo": machine, "/proc/self/cgroup": "0::/../x\n", "/sys/fs/cgroup/memory.max": "3000000\n",
		}, 3000000, "control group"},
		"version 1": {map[string]string{
			"/proc/meminfo": machine, "/proc/self/cgroup": "9:name=systemd:/\n4:memory:/a\n3:cpu:/\n0::/\n",
			"/sys/fs/cgroup/memory/a/memory.limit_in_bytes": "4000000\n",
			"/sys/fs/cgroup/memory/memory.limit_in_bytes":   "9223372036854771712\n",
		}, 4000000, "control group"},
		"nonsense": {map[string]string{
			"/proc/meminfo": "MemTotal: x kB\n", "/proc/self/cgroup": "0\n::\n0::/\n",
			"/sys/fs/cgroup/memory.max": "-1\n",
		}, 0, "machine"},
	} {
		limit, from := availableMemory(func(file string) ([]byte, error) {
			if text, ok := c.files[file]; ok {
				return []byte(text), nil
			}
			return nil, fmt.Errorf("%s: %w", file, fs.ErrNotExist)
		})
		if limit != c.limit || from != c.from {
			t.Errorf("%s: %d from the %s, want %d from the %s", name, limit, from, c.limit, c.from)
		}
	}
}

// TestGCPercent checks that a large heap has little garbage and a small one few collections.
func TestGCPercent(t *testing.T) {
	for live, want := range map[uint64]int{
		0: 400, 5 << 20: 400, 48 << 20: 400, 96 << 20: 200, 192 << 20: 100, 1 << 40: 100,
	} {
		if got := gcPercentFor(live); got != want {
			t.Errorf("%d bytes live: %d %%, want %d", live, got, want)
		}
	}
}
