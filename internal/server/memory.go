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
	// gcPercent lets a small heap grow to five times of what lives before the
	// garbage collector runs: so little lives here that Go's own 100 would run it
	// dozens of times a second under load. GOGC in the environment overrules it.
	gcPercent = 400

	// maxGarbage is how much garbage that may be, in bytes. A larger heap is
	// collected earlier, but never before it has doubled.
	maxGarbage   = 192 << 20
	minGCPercent = 100

	// paceInterval is how often the percentage is adjusted to the size of the heap.
	paceInterval = time.Second
)

// tuneRuntime sets what Go's own defaults are wrong about here, unless the
// environment says otherwise.
func (c Config) tuneRuntime(log *slog.Logger) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		// One thread is in a durable commit most of the time, waiting for the
		// disk; the others shall have all cores.
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
	limit, from := c.MemoryLimit, "ALLSWELL_MEMORY_LIMIT"
	if limit == 0 && os.Getenv("GOMEMLIMIT") == "" {
		limit, from = memoryOf(os.ReadFile)
		limit = limit / 10 * 9
	}
	if limit > 0 {
		debug.SetMemoryLimit(limit)
	} else if limit, from = debug.SetMemoryLimit(-1), "GOMEMLIMIT"; limit == math.MaxInt64 {
		limit, from = 0, "none" // the platform does not say what there is
	}
	log.Info("memory limit", "mebibytes", limit>>20, "from", from)
}

// memoryOf returns how much memory this process may use, in bytes, and what says
// so: the smallest limit of its control group and of those above, or else the
// machine. 0: that is not known.
func memoryOf(read func(name string) ([]byte, error)) (limit int64, from string) {
	limit = machineMemory(read)
	from = "machine"
	groups, _ := read("/proc/self/cgroup") // there is none on other systems
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
			// In a container the path may be one of the host, which is not there; "/" is.
			text, err := read(path.Join(root, group, file))
			if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil && n > 0 && (limit == 0 || n < limit) {
				limit, from = n, "control group"
			}
			if group == "/" {
				break
			}
		}
	}
	return limit, from
}

// machineMemory returns the memory of the machine in bytes; 0: that is not known.
func machineMemory(read func(name string) ([]byte, error)) int64 {
	info, err := read("/proc/meminfo")
	if err != nil {
		return 0
	}
	for lines := bufio.NewScanner(bytes.NewReader(info)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) == 3 && words[0] == "MemTotal:" {
			kibibytes, _ := strconv.ParseInt(words[1], 10, 64) // 0: not known
			return kibibytes << 10
		}
	}
	return 0
}

// paceCollector keeps garbage below maxGarbage, as far as the heap may still
// double, until ctx ends. GOGC in the environment switches it off.
func paceCollector(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	sample := []runtimemetrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}}
	ticker := time.NewTicker(paceInterval)
	defer ticker.Stop()
	for set := gcPercent; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		runtimemetrics.Read(sample)
		percent := gcPercentOf(sample[0].Value.Uint64() + sample[1].Value.Uint64())
		// Setting it stops the world for a moment.
		if percent*10 < set*9 || percent*9 > set*10 || percent != set && (percent == gcPercent || percent == minGCPercent) {
			debug.SetGCPercent(percent)
			set = percent
		}
	}
}

// gcPercentOf returns the percentage for so many bytes that live.
func gcPercentOf(live uint64) int {
	return int(min(max(maxGarbage*100/max(live, 1), minGCPercent), gcPercent))
}

// A service that answers fewer requests than quietRequests in restInterval gives
// memory back that it does not need.
const (
	restInterval  = 20 * time.Second
	quietRequests = 200
)

// rest does so until ctx ends. The collector alone would let garbage grow to
// gcPercent of what lives before it looked.
func (s *Server) rest(ctx context.Context) {
	ticker := time.NewTicker(restInterval)
	defer ticker.Stop()
	for before := uint64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		answered := s.faces.ids.n.Load()
		if answered-before < quietRequests {
			runtime.GC() // what pools hold outlives one collection
			debug.FreeOSMemory()
		}
		before = answered
	}
}
