package frame

// NotifiesNobody reports whether "Don't notify" was chosen.
func NotifiesNobody(f *Form) bool { return f.Value("notify") == "false" }

// NotifyPast reports whether "Notify subscribers all the same" was chosen, for templates.
func (f *Form) NotifyPast() bool { return f.Value("notify") == "true" }

// Silent is NotifiesNobody, for templates.
func (f *Form) Silent() bool { return NotifiesNobody(f) }
