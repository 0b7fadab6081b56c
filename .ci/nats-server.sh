#!/usr/bin/env bash
# Unpacks the releases of nats-server that the tests of the cluster run, below build/nats: one that syncs before it
# acknowledges, and this Debian's own where that is an older one, which the service must refuse. The machine's
# packages and its lists stay as they are. Prints `NAME=PATH` for each that is there.
set -euo pipefail
cd "$(dirname "$0")/.."

least=2.10.23
root=$PWD/build/nats

is_fit() {
  local version
  version=$("$1" --version 2>/dev/null | grep -oE '[0-9]+\.[0-9]+\.[0-9]+') || return 1
  dpkg --compare-versions "$version" ge "$least"
}

# The Debian mirror of this machine; other vendors' archives stand beside it.
mirror() {
  grep -rhoE 'https?://[^] "]+' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null |
    grep -E '/debian/?$' | head -1 || true
}

unpack() { # archive directory
  mkdir -p "$2"
  dpkg -x "$1" "$2"
  rm -f "$1"
}

# This machine's own release of Debian.
from_own() {
  mkdir -p "$root/own"
  (cd "$root/own" && apt-get download -qq nats-server >/dev/null 2>&1) || return 0
  unpack "$root"/own/nats-server_*.deb "$root/own"
}

# A later release, by lists of its own; it needs no newer library than Debian 12 has.
from_trixie() {
  local url
  url=$(mirror)
  [ -n "$url" ] || { echo "no Debian mirror in /etc/apt" >&2; return 0; }
  mkdir -p "$root/lists/partial" "$root/cache/archives/partial" "$root/trixie"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $url trixie main" >"$root/source.list"
  local own_lists=(-o "Dir::Etc::sourcelist=$root/source.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$root/lists" -o "Dir::Cache=$root/cache" -o "APT::Sandbox::User=")
  apt-get "${own_lists[@]}" update -qq >&2
  (cd "$root/trixie" && apt-get "${own_lists[@]}" download -qq nats-server >/dev/null)
  unpack "$root"/trixie/nats-server_*.deb "$root/trixie"
  rm -rf "$root/lists" "$root/cache" "$root/source.list"
}

own=$root/own/usr/sbin/nats-server
later=$root/trixie/usr/sbin/nats-server
[ -x "$own" ] || from_own
if ! is_fit "$own" && ! is_fit "$later"; then from_trixie; fi

for path in "$own" "$later" "$(command -v nats-server || true)"; do
  if is_fit "$path"; then
    echo "TRUSTRANK_TEST_NATS_SERVER=$path"
    break
  fi
done
if [ -x "$own" ] && ! is_fit "$own"; then echo "TRUSTRANK_TEST_NATS_SERVER_OLD=$own"; fi
