package view

// AccessForm is the form that admits visitors to a private page.
type AccessForm struct {
	At          Presentation
	Password    bool   // visitors can enter a password
	SignIn      string // URL at which members sign in; "": they cannot
	Next        string // the path that the visitor requested, below the page
	Wrong       bool   // the password that was entered is wrong
	WaitMinutes int    // until the next attempt, after too many wrong passwords; 0: no need to wait
}

// Action returns the URL to which the form is sent.
func (f AccessForm) Action() string { return f.At.link("/access") }

// Refused reports whether the form was sent and the visitor was not admitted.
func (f AccessForm) Refused() bool { return f.Wrong || f.WaitMinutes > 0 }

// Access returns the page that asks visitors of a private page for the password, or to sign in. It shows nothing of the
// private page.
func Access(f AccessForm) Model {
	l := NewRootLayout(f.At)
	l.Title = l.At.lang.T("access.heading")
	l.Secret = true // the URL may contain a key
	return Model{l, "access", f}
}
