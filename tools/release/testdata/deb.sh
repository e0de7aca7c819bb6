#!/bin/bash
# Installs, upgrades, removes and purges the Debian package on a copy of this system that exists only in memory, and
# starts the service as its unit does: unshare --mount --net testdata/deb.sh FOLDER OLD.deb NEW.deb
# shellcheck disable=SC2016 # dpkg-query expands ${…}
set -euo pipefail
# shellcheck source=system.sh
. "$(dirname "$0")/system.sh"

# Runs a command as the unit does: as its user, with its environment, in its folder.
as_service() {
  in_root setpriv --reuid allswell --regid allswell --init-groups --no-new-privs env -i sh -c \
    'set -a; . /etc/allswell/allswell.env; cd /var/lib/allswell; umask 077; exec "$@"' sh "$@"
}
milliseconds() { echo $((($(date +%s%N) - $1) / 1000000)); }

echo "== a first installation"
began=$(date +%s%N)
in_root dpkg --install /tmp/old.deb
echo "installed after $(milliseconds "$began") ms"
expect "the user's folder" "$(in_root getent passwd allswell | cut -d: -f6,7)" /var/lib/allswell:/usr/sbin/nologin
expect "data" "$(in_root stat -c '%U %G %a' /var/lib/allswell)" "allswell allswell 700"
expect "settings" "$(in_root stat -c '%U %G %a' /etc/allswell/allswell.env)" "root allswell 640"
expect "conffiles" "$(in_root dpkg-query -W -f '${Conffiles}' allswell | awk '{ print $1 }')" /etc/allswell/allswell.env
expect "calls of systemctl" "$(calls)" "enable restart "
in_root systemd-analyze verify --man=no /usr/lib/systemd/system/allswell.service
expect "the command of the unit" "$(in_root sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/allswell.service)" "/usr/bin/allswell serve"

# Bash completes the commands.
completed=$(in_root env -i PATH=/usr/bin bash -c '. /usr/share/bash-completion/completions/allswell
  COMP_WORDS=(allswell vers); COMP_CWORD=1; _allswell; echo "${COMPREPLY[@]}"')
expect "what vers completes to" "${completed% }" version

# The manual page names the commands, and the first entry of the package's changelog its version.
expect "the manual page" "$(in_root zcat /usr/share/man/man1/allswell.1.gz | grep -c '^.SS serve ')" 1
expect "the changelog" "$(in_root zcat /usr/share/doc/allswell/changelog.Debian.gz | sed -n '1s/.*(\(.*\)).*/\1/p')" "$(dpkg-deb -f "$old" Version)"
expect "the program's changelog" "$(in_root zcat /usr/share/doc/allswell/changelog.gz | head -n 1)" "# Changelog"

echo "== the first page"
as_service /usr/bin/allswell serve >"$memory/log" 2>&1 &
server=$!
for ((i = 0; i < 600; i++)); do
  if [[ $(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/readyz) == 200 ]]; then break; fi
  sleep 0.05
done
# As the documentation says: the command finds the database by the configuration file.
token=$(cd / && in_root runuser -u allswell -- env -i /usr/bin/allswell token create --name test --scope admin)
in_root env -i "ALLSWELL_TOKEN=$token" /usr/bin/allswell page create --name Example --slug example >/dev/null
page=$(curl -fsS http://127.0.0.1:8080/status/example || true)
if [[ $page != *Example* ]]; then
  cat "$memory/log"
  exit 1
fi
echo "the first page after $(milliseconds "$began") ms"
kill -TERM -- "$(pgrep -P "$server" -x allswell || echo "$server")"
wait "$server" || true
expect "the database" "$(in_root stat -c '%U %a' /var/lib/allswell/allswell.db)" "allswell 600"

echo "== an upgrade keeps the settings and the data"
echo "ALLSWELL_CHECK_INTERVAL=30s" >>"$root/etc/allswell/allswell.env"
in_root dpkg --install /tmp/new.deb
expect "version" "$(in_root dpkg-query -W -f '${Version}' allswell)" "$(dpkg-deb -f "$new" Version)"
tail -n 1 "$root/etc/allswell/allswell.env" | grep -qx ALLSWELL_CHECK_INTERVAL=30s
expect "settings" "$(in_root stat -c '%U %G %a' /etc/allswell/allswell.env)" "root allswell 640"
expect "calls of systemctl" "$(calls)" "restart "

echo "== an upgrade with other defaults keeps the changed settings, too"
dpkg-deb --raw-extract "$new" "$memory/later"
sed -i 's/^Version: .*/&.1/' "$memory/later/DEBIAN/control"
echo "# another default" >>"$memory/later/etc/allswell/allswell.env"
dpkg-deb -Znone --build --root-owner-group "$memory/later" "$root/tmp/later.deb"
in_root dpkg --force-confold --install /tmp/later.deb
tail -n 1 "$root/etc/allswell/allswell.env" | grep -qx ALLSWELL_CHECK_INTERVAL=30s
expect "settings" "$(in_root stat -c '%U %G %a' /etc/allswell/allswell.env)" "root allswell 640"
tail -n 1 "$root/etc/allswell/allswell.env.dpkg-dist" | grep -qx "# another default"
expect "calls of systemctl" "$(calls)" "restart "

echo "== removed, the settings and the data stay"
in_root dpkg --remove allswell
expect "calls of systemctl" "$(calls)" "stop "
[[ ! -e $root/usr/bin/allswell && -e $root/etc/allswell/allswell.env && -e $root/var/lib/allswell/allswell.db ]]

echo "== installed again"
in_root dpkg --force-confold --install /tmp/new.deb # its defaults differ from the last ones
expect "calls of systemctl" "$(calls)" "restart "
[[ -L $root/etc/systemd/system/multi-user.target.wants/allswell.service ]]

echo "== purged, the data stays"
in_root dpkg --purge allswell >"$memory/purge"
grep -F 'rm -r /var/lib/allswell' "$memory/purge"
[[ -e $root/var/lib/allswell/allswell.db && ! -e $root/etc/allswell ]]
[[ ! -L $root/etc/systemd/system/multi-user.target.wants/allswell.service ]]

echo "== purged without data, nothing stays"
rm -r "$root/var/lib/allswell"
in_root dpkg --install /tmp/new.deb >/dev/null
in_root dpkg --purge allswell >/dev/null
[[ ! -e $root/var/lib/allswell && ! -e $root/etc/allswell ]]
expect "the user" "$(in_root getent passwd allswell || true)" ""
rm -f "$root/systemctl.log"
left=$(cd "$memory/upper" && find . -name '*allswell*')
expect "files left" "$left" ""

echo "== a user and a masked service that exist already"
in_root useradd --gid users --home-dir /srv --no-create-home allswell
rm -f "$root/systemctl.log"
mkdir -p "$root/etc/systemd/system"
ln -s /dev/null "$root/etc/systemd/system/allswell.service"
in_root dpkg --install /tmp/new.deb >/dev/null
expect "calls of systemctl" "$(calls)" "enable try-restart "
expect "the user's groups" "$(in_root id -nG allswell)" "users allswell"
in_root dpkg --purge allswell >/dev/null
expect "the user of others" "$(in_root getent passwd allswell | cut -d: -f6)" /srv
in_root userdel allswell
rm "$root/etc/systemd/system/allswell.service"

echo "== without systemd"
rm "$root/usr/bin/systemctl"
rmdir "$root/run/systemd/system"
in_root groupadd --force allswell
in_root dpkg --install /tmp/new.deb >/dev/null
expect "data" "$(in_root stat -c '%U %G %a' /var/lib/allswell)" "allswell allswell 700"
as_service /usr/bin/allswell version
in_root dpkg --purge allswell >/dev/null
expect "the user" "$(in_root getent passwd allswell || true)" ""
