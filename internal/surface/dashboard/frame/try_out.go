package frame

import (
	"errors"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/web"
)

// ErrNoTests is returned for a test if no tester is configured.
var ErrNoTests = errors.New("no tester is configured")

// TooManyTests returns the error of a test. An error about too many tests becomes a *kernel.ValidationError.
func TooManyTests(err error) error {
	if errors.As(err, new(*web.TooMany)) || errors.Is(err, kernel.ErrBusy) {
		var bad kernel.ValidationError
		bad.Add("type", "There were too many tests in the last minute. Please try again.")
		return bad.Err()
	}
	return err
}
