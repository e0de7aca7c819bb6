package frame

import "github.com/allswell/allswell/internal/domain/statuspage"

// SetupStep is the data of the template setup: the current step of the setup.
type SetupStep struct {
	*Form
	Step   int
	Page   statuspage.Page
	Fields []Field
	Skip   string // URL of the link that skips this step; "": it cannot be skipped
}

// setupTitles are the titles of the steps.
var setupTitles = []string{1: "Create your account", 2: "Your first page", 3: "Components", 4: "Your first monitor"}

// Title returns the title of the step.
func (s *SetupStep) Title() string { return setupTitles[s.Step] }

// Done returns the number of steps before this one.
func (s *SetupStep) Done() int { return s.Step - 1 }

// Steps returns the titles of all steps, in order.
func (s *SetupStep) Steps() []string { return setupTitles[1:] }

// DrawFields draws the fields of the step.
func (s *SetupStep) DrawFields(fields ...Field) {
	s.Fields = s.DrawAll(fields...)
	FocusFirst(s.Fields)
}
