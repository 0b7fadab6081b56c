// bench -- suspend: time until gateways that had cached ALLOW deny a suspended agent, from sending the suspension on. Whether
// every HTTP thread denies it once the suspension is answered is counted too. A tenth of the trials stop all agents instead.
import http from "node:http";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { TrustRankClient } from "../src/client/client.ts";
import { TrustGateway } from "../src/client/gateway/gateway.ts";
import { Followers } from "./load/followers.ts";
import { numberOf, report } from "./load/flags.ts";
import { rounded } from "./load/spread.ts";
import { ADMIN_KEY, machine, startService } from "./server-process.ts";

const HELP = `npm run bench -- suspend [options]

  --trials N       suspensions and stops (default 200)
  --gateways N     gateways in this process (default 8)
  --threads N      HTTP threads of the service (default 4)
  --followers N    further followers of the change feed, on raw sockets (default 0)
  --smoke          few trials, to see that it works

One JSON object on the last line.
`;

const { values } = parseArgs({
  options: {
    trials: { type: "string", default: "200" },
    gateways: { type: "string", default: "8" },
    threads: { type: "string", default: "4" },
    followers: { type: "string", default: "0" },
    out: { type: "string" },
    smoke: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

/** Verifies on connections of their own right behind the answer: some for each thread. */
const DIRECT_ASKED = 16;
const REASON = { code: "fraud" };
const LEVELS = ["L0", "L1"] as const;

async function main(): Promise<void> {
  const trialCount = values.smoke ? 10 : numberOf("trials", values.trials, 1);
  const gatewayCount = values.smoke ? 2 : numberOf("gateways", values.gateways, 1);
  const service = await startService("--no-sample", "--http-threads", values.threads);
  const options = { baseUrl: service.url, apiKey: ADMIN_KEY, timeoutMs: 10_000 };
  const gateways = Array.from(
    { length: gatewayCount },
    () => new TrustGateway({ client: new TrustRankClient(options) }),
  );
  const followerCount = values.smoke ? 20 : numberOf("followers", values.followers, 0);
  const followers = await Followers.open(service.url, followerCount);
  const followed: number[] = [];
  const waits: number[] = [];
  const answers: number[] = [];
  let allowedAfterAnswer = 0;
  try {
    for (let trial = 0; trial < trialCount; trial += 1) {
      const agentId = `agent://trial/a${trial}`;
      const isStop = trial % 10 === 9;
      const path = isStop ? "/v1/stop" : `/v1/agents/${encodeURIComponent(agentId)}/condition`;
      await cacheAllowed(gateways, agentId);
      const sentMs = performance.now();
      const denied = gateways.map((gateway) => untilDenied(gateway, agentId));
      const seen = isStop ? undefined : followers.untilAllSee(agentId);
      await change(
        service.url + path,
        "PUT",
        isStop ? { reason: REASON } : { state: "suspended", reason: REASON },
      );
      answers.push(performance.now() - sentMs);
      const direct = await Promise.all(
        Array.from({ length: DIRECT_ASKED }, () => askDirectly(service.url, agentId)),
      );
      allowedAfterAnswer += direct.filter((verdict) => verdict === "ALLOW").length;
      for (const deniedMs of await Promise.all(denied)) waits.push(deniedMs - sentMs);
      for (const seenMs of (await seen) ?? []) followed.push(seenMs - sentMs);
      await change(service.url + path, "DELETE");
    }
  } finally {
    for (const gateway of gateways) gateway.close();
    followers.close();
    await service.stop();
  }
  report(
    {
      bench: "suspend",
      machine: machine(),
      trials: trialCount,
      gateways: gatewayCount,
      http_threads: Number(values.threads),
      answered_ms: percentilesOf(answers),
      denied_by_gateways_ms: percentilesOf(waits),
      followers: followerCount,
      seen_by_followers_ms: followerCount === 0 ? null : percentilesOf(followed),
      asked_after_answer: trialCount * DIRECT_ASKED,
      allowed_after_answer: allowedAfterAnswer,
    },
    values.out,
  );
}

/** Asks until each gateway answers ALLOW from its cache. */
async function cacheAllowed(gateways: readonly TrustGateway[], agentId: string): Promise<void> {
  for (const gateway of gateways) {
    for (let tried = 0; ; tried += 1) {
      const { word, isCached } = await askGateway(gateway, agentId);
      if (word === "ALLOW" && isCached) break;
      if (tried > 500) throw new Error(`${agentId} is ${word}, cached: ${isCached}`);
      await pause(10);
    }
  }
}

const askGateway = (gateway: TrustGateway, agentId: string) =>
  gateway.authorize({ agentId, action: "order.place", toolLevel: LEVELS[0] });

/** When a gateway first denies the agent, monotonic ms. */
async function untilDenied(gateway: TrustGateway, agentId: string): Promise<number> {
  for (;;) {
    const { word } = await askGateway(gateway, agentId);
    if (word === "BLOCK") return performance.now();
    await pause(1);
  }
}

async function change(url: string, method: "PUT" | "DELETE", body?: object): Promise<void> {
  const headers = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };
  const response = await fetch(url, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(await response.text());
  await response.arrayBuffer();
}

/** The verdict on a connection of its own, which any thread may get. */
function askDirectly(url: string, agentId: string): Promise<string> {
  const body = { agent_id: agentId, action: "order.place", tool_level: LEVELS[1], context: {} };
  const headers = { authorization: `Bearer ${ADMIN_KEY}`, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const request = http.request(`${url}/v1/trust/verify`, {
      method: "POST",
      agent: false,
      headers,
    });
    request.on("error", reject).on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      response.on("end", () => {
        const answer = JSON.parse(text) as { policy_action?: { verdict: string } };
        resolve(answer.policy_action?.verdict ?? text);
      });
    });
    request.end(JSON.stringify(body));
  });
}

function percentilesOf(times: readonly number[]) {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) => rounded(sorted[Math.ceil(sorted.length * share) - 1]!);
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

if (values.help) process.stdout.write(HELP);
else await main();
