// Package mutants plants faults in a copy of the source and checks that the
// tests notice them. Every file in the folder faults describes one small fault:
// what it breaks, the file, the tests that have to fail, the lines to replace and
// their replacement.
//
// The faults are planted only on request, because that takes most of an hour:
//
//	ALLSWELL_MUTANTS=all go test -v -timeout 3h ./test/mutants
//	ALLSWELL_MUTANTS='store|ping' go test -v -timeout 3h ./test/mutants
//
// The second form plants those whose file name matches a regular expression.
// ALLSWELL_MUTANTS=check plants none and checks that all of them can be planted.
package mutants
