#!/bin/bash
# Installs, upgrades and removes the RPM package on a copy of this system that exists only in memory, with rpm alone:
# unshare --mount --net testdata/rpm.sh FOLDER OLD.rpm NEW.rpm
set -euo pipefail
# shellcheck source=system.sh
. "$(dirname "$0")/system.sh"

# What the package depends on is installed by another package manager.
rpm_in_root() { in_root rpm --nodeps "$@"; }

echo "== a first installation"
rpm_in_root --install /tmp/old.rpm
expect "data" "$(in_root stat -c '%U %G %a' /var/lib/allswell)" "allswell allswell 700"
expect "settings" "$(in_root stat -c '%U %G %a' /etc/allswell/allswell.env)" "root allswell 640"
grep -qx 'preset --quiet allswell.service' "$root/systemctl.log"
expect "calls of systemctl" "$(calls)" ""

echo "== an upgrade keeps the settings, and restarts the service if it runs"
echo "ALLSWELL_CHECK_INTERVAL=30s" >>"$root/etc/allswell/allswell.env"
rpm_in_root --upgrade /tmp/new.rpm
expect "version" "$(in_root rpm --query allswell)" "$(rpm --query --package "$new")"
tail -n 1 "$root/etc/allswell/allswell.env" | grep -qx ALLSWELL_CHECK_INTERVAL=30s
expect "calls of systemctl" "$(calls)" "try-restart "

echo "== removed, the changed settings and the data stay"
rpm_in_root --erase allswell
expect "calls of systemctl" "$(calls)" "disable "
[[ ! -e $root/usr/bin/allswell && -d $root/var/lib/allswell ]]
tail -n 1 "$root/etc/allswell/allswell.env.rpmsave" | grep -qx ALLSWELL_CHECK_INTERVAL=30s
