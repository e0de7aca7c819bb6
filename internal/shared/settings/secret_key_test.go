package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecretKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte(strings.Repeat("k", 32)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		setting SecretKeySetting
		has     bool
		refused string
	}{
		"none":   {SecretKeySetting{}, false, ""},
		"a key":  {SecretKeySetting{SecretKey: strings.Repeat("k", 32)}, true, ""},
		"a file": {SecretKeySetting{SecretKeyFile: file}, true, ""},
		"two keys": {SecretKeySetting{
			SecretKey: strings.Repeat("k", 32) + "," + strings.Repeat("o", 32),
		}, true, ""},
		"a short second key": {SecretKeySetting{SecretKey: strings.Repeat("k", 32) + ",hunter2"}, false,
			"ALLSWELL_SECRET_KEY "},
		"a short key":  {SecretKeySetting{SecretKey: "hunter2"}, false, "ALLSWELL_SECRET_KEY "},
		"no such file": {SecretKeySetting{SecretKeyFile: file + "x"}, false, "ALLSWELL_SECRET_KEY_FILE "},
		"both, which differ or not": {SecretKeySetting{SecretKey: strings.Repeat("k", 32), SecretKeyFile: file}, true,
			"ALLSWELL_SECRET_KEY_FILE "},
	} {
		s := KeyedDatabaseSetting{SecretKeySetting: c.setting}
		key, err := s.Keys()
		if (key != nil) != c.has || (err != nil) != (c.refused != "") ||
			err != nil && (!strings.HasPrefix(err.Error(), c.refused) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: has keys %v, error %v", name, key != nil, err)
		}
	}
}
