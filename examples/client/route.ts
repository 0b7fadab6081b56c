// The inbound gate: a `fetch`-style route behind TrustGateway, with a refusal, an outage at a
// critical level (closed) and the same outage at a public level (open, and marked).
// Run: npm run -s example examples/client/route.ts
import { protectRoute, TrustGateway, TrustRankClient } from "@trustrank/client";

const { TRUSTRANK_URL: baseUrl = "http://127.0.0.1:8080", TRUSTRANK_KEY: apiKey = "" } =
  process.env;
const gateway = new TrustGateway({
  client: new TrustRankClient({ baseUrl, apiKey, timeoutMs: 2000 }),
});

const agentId = (request: Request) => request.headers.get("x-verified-agent") ?? "";
const wire = protectRoute(() => new Response("wired"), {
  gateway,
  toolLevel: "L3",
  action: "payments.wire",
  agentId,
});

const from = (agent: string) =>
  new Request("http://app/", { headers: { "x-verified-agent": agent } });
console.log((await wire(from("agent://test/connect"))).status);
const refused = await wire(from("agent://test/refuse"));
console.log(refused.status, refused.headers.get("x-trust-reason"));

// The same routes while TrustRank is away: nothing listens on port 1.
const away = new TrustGateway({
  client: new TrustRankClient({ baseUrl: "http://127.0.0.1:1" }),
  onAlert: (alert) => console.log("alert:", alert.error.code),
});
for (const toolLevel of ["L3", "L0"] as const) {
  const options = { gateway: away, toolLevel, action: "payments.wire", agentId };
  const route = protectRoute(() => new Response("answered"), options);
  const answer = await route(from("agent://test/connect"));
  console.log(toolLevel, answer.status, answer.headers.get("x-trust-degraded"));
}
