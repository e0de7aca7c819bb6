package store

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/allswell/allswell/internal/domain/monitor"
)

// PackOutput returns the stored form of an output: gzip, or nil if it is empty. It takes time, so it is done before the
// transaction.
func PackOutput(output []byte) []byte {
	if len(output) == 0 {
		return nil
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err == nil {
		_, err = w.Write(output)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // the level is valid, and a buffer accepts everything
	}
	return packed.Bytes()
}

// packedOutput scans what PackOutput returned; NULL is nil.
type packedOutput struct{ to *[]byte }

// Scan makes packedOutput a destination of rows.Scan.
func (p packedOutput) Scan(src any) error {
	*p.to = nil
	packed, ok := src.([]byte)
	if src == nil || ok && len(packed) == 0 {
		return nil
	}
	if !ok {
		return fmt.Errorf("an output is a %T", src)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("reading an output: %w", err)
	}
	if *p.to, err = io.ReadAll(io.LimitReader(r, monitor.MaxOutput)); err != nil {
		return fmt.Errorf("reading an output: %w", err)
	}
	return nil
}
