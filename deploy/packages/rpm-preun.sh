# Argument: the number of versions that stay installed, 0 for a removal.
if [ "$1" = 0 ] && command -v systemctl >/dev/null; then
	systemctl --no-reload disable --now --quiet allswell.service || true
fi
