#!/usr/bin/env bash
# The programs of programs.txt on this machine: `.ci/programs.sh missing` prints the Debian packages of those that
# cannot be used here, `.ci/programs.sh install` installs them and prints programs that cannot be used even then.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:/usr/sbin:/sbin"

# Lines `program package` of the programs that cannot be used here.
absent() {
  local program package proof
  while read -r program package proof; do
    case "$program" in '' | '#'*) continue ;; esac
    sh -c "${proof:-command -v $program}" >/dev/null 2>&1 </dev/null || echo "$program $package"
  done <.ci/programs.txt
}

missing() {
  absent | awk '$2 != "-" { print $2 }' | sort -u
}

install() {
  local all packages script as_root=()
  all=$(missing)
  [ -n "$all" ] || return 0
  command -v apt-get >/dev/null || { echo "no apt-get; missing:" $all >&2; return 1; }
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  packages=$(grep -v '^\.ci/' <<<"$all" || true)
  if [ -n "$packages" ]; then
    # shellcheck disable=SC2086 # a list of names
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends $packages
  fi
  for script in $(grep '^\.ci/' <<<"$all" || true); do "$script"; done
  absent | while read -r program package; do
    if [ "$package" = - ]; then echo "$program: not in Debian"; else echo "$program: not installed"; fi
  done
}

case "${1:-}" in
  missing) missing ;;
  install) install ;;
  *) sed -n '2,3s/^# //p' "$0" >&2; exit 2 ;;
esac
