package alerting

// What tests of the screens use.
const DropField = dropField
const MaxSlackBytes = maxSlackBytes
const MaxSlackFaults = maxSlackFaults

// ForgetSlackFaults forgets the reports as by Slack that were not signed.
func (s *Screens) ForgetSlackFaults() { s.slackFaults = newSlackFaults() }
