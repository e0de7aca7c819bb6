package workspace

// What tests of the screens use.
const MaxSearchText = maxSearchText

// BeginBackup makes the dashboard believe that a backup is being downloaded, until the function is called.
func (s *Screens) BeginBackup() func() {
	s.backingUp.Lock()
	return s.backingUp.Unlock
}
