// Package parallel sets how many tests of a package run at a time.
package parallel

import (
	"flag"
	"fmt"
	"os"
)

// Tests lets n parallel tests run at a time, or half as many under the race detector, which slows them down so much
// that they would exceed deadlines. It does nothing if -parallel is given. The default, one test per processor, leaves
// processors idle where tests wait for other processes. It must be called before testing.M.Run.
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
