// Package mutants plants faults in a copy of the source and checks that the
// tests notice them. Every file in patches is one small fault, as a patch with a
// header that says what it breaks and which tests have to fail.
//
// The faults are planted only on request, because that takes most of an hour:
//
//	ALLSWELL_MUTANTS=all go test -v -timeout 3h ./test/mutants
//	ALLSWELL_MUTANTS='store|ping' go test -v -timeout 3h ./test/mutants
//
// The second form plants those whose file name matches a regular expression.
package mutants
