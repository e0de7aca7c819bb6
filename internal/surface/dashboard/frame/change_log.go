package frame

import "time"

// ObjectLog lists the changes of an object, with their authors.
type ObjectLog struct {
	Lines []LogLine // newest first
	More  bool      // there are older ones

	Authors map[string]string // by id of the object: who created it
}

// LogLine is an audit entry as a sentence.
type LogLine struct {
	Who, What string
	At        time.Time
}
