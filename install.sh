#!/bin/sh
# Installs the program allswell, or brings it up to date:
#
#   curl -fsSL https://github.com/allswell/allswell/releases/latest/download/install.sh | sh
#
# Settings, as environment variables:
#   ALLSWELL_VERSION       version to install, such as 1.2.3; default: the latest release
#   ALLSWELL_INSTALL_DIR   folder for the program; default: /usr/local/bin for root, else ~/.local/bin
#   ALLSWELL_DOWNLOAD_URL  folder with the files of the release; default: the release on GitHub
set -eu

fail() {
	echo "install.sh: $1" >&2
	exit 1
}

# download URL FILE: downloads a file. curl is never redirected from https:// to http://.
download() {
	if command -v curl >/dev/null; then
		case $1 in
		https://*) curl -fsSL --proto '=https' --tlsv1.2 --retry 2 -o "$2" "$1" ;;
		*) curl -fsSL --retry 2 -o "$2" "$1" ;;
		esac
	elif command -v wget >/dev/null; then
		wget -q -O "$2" "$1"
	elif command -v fetch >/dev/null; then
		fetch -q -o "$2" "$1"
	else
		fail "curl or wget is required"
	fi || fail "$1 cannot be downloaded"
}

# checksum FILE: prints the SHA-256 of a file.
checksum() {
	if command -v sha256sum >/dev/null; then
		sha256sum <"$1" | cut -d ' ' -f 1
	elif command -v shasum >/dev/null; then
		shasum -a 256 <"$1" | cut -d ' ' -f 1
	elif command -v sha256 >/dev/null; then
		sha256 -q <"$1"
	else
		fail "sha256sum, shasum or sha256 is required to check the download"
	fi
}

# Everything is in a function, so that nothing runs if only a part of this file was downloaded.
main() {
	system=$(uname -s | tr '[:upper:]' '[:lower:]')
	case $system in
	linux | darwin | freebsd) ;;
	*) fail "there is no release for $system that this script can install" ;;
	esac
	arch=$(uname -m)
	case $arch in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no release for $arch: build it with Go" ;;
	esac

	releases=https://github.com/allswell/allswell/releases
	url=$releases/latest/download
	if [ -n "${ALLSWELL_VERSION-}" ]; then
		url=$releases/download/v${ALLSWELL_VERSION#v}
	fi
	url=${ALLSWELL_DOWNLOAD_URL:-$url}
	url=${url%/}
	dir=${ALLSWELL_INSTALL_DIR-}
	if [ -z "$dir" ]; then
		dir=/usr/local/bin
		if [ "$(id -u)" != 0 ]; then dir=${HOME:?set ALLSWELL_INSTALL_DIR}/.local/bin; fi
	fi
	unset ALLSWELL_VERSION ALLSWELL_INSTALL_DIR ALLSWELL_DOWNLOAD_URL # the program would warn of them

	file=allswell_${system}_$arch.tar.gz
	[ ! -d "$dir/allswell" ] || fail "$dir/allswell is a folder: set ALLSWELL_INSTALL_DIR"
	mkdir -p "$dir" || fail "$dir cannot be created: run this as root, or set ALLSWELL_INSTALL_DIR"
	dir=$(CDPATH='' cd "$dir" && pwd)
	work=$(mktemp -d "$dir/.allswell.XXXXXX") || fail "$dir cannot be written: run this as root, or set ALLSWELL_INSTALL_DIR"
	trap 'rm -rf "$work"' EXIT
	trap 'exit 1' HUP INT TERM
	echo "Downloading $url/$file"
	download "$url/SHA256SUMS" "$work/SHA256SUMS"
	download "$url/$file" "$work/$file"

	expected=$(awk -v file="$file" '$2 == file { print $1 }' "$work/SHA256SUMS")
	[ -n "$expected" ] || fail "SHA256SUMS does not name $file: nothing was installed"
	actual=$(checksum "$work/$file")
	[ "$actual" = "$expected" ] || fail "the checksum of $file is $actual, expected $expected: nothing was installed"

	tar -xzf "$work/$file" -C "$work" allswell
	chmod 755 "$work/allswell"
	"$work/allswell" version >/dev/null || fail "the program does not run on this machine: nothing was installed"
	upgrade=
	if [ -e "$dir/allswell" ]; then upgrade=yes; fi
	mv -f "$work/allswell" "$dir/allswell" # at once: nobody sees a part of it, and a running one is not disturbed
	echo "Installed $("$dir/allswell" version)"
	echo "in $dir/allswell. Try it: allswell demo"
	if [ "$upgrade" ]; then echo "A server that is running keeps its version until it is restarted."; fi
	found=$(command -v allswell || true)
	case $found in
	"$dir/allswell") ;;
	"") echo "$dir is not in PATH. Add it: export PATH=\"$dir:\$PATH\"" ;;
	*) echo "The command allswell is still $found, because its folder comes first in PATH." ;;
	esac
}

main
