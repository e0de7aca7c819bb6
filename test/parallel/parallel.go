// Package parallel sets how many tests of a package run at a time.
package parallel

import (
	"flag"
	"fmt"
	"os"
)

// Tests lets n parallel tests run at a time, or half as many with the race detector, which makes them so much slower
// that they would reach deadlines. It does nothing if -parallel is given. The default, one for each processor, leaves
// the processors idle where tests wait for other processes. It must be called before testing.M.Run.
func Tests(n int) {
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if given {
		return
	}
	if raceDetector {
		n = max(1, n/2)
	}
	if err := flag.Set("test.parallel", fmt.Sprint(n)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}
