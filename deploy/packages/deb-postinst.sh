# Arguments: "configure" and the version before, which is empty for a first installation.
if [ "$1" = configure ] && command -v systemctl >/dev/null; then
	# Enabling fails if the service is masked, which is a way to keep it from starting.
	[ -n "$2" ] || systemctl enable --quiet allswell.service || true
	if [ -d /run/systemd/system ]; then
		systemctl daemon-reload
		action=try-restart
		if systemctl is-enabled --quiet allswell.service; then action=restart; fi
		deb-systemd-invoke $action allswell.service || true # it starts when its settings are mended
	fi
fi
if [ "$1" = configure ] && [ -z "$2" ]; then
	cat <<'TEXT'
Allswell listens on http://127.0.0.1:8080. Its settings are in /etc/allswell/allswell.env.
Begin in a browser, with the link that this prints: sudo -u allswell allswell setup-link
TEXT
fi
