#!/usr/bin/env bash
# First verdicts with nothing but curl: verify, check, handshake, an outcome, the explanation of a
# score, and a citation that is checked against a registered source. Needs the sample history.
# Run: TRUSTRANK_KEY=tr_live_... examples/curl/first-verdicts.sh
set -euo pipefail
: "${TRUSTRANK_KEY:?the key that the first start printed}"
url=${TRUSTRANK_URL:-http://127.0.0.1:8080}

# A refused handshake is HTTP 403 with the full answer, so curl must not fail on a status.
ask() {
  echo "== $1 $2"
  curl -sS -X "$1" "$url$2" -H "Authorization: Bearer $TRUSTRANK_KEY" \
    -H 'Content-Type: application/json' ${3:+-d "$3"}
  echo
}

# May this agent use this tool? It has a long good record and turned bad ten days ago.
ask POST /v1/trust/verify '{"agent_id":"agent://globex/price-scout","action":"order.place",
  "tool_level":"L2","context":{}}'

# One agent at given stakes.
ask POST /v1/check '{"subject":"agent://acme/ledger-sync","stakes":250}'

# Both directions at once; the most restrictive leg decides.
ask POST /v1/handshake '{"initiator":"agent://acme/ledger-sync",
  "counterparty":"agent://test/refuse","stakes":50}'

# How it went. Sent twice under one id, it counts once: the second answer says `duplicate`.
outcome='{"subject":"agent://hooli/search-agent","reporter":"agent://acme/ledger-sync",
  "outcome":1,"stakes":50,"grade":"counterparty","id":"order-4711"}'
ask POST /v1/outcomes "$outcome"
ask POST /v1/outcomes "$outcome"

# Why the score is what it is.
ask GET /v1/agents/agent%3A%2F%2Fhooli%2Fsearch-agent

# A source, and a verdict on a text that cites it.
ask PUT /v1/evidence/invoice-17 '{"kind":"text/plain","title":"Invoice 17",
  "text":"Invoice 17 of Acme to Globex: 1,250 euros for 40 hours of work, due on 30 June."}'
ask POST /v1/trust/verify '{"agent_id":"agent://acme/ledger-sync","action":"report.write",
  "tool_level":"L2","context":{"cited_sources":["invoice-17"],
  "content":"Invoice 17 asks for 1,250 euros and is due on 30 June."}}'
