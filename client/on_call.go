package client

// ListOnCall returns the on-call schedules of the workspace, the oldest first.
func (c *Client) ListOnCall() *List[OnCall] {
	return &List[OnCall]{client: c, path: pathOf("on-call")}
}
