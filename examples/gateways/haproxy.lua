-- The question that haproxy.cfg asks TrustRank for every request: the action `lua.trustrank`.
-- It reads the variables txn.trust_agent and txn.trust_level and sets txn.trust_effective, _verdict,
-- _reason and so on. Without a verdict, or when this file fails, it sets none of them; what happens
-- then is for the rules of haproxy.cfg.
local address = os.getenv("TRUSTRANK_ASK")
local authorization = "Bearer " .. os.getenv("TRUSTRANK_KEY")
local names = { "verdict", "reason", "score", "tier", "risk", "enforced", "request-id", "review",
  "flagged" }

-- Only an answer that says what was decided counts: a portal's 200 is no verdict, a 403 of
-- somebody else no refusal.
local expected = { allow = 200, deny = 403 }

local function first(response, name)
  local values = response.headers and response.headers["x-trust-" .. name]
  return values and values[0]
end

core.register_action("trustrank", { "http-req" }, function(txn)
  local agent = txn:get_var("txn.trust_agent")
  if agent == nil or agent:find("%c") then return end
  local level = txn:get_var("txn.trust_level")

  -- A new set of headers: nothing of what the client sent gets this far.
  local response = core.httpclient():get({
    url = "http://trustrank/v1/gateway/authorize?profile=haproxy&tool_level=" .. level,
    dst = address,
    headers = {
      ["Authorization"] = { authorization },
      ["X-Trust-Agent-Id"] = { agent },
      ["X-Forwarded-Method"] = { txn.f:method() },
    },
  })

  -- The name that was authenticated is no agent's: nothing is wrong with TrustRank, nobody passes.
  if response.status == 400 then return txn:set_var("txn.trust_effective", "deny") end
  local effective = first(response, "effective")
  if effective == nil or expected[effective] ~= response.status then return end
  for _, name in ipairs(names) do
    txn:set_var("txn.trust_" .. name:gsub("-", "_"), first(response, name) or "")
  end
  txn:set_var("txn.trust_effective", effective)
end, 0)
