package frame

// NotifiesNobody reports whether "Don't notify" was chosen.
func (f *Form) NotifiesNobody() bool { return f.Value("notify") == "false" }

// NotifyPast reports whether "Notify subscribers all the same" was chosen.
func (f *Form) NotifyPast() bool { return f.Value("notify") == "true" }
