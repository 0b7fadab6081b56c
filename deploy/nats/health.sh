#!/bin/sh
# Health of this server for its container: fails while /healthz does, and ends the server when that has lasted for
# six looks, ten seconds apart. A replica can say that it is unwell for good until its next start
# (docs/operate/cluster-chaos.md); its messages are on disk, and the container starts it again.
url=${HEALTH_URL:-http://127.0.0.1:8222/healthz}
count=${HEALTH_COUNT:-/tmp/unwell}
if wget -q -T 3 -O /dev/null "$url"; then
  rm -f "$count"
  exit 0
fi
looks=$(($(cat "$count" 2>/dev/null || echo 0) + 1))
echo "$looks" >"$count"
if [ "$looks" -ge 6 ]; then
  rm -f "$count"
  kill -TERM "${SERVER_PID:-1}"
fi
exit 1
