#!/usr/bin/env bash
# Unpacks the releases of nats-server that the tests of the cluster run, below build/nats: one that syncs before it
# acknowledges, and this Debian's own where that is an older one, which the service must refuse. The machine's
# packages and its lists stay as they are. `--find` unpacks nothing: it prints the path of one that is recent enough
# (TRUSTRANK_TEST_NATS_SERVER, unpacked before, or installed), and fails where there is none.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/debian-mirror.sh

least=2.10.23
root=$PWD/build/nats

is_fit() {
  local version
  version=$("$1" --version 2>/dev/null | grep -oE '[0-9]+\.[0-9]+\.[0-9]+') || return 1
  [ "$(printf '%s\n' "$least" "$version" | sort -V | head -1)" = "$least" ]
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
  url=$(debian_mirror)
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

find_fit() {
  local path
  for path in "${TRUSTRANK_TEST_NATS_SERVER:-}" "$own" "$later" "$(command -v nats-server || true)"; do
    if is_fit "$path"; then
      echo "$path"
      return 0
    fi
  done
  return 1
}

if [ "${1:-}" = --find ]; then
  find_fit
  exit
fi
[ -x "$own" ] || from_own
find_fit >/dev/null || from_trixie
find_fit
