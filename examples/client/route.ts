// The inbound gate: a `fetch`-style route behind TrustGateway, with a refusal, a second factor, an outage at a
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

// A challenge that a second factor answers: what the callback does not verify is refused.
const codes: Record<string, string> = { "agent://test/verify": "271828" };
const guarded = protectRoute(() => new Response("wired"), {
  gateway,
  toolLevel: "L3",
  action: "payments.wire",
  agentId,
  verification: (_verdict, { subject }, request) =>
    codes[subject] !== undefined && request.headers.get("x-code") === codes[subject],
});
for (const code of ["000000", "271828"]) {
  const headers = { "x-verified-agent": "agent://test/verify", "x-code": code };
  const answer = await guarded(new Request("http://app/", { headers }));
  console.log(answer.status, answer.headers.get("x-trust-verification"));
}

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
