package console

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	// progressDelay is how long work takes before its progress is shown. Most work is done sooner.
	progressDelay    = 500 * time.Millisecond
	progressInterval = 100 * time.Millisecond

	barWidth = 30 // columns
)

// Progress shows the progress of long work in the last line of the terminal. If standard error is not a terminal, it
// shows nothing. The caller calls show when a step of the work begins. measure returns how much of the step is done,
// and the total, in any unit; it is called by another goroutine and may be nil. end removes the line and must be called
// before anything else is printed.
func (c *Console) Progress() (show func(step string, measure func() (done, total int64)), end func()) {
	if c.ErrWidth == 0 {
		return func(string, func() (int64, int64)) {}, func() {}
	}
	p := &progress{out: c.Err, width: c.ErrWidth, began: time.Now(), ended: make(chan struct{})}
	var drawing sync.WaitGroup
	drawing.Go(p.draw)
	return p.begin, func() {
		close(p.ended)
		drawing.Wait()
	}
}

// progress draws the progress of one piece of work.
type progress struct {
	out   io.Writer
	width int // columns of the terminal
	began time.Time
	ended chan struct{}

	mu      sync.Mutex // guards what follows
	step    string
	measure func() (done, total int64)
}

func (p *progress) begin(step string, measure func() (done, total int64)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.step, p.measure = step, measure
}

// draw draws the line until the work ends, and removes it then.
func (p *progress) draw() {
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	drawn := 0 // columns
	for {
		select {
		case <-p.ended:
			if drawn > 0 {
				fmt.Fprintf(p.out, "\r%*s\r", drawn, "")
			}
			return
		case <-tick.C:
		}
		if time.Since(p.began) < progressDelay {
			continue
		}
		line := p.line()
		fmt.Fprintf(p.out, "\r%-*s", drawn, line)
		drawn = len(line)
	}
}

// line returns the step with a bar, or with the time since the beginning of the work if nothing can be measured.
func (p *progress) line() string {
	p.mu.Lock()
	step, measure := p.step, p.measure
	p.mu.Unlock()
	var done, total int64
	if measure != nil {
		done, total = measure()
	}
	line := fmt.Sprintf("%s  %s", step, time.Since(p.began).Round(time.Second))
	if total > 0 {
		part := float64(min(max(done, 0), total)) / float64(total)
		full := int(part * barWidth)
		line = fmt.Sprintf("%s  [%s%s] %3d %%", step, strings.Repeat("=", full), strings.Repeat(" ", barWidth-full),
			int(part*100))
	}
	return line[:min(len(line), p.width-1)] // a full line would move the cursor to the next one
}
