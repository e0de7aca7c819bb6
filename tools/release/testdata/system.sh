# shellcheck shell=bash
# Sourced by deb.sh and rpm.sh: makes $root, a copy of this system that exists only in memory, in which systemctl
# only logs its arguments. It needs the arguments FOLDER OLD NEW, and namespaces of its own.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
memory=$1 old=$2 new=$3
root=$memory/root

mount --make-rprivate /
mount -t tmpfs none "$memory"
mkdir "$memory/upper" "$memory/work" "$root"
mount -t overlay none -o "lowerdir=/,upperdir=$memory/upper,workdir=$memory/work" "$root"
mount -t proc none "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs none "$root/run"
mount -t tmpfs none "$root/tmp"
ip link set lo up
cp "$old" "$root/tmp/old.${old##*.}"
cp "$new" "$root/tmp/new.${new##*.}"
cp "$here/systemctl" "$root/usr/bin/systemctl"
rm -f "$root/usr/sbin/policy-rc.d"
mkdir -p "$root/run/systemd/system"

in_root() { chroot "$root" "$@"; }
calls() { # the commands that systemctl got since the last call
  tr ' ' '\n' <"$root/systemctl.log" | grep -xE 'start|stop|restart|try-restart|enable|disable' | tr '\n' ' ' || true
  : >"$root/systemctl.log"
}
expect() { # NAME GOT WANT
  if [[ $2 != "$3" ]]; then
    printf '%s is %q, want %q\n' "$1" "$2" "$3"
    exit 1
  fi
}
