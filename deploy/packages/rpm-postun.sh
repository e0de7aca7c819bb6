# Argument: the number of versions that stay installed, 1 for an upgrade.
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
	if [ "$1" -ge 1 ]; then systemctl try-restart allswell.service || true; fi
fi
