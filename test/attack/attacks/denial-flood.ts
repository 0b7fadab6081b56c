// Denials of one key without a pause, identical ones and then ones that all differ, while the decision
// log is read.
import { Agent, request } from "node:http";
import type { Attack } from "../attack.ts";
import { type AttackStage, delay, figuresOf } from "../stage.ts";
import type { ServerProcess } from "../../../bench/server-process.ts";

const CONNECTIONS = 32;
const LASTS_MS = 30_000;
const LASTS_SHORT_MS = 2500;
const READ_EVERY_MS = 500;
/** A read waits a second for what is being stored, then reads. */
const READ_MS_MAX = 5000;

export const denialFlood: Attack = {
  name: "denial-flood",
  what: "one key is denied as fast as it can ask, while another reads the decision log",
  async play(stage) {
    const broken: string[] = [];
    const figures: Record<string, number> = {};
    for (const kind of ["same", "different"] as const) {
      const service = await stage.start("--no-sample");
      const key = await stage.makeKey(service, "flood", ["score:read"]);
      const reads: Read[] = [];
      let denials = 0;
      const watched = await stage.watch(service, async () => {
        const untilMs = performance.now() + (stage.isShort ? LASTS_SHORT_MS : LASTS_MS);
        const flooding = flood(service, key, kind, untilMs).then((count) => (denials = count));
        while (performance.now() < untilMs) {
          reads.push(await readLog(stage, service, key));
          await delay(READ_EVERY_MS);
        }
        await flooding;
        reads.push(await readLog(stage, service, key));
      });
      const failed = reads.filter(({ status }) => status !== 200).length;
      const longest = Math.max(...reads.map(({ tookMs }) => tookMs));
      if (failed > 0) broken.push(`${kind}: ${failed} of ${reads.length} reads of the log failed`);
      if (longest > READ_MS_MAX) broken.push(`${kind}: a read took ${Math.round(longest)} ms`);
      for (const [name, value] of Object.entries(figuresOf(watched))) {
        figures[`${kind}_${name}`] = value;
      }
      figures[`${kind}_denials`] = denials;
      figures[`${kind}_longest_read_ms`] = Math.round(longest);
      await service.stop();
    }
    return { broken, figures };
  },
};

interface Read {
  readonly status: number;
  readonly tookMs: number;
}

async function readLog(stage: AttackStage, service: ServerProcess, key: string): Promise<Read> {
  const startedAt = performance.now();
  const reply = await stage.ask(service, "/v1/decisions?limit=10", { key });
  return { status: reply.status, tookMs: performance.now() - startedAt };
}

async function flood(
  service: ServerProcess,
  key: string,
  kind: "same" | "different",
  untilMs: number,
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  let count = 0;
  const ask = async () => {
    while (performance.now() < untilMs) {
      const name = kind === "same" ? "one" : `n-${count}`;
      count++;
      await deny(`${service.url}/v1/trust/verify`, agent, key, `agent://flood/${name}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, ask));
  agent.destroy();
  return count;
}

function deny(url: string, agent: Agent, key: string, subject: string): Promise<void> {
  const body = JSON.stringify({
    agent_id: subject,
    action: "order.place",
    tool_level: "L3",
    stakes: 1_000_000,
    context: {},
  });
  const headers = {
    authorization: `Bearer ${key}`,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method: "POST", headers }, (reply) => {
      reply.resume().on("end", () => resolve());
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
