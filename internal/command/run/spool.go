package run

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/allswell/allswell/client"
	"github.com/allswell/allswell/internal/domain/kernel"
)

// maxSpool is the maximum size of a spool in bytes. Entries that exceed it are not added.
const maxSpool = 10 << 20

// entry is the end of a run, as the spool has it: a line of JSON.
type entry struct {
	Monitor  string            `json:"monitor"` // as target.name returns it
	RunID    string            `json:"run_id"`
	Kind     client.SignalKind `json:"kind"`
	ExitCode *int              `json:"exit_code"` // nil: the command was ended by the timeout
	EndedAt  time.Time         `json:"ended_at"`
	Output   []byte            `json:"output"`
}

// report returns the signal of the entry.
func (e entry) report() client.SignalReport {
	return client.SignalReport{Kind: e.Kind, ExitCode: e.ExitCode, RunID: e.RunID, Output: e.Output}
}

// late returns the signal of an entry from the spool, whose output says when the run ended.
func (e entry) late() client.SignalReport {
	r := e.report()
	r.Output = append(bytes.Clone(e.Output),
		fmt.Sprintf("\nallswell: this run ended at %s, and could only be reported later.\n",
			kernel.FormatTime(e.EndedAt))...)
	return r
}

// spool is a file with ends of runs that could not be sent. Several runs may share it, even runs of different monitors.
type spool struct {
	path    string // "": none
	monitor string // of the runs that are added and sent
}

// open opens and locks the file.
func (s spool) open() (*os.File, error) {
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// add appends an entry, and waits until it is on disk.
func (s spool) add(e entry) error {
	e.Monitor = s.monitor
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := s.open()
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	if size+int64(len(line)) > maxSpool {
		return fmt.Errorf("%s is full", s.path)
	}
	line = append(line, '\n')
	if last := []byte{0}; size > 0 {
		if _, err := f.ReadAt(last, size-1); err != nil {
			return err
		}
		if last[0] != '\n' { // an entry was not written to its end: it must not damage this one
			line = append([]byte{'\n'}, line...)
		}
	}
	if _, err := f.WriteAt(line, size); err != nil {
		return err
	}
	return f.Sync()
}

// flush sends the entries of the spool's monitor, oldest first, and removes entries that were sent or are lost. It
// stops at the first entry that may succeed later. lost is the number of lost entries, and refused is the last error
// that lost an entry or made it stay. complete is false if it stopped at an error that is not final. The file is not
// locked while an entry is sent, so two runs may send the same entry.
func (s spool) flush(send func(entry) error) (lost int, refused error, complete bool) {
	if s.path == "" {
		return 0, nil, true
	}
	if info, err := os.Stat(s.path); err != nil || info.Size() == 0 {
		return 0, nil, true
	}
	entries, err := s.entries()
	if err != nil {
		return 0, nil, true
	}
	complete = true
	done := make(map[string]bool)
	for _, e := range entries {
		if e.Monitor != s.monitor {
			continue
		}
		err := send(e)
		if isFinal(err) {
			refused = err
		}
		if err != nil && !isLost(err) {
			complete = isFinal(err)
			break
		}
		if err != nil {
			lost++
		}
		done[e.RunID] = true
	}
	if len(done) > 0 {
		s.remove(done)
	}
	return lost, refused, complete
}

// entries reads the file. Lines that are damaged are omitted.
func (s spool) entries() ([]entry, error) {
	f, err := s.open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readEntries(f)
}

func readEntries(r io.Reader) (all []entry, err error) {
	in := bufio.NewReader(io.LimitReader(r, 2*maxSpool))
	for {
		line, err := in.ReadBytes('\n')
		var e entry
		if json.Unmarshal(line, &e) == nil && e.RunID != "" {
			all = append(all, e)
		}
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

// remove removes entries by their run ids. If it is interrupted, some may be in the file twice, but none is lost.
func (s spool) remove(runs map[string]bool) error {
	f, err := s.open()
	if err != nil {
		return err
	}
	defer f.Close()
	entries, err := readEntries(f)
	if err != nil {
		return err
	}
	var rest bytes.Buffer
	for _, e := range entries {
		if runs[e.RunID] {
			continue
		}
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		rest.Write(append(line, '\n'))
	}
	if _, err := f.WriteAt(rest.Bytes(), 0); err != nil {
		return err
	}
	return f.Truncate(int64(rest.Len()))
}
