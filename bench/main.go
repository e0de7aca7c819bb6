// Command bench measures the figures that Allswell promises, as ratios within one run, with public tools: wrk generates
// the load, and nginx is the reference for pages. It prints the Markdown table of docs/benchmarks.md.
//
//	go run ./bench            everything; all but checkmemory and checkstorage take about twenty minutes
//	go run ./bench pings tick only these
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"
)

// rounds is the number of repetitions of each measurement. The results are medians.
const rounds = 3

// span is the duration of one measurement.
const span = 5 * time.Second

// result is a row of the table.
type result struct {
	what, figure, measured string
}

// bench is one run.
type bench struct {
	ctx    context.Context
	dir    string // scratch
	binary string // allswell, built from this tree
}

var parts = []struct {
	name string
	run  func(*bench) ([]result, error)
}{
	{"pings", (*bench).pings},
	{"tick", (*bench).tick},
	{"page", (*bench).page},
	{"memory", (*bench).memory},
	{"start", (*bench).start},
	{"mail", (*bench).mail},
	{"live", (*bench).live},
	{"busy", (*bench).busy},
	{"checks", (*bench).checks},
	{"checkmemory", (*bench).checkMemory},
	{"detection", (*bench).detection},
	{"checkstorage", (*bench).checkStorage},
	{"alerts", (*bench).alerts},
	{"neighbours", (*bench).neighbours},
}

func main() {
	if len(os.Args) == 4 && os.Args[1] == "bare" { // the reference for "pings" and "page", in its own process
		fmt.Fprintln(os.Stderr, serveBare(os.Args[2], os.Args[3]))
		os.Exit(1)
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(names []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "allswell-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{ctx: ctx, dir: dir, binary: filepath.Join(dir, "allswell")}
	build := exec.CommandContext(ctx, "go", "build", "-o", b.binary, "./cmd/allswell")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // as releases are built
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building allswell: %w\n%s", err, out)
	}
	fmt.Printf("%s, %d cores, medians of %d rounds of %s\n\n", runtime.Version(), runtime.NumCPU(), rounds, span)
	fmt.Println("| What | Promised | Measured |\n|---|---|---|")
	for _, p := range parts {
		if len(names) > 0 && !slices.Contains(names, p.name) {
			continue
		}
		results, err := p.run(b)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, r := range results {
			fmt.Printf("| %s | %s | %s |\n", r.what, r.figure, r.measured)
		}
	}
	return nil
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
