#!/usr/bin/env bash
# Makes the secrets of a cluster, once, for compose.cluster.yaml: an authority, a certificate for the log's servers
# and one for the nodes, the bureau's signing key, which all nodes share, and the admin key. Keeps what is there.
#   bash cluster-secrets.sh [FOLDER]
set -euo pipefail
folder=${1:-secrets}
# Only its owner enters; inside, the containers' users read what is mounted for them.
mkdir -p "$folder" && chmod 700 "$folder"
cd "$folder"
umask 022

authority() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
    -subj "/CN=trustrank cluster" -keyout ca.key -out ca.pem 2>/dev/null
  chmod 600 ca.key
}

certificate() { # name subject-alternative-names
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 825 \
    -subj "/CN=$1" -keyout "$1.key" -out "$1.pem" -CA ca.pem -CAkey ca.key \
    -addext basicConstraints=critical,CA:FALSE -addext "subjectAltName=$2" 2>/dev/null
  chmod 644 "$1.key"
}

[ -e ca.pem ] || authority
[ -e server.pem ] || certificate server DNS:nats-1,DNS:nats-2,DNS:nats-3,DNS:localhost,IP:127.0.0.1
[ -e node.pem ] || certificate node DNS:trustrank-node
[ -e bureau.key ] || { openssl genpkey -algorithm ed25519 -out bureau.key && chmod 644 bureau.key; }
[ -e admin-key ] || openssl rand -hex 32 >admin-key
