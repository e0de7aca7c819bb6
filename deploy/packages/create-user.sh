# Creates the user and its directory, and lets its group read the configuration file.
# The scripts that run after an installation begin with this one.
set -e
if ! getent passwd allswell >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/allswell --no-create-home \
		--shell /usr/sbin/nologin --comment Allswell allswell
fi
install -d -o allswell -g allswell -m 0700 /var/lib/allswell
if [ -f /etc/allswell/allswell.env ]; then
	chgrp allswell /etc/allswell/allswell.env
fi
