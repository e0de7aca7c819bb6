package notify

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/allswell/allswell/internal/domain/audience"
)

// TestChannelsAreComplete checks that the registry, the OpenAPI document and the table of
// events in docs/subscribers.md have exactly the channels of the domain.
func TestChannelsAreComplete(t *testing.T) {
	var registered []audience.Channel
	for _, c := range channels {
		registered = append(registered, c.name)
	}
	if !slices.Equal(registered, audience.Channels) {
		t.Errorf("channels.go has %q, want %q", registered, audience.Channels)
	}

	var openAPI struct {
		Components struct {
			Schemas struct {
				Channel struct{ Enum []audience.Channel }
			}
		}
	}
	if err := json.Unmarshal(read(t, "../../surface/api/openapi.json"), &openAPI); err != nil {
		t.Fatal(err)
	}
	if enum := openAPI.Components.Schemas.Channel.Enum; !slices.Equal(enum, audience.Channels) {
		t.Errorf("openapi.json has %q, want %q", enum, audience.Channels)
	}

	_, header, found := strings.Cut(string(read(t, "../../../docs/subscribers.md")), "\n| What happens |")
	if !found {
		t.Fatal("docs/subscribers.md has no table of events")
	}
	header, _, _ = strings.Cut(header, "\n")
	columns := strings.Split(strings.ToLower(strings.ReplaceAll(header, "-", "")), "|")
	var documented []audience.Channel
	for _, column := range columns[:len(columns)-1] { // the header ends with a |
		if column = strings.TrimSpace(column); column == "chat" {
			documented = append(documented, audience.ChatChannels...)
			continue
		}
		documented = append(documented, audience.Channel(column))
	}
	if !slices.Equal(documented, audience.Channels) {
		t.Errorf("docs/subscribers.md has %q, want %q", documented, audience.Channels)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
