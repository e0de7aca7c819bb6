# Creates the user and its directory, and lets its group read the configuration file. A user or a group that exists is used.
# The scripts that run after an installation begin with this one.
set -e
if ! getent group allswell >/dev/null; then
	groupadd --system allswell
fi
if ! getent passwd allswell >/dev/null; then
	useradd --system --gid allswell --home-dir /var/lib/allswell --no-create-home \
		--shell /usr/sbin/nologin --comment Allswell allswell
elif ! id -nG allswell | grep -qw allswell; then
	usermod --append --groups allswell allswell
fi
install -d -o allswell -g allswell -m 0700 /var/lib/allswell
if [ -f /etc/allswell/allswell.env ]; then
	chgrp allswell /etc/allswell/allswell.env
fi
