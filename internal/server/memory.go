package server

import (
	"bufio"
	"bytes"
	"context"
	"log/slog"
	"math"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	runtimemetrics "runtime/metrics"
	"strconv"
	"strings"
	"time"
)

const (
	// gcPercent lets a small heap grow to five times its live bytes before a garbage collection. The live heap is so
	// small that Go's default of 100 would collect dozens of times a second under load. GOGC in the environment
	// overrides it.
	gcPercent = 400

	// maxGarbage is the amount of garbage in bytes at which the heap is collected earlier than gcPercent says, but not
	// before the heap has doubled.
	maxGarbage   = 192 << 20
	minGCPercent = 100

	// gcAdjustInterval is the time between two adjustments of the percentage to the size of the heap.
	gcAdjustInterval = time.Second
)

// tuneRuntime sets the garbage collector's percentage, the number of threads and the memory limit, unless the
// environment variables of the Go runtime set them.
func (c Config) tuneRuntime(log *slog.Logger) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		// One thread waits for the disk in a commit most of the time. The others should have all cores.
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
	limit, from := c.MemoryLimit, "ALLSWELL_MEMORY_LIMIT"
	if limit == 0 && os.Getenv("GOMEMLIMIT") == "" {
		limit, from = availableMemory(os.ReadFile)
		limit = limit / 10 * 9
	}
	if limit > 0 {
		debug.SetMemoryLimit(limit)
	} else if limit, from = debug.SetMemoryLimit(-1), "GOMEMLIMIT"; limit == math.MaxInt64 {
		limit, from = 0, "none" // the amount of memory is unknown
	}
	log.Info("memory limit", "mebibytes", limit>>20, "from", from)
}

// availableMemory returns how much memory this process may use, in bytes, and where that comes from: the machine's
// memory, or the smallest limit of its control group and the groups above if that is lower. It returns 0 if both are
// unknown.
func availableMemory(read func(name string) ([]byte, error)) (limit int64, from string) {
	limit = machineMemory(read)
	from = "machine"
	groups, _ := read("/proc/self/cgroup") // missing on other systems
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		root, file := "/sys/fs/cgroup", "memory.max" // version 2
		if fields[1] != "" {
			if root, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"; fields[1] != "memory" {
				continue
			}
		}
		for group := path.Clean("/" + fields[2]); ; group = path.Dir(group) {
			// In a container the path may be the host's and not exist; "/" does.
			text, err := read(path.Join(root, group, file))
			n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
			if err == nil && bad == nil && n > 0 && (limit == 0 || n < limit) {
				limit, from = n, "control group"
			}
			if group == "/" {
				break
			}
		}
	}
	return limit, from
}

// machineMemory returns the memory of the machine in bytes; 0 if unknown.
func machineMemory(read func(name string) ([]byte, error)) int64 {
	info, err := read("/proc/meminfo")
	if err != nil {
		return 0
	}
	for lines := bufio.NewScanner(bytes.NewReader(info)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) == 3 && words[0] == "MemTotal:" {
			kibibytes, _ := strconv.ParseInt(words[1], 10, 64) // 0 if malformed
			return kibibytes << 10
		}
	}
	return 0
}

// adjustGCPercent keeps garbage below maxGarbage, as far as the heap can still double, until ctx ends. It does nothing
// if GOGC is in the environment.
func adjustGCPercent(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	sample := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}}
	ticker := time.NewTicker(gcAdjustInterval)
	defer ticker.Stop()
	for set := gcPercent; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		runtimemetrics.Read(sample)
		percent := gcPercentFor(sample[0].Value.Uint64() + sample[1].Value.Uint64())
		// Setting it stops all goroutines for a moment.
		if percent*10 < set*9 || percent*9 > set*10 ||
			percent != set && (percent == gcPercent || percent == minGCPercent) {
			debug.SetGCPercent(percent)
			set = percent
		}
	}
}

// gcPercentFor returns the percentage for a live heap of a size in bytes.
func gcPercentFor(live uint64) int {
	return int(min(max(maxGarbage*100/max(live, 1), minGCPercent), gcPercent))
}

// A server with fewer than idleRequests in idleInterval is idle.
const (
	idleInterval = 20 * time.Second
	idleRequests = 200
)

// releaseMemoryWhenIdle returns unused memory to the operating system while the server is idle, until ctx ends. The
// garbage collector alone would wait until garbage has grown to gcPercent of the live heap.
func (s *Server) releaseMemoryWhenIdle(ctx context.Context) {
	ticker := time.NewTicker(idleInterval)
	defer ticker.Stop()
	for before := uint64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		answered := s.router.ids.count.Load()
		if answered-before < idleRequests {
			runtime.GC() // a sync.Pool is emptied by the second collection, which FreeOSMemory does
			debug.FreeOSMemory()
		}
		before = answered
	}
}
