# Argument: the number of versions that are installed now, 1 for a first installation.
if command -v systemctl >/dev/null; then
	if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
	if [ "$1" = 1 ]; then systemctl preset --quiet allswell.service || true; fi
fi
if [ "$1" = 1 ]; then
	cat <<'TEXT'
Settings of Allswell: /etc/allswell/allswell.env. Start it: systemctl enable --now allswell
Begin in a browser, with the link that this prints: sudo -u allswell allswell setup-link
TEXT
fi
