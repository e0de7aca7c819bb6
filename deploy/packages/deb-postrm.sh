set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
if [ "$1" = purge ]; then
	rm -f /etc/systemd/system/multi-user.target.wants/allswell.service
	rmdir /etc/allswell 2>/dev/null || true
	if [ -d /var/lib/allswell ] && ! rmdir /var/lib/allswell 2>/dev/null; then
		echo "The data of Allswell is kept in /var/lib/allswell. Delete it with: rm -r /var/lib/allswell; userdel allswell"
	elif [ "$(getent passwd allswell | cut -d: -f6)" = /var/lib/allswell ]; then # not a user that others created
		userdel allswell || true
	fi
fi
