package kernel_test

import (
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/kernel"
)

func TestWriteCSVGuardsFormulas(t *testing.T) {
	var out strings.Builder
	rows := [][]string{{"=1+1", "+1", "-1", "@x", "\tx", "\rx", "\nx", "", "a=1", `say "x", y`}}
	if err := kernel.WriteCSV(&out, rows); err != nil {
		t.Fatal(err)
	}
	want := "'=1+1,'+1,'-1,'@x,'\tx,\"'\rx\",\"'\nx\",,a=1,\"say \"\"x\"\", y\"\n"
	if out.String() != want || rows[0][0] != "=1+1" {
		t.Errorf("WriteCSV wrote %q, want %q", out.String(), want)
	}
}
