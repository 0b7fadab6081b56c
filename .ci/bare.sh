#!/usr/bin/env bash
# Proves a commit on bare machines: the README's two commands in one minimal Debian root, then .ci/run in a
# second one. Each root holds the packages that Debian calls essential, certificates, Node and npm, and nothing
# else. Run by hand, as root, with the package mmdebstrap: `.ci/bare.sh [readme|ci] [COMMIT]`.
# BARE_DIR is where the roots are made; BARE_KEEP=1 keeps them.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/debian-mirror.sh

part=all
case "${1:-}" in readme | ci) part=$1; shift ;; esac
commit=$(git rev-parse "${1:-HEAD}")
work=${BARE_DIR:-$(mktemp -d /var/tmp/trustrank-bare.XXXXXX)}
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")

cleanup() {
  awk -v below="$work/" 'index($2, below) == 1 { print $2 }' /proc/mounts | sort -r |
    while read -r mounted; do umount -l "$mounted"; done
  [ -n "${BARE_KEEP:-}" ] || rm -rf --one-file-system "$work"
}
trap cleanup EXIT

make_root() { # root
  local root=$1 path npm
  mmdebstrap --quiet --variant=minbase --include=ca-certificates "$suite" "$root" "$(debian_mirror)"
  npm=$(dirname "$(dirname "$(readlink -f "$(command -v npm)")")")
  install -D "$(readlink -f "$(command -v node)")" "$root/usr/bin/node"
  mkdir -p "$root/usr/lib/node_modules" "$root/srv"
  cp -a "$npm" "$root/usr/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/bin/npm"
  ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/bin/npx"
  # How this host reaches its registries: npm's settings, the certificates, the name servers, apt's options.
  for path in "$(npm config get userconfig)" "$(npm config get globalconfig)" /usr/local/etc/npmrc; do
    if [ -f "$path" ]; then install -D "$path" "$root$path"; fi
  done
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
  for path in proc sys dev; do
    mount --rbind "/$path" "$root/$path"
    mount --make-rslave "$root/$path"
  done
  git clone --quiet --no-hardlinks . "$root/srv/trustrank"
  git -C "$root/srv/trustrank" checkout --quiet --detach "$commit"
}

inside() { # root command
  local certificates=/etc/ssl/certs/ca-certificates.crt
  chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    NODE_EXTRA_CA_CERTS="$certificates" SSL_CERT_FILE="$certificates" \
    bash -c "cd /srv/trustrank && $2"
}

# The first command until a verify is answered with the key that it prints, then the second one.
readme() {
  local root=$work/readme started
  make_root "$root"
  install -D .ci/bare-verify.mjs "$root/srv/bare-verify.mjs"
  inside "$root" 'time npm ci && { npm start >/srv/start.log 2>&1 & } && node /srv/bare-verify.mjs /srv/start.log' &&
    started=0 || started=$?
  cat "$root/srv/start.log"
  [ "$started" -eq 0 ] || return "$started"
  inside "$root" 'time npm test'
}

ci() {
  local root=$work/ci
  make_root "$root"
  inside "$root" 'time CI=true bash .ci/run' </dev/null
}

case "$part" in
  readme) readme ;;
  ci) ci ;;
  all) readme && ci ;;
esac
