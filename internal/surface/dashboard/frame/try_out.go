package frame

import (
	"errors"

	"github.com/allswell/allswell/internal/domain/kernel"
	"github.com/allswell/allswell/internal/surface/web"
)

// ErrNoTests is returned for a test where there is nothing that tests.
var ErrNoTests = errors.New("no tester is configured")

// TooManyTests returns the error of a test as one of the form if there were too many of them.
func TooManyTests(err error) error {
	if errors.As(err, new(*web.TooMany)) || errors.Is(err, kernel.ErrBusy) {
		var bad kernel.ValidationError
		bad.Add("type", "There were too many tests in the last minute. Please try again.")
		return bad.Err()
	}
	return err
}
