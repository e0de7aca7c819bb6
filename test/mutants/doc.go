// Package mutants plants faults in a copy of the source and checks that the tests notice them. Each file in the folder
// faults describes one small fault: what it breaks, the file, the tests that must fail, the lines to replace and their
// replacement.
//
// A plain go test checks that all faults can be planted: the lines are in the file, and
// the tests exist. Planting them takes most of an hour and runs only on request:
//
//	ALLSWELL_MUTANTS=all go test -v -timeout 3h ./test/mutants
//	ALLSWELL_MUTANTS='^(store|ping)-' go test -v -timeout 3h ./test/mutants
//
// The second form plants the faults whose file name matches a regular expression. The value "check" plants none.
package mutants
