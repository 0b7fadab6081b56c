// Nodes on virtual time that are treated as a test says, with a record of what each was asked.
import { TrustRankClient } from "../../../src/client/client.ts";
import type { TrustRankClientOptions } from "../../../src/client/options.ts";
import { settle } from "../_gateway.ts";
import { checkReply } from "../_replies.ts";

export type Treatment = "good" | "refused" | "reset" | "silent" | { ms: number } | (() => Response);
export interface Asked {
  node: string;
  path: string;
  atMs: number;
  isAborted: boolean;
}

export const [A, B, C] = ["http://a", "http://b", "http://c"] as const;
export const AGENT = "agent://acme/buyer";
export const OUTCOME = {
  subject: AGENT,
  reporter: "agent://acme/me",
  outcome: 1,
  stakes: 5,
  grade: "counterparty",
} as const;

/** Nodes that are treated as the table says; what they were asked. */
export function open(table: Record<string, Treatment>, more: Partial<TrustRankClientOptions> = {}) {
  const asked: Asked[] = [];
  const startMs = performance.now();
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    const { origin, pathname } = new URL(url);
    const entry = {
      node: origin,
      path: pathname,
      atMs: performance.now() - startMs,
      isAborted: false,
    };
    asked.push(entry);
    init.signal?.addEventListener("abort", () => (entry.isAborted = true));
    const treatment = table[origin]!;
    if (treatment === "refused" || treatment === "reset") {
      const code = treatment === "refused" ? "ECONNREFUSED" : "ECONNRESET";
      throw new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });
    }
    const ms = treatment === "silent" ? 1e9 : typeof treatment === "object" ? treatment.ms : 0;
    if (ms > 0) {
      await new Promise<void>((resolve, reject) => {
        setTimeout(resolve, ms);
        init.signal?.addEventListener("abort", () => reject(init.signal!.reason as Error));
      });
    }
    if (typeof treatment === "function") return treatment();
    return Response.json(pathname === "/v1/check" ? checkReply(AGENT, 5) : receipt);
  };
  const client = new TrustRankClient({ baseUrl: Object.keys(table), fetch, ...more });
  return { client, asked, nodes: () => asked.map(({ node }) => node) };
}
const receipt = {
  outcome_id: "o-1",
  position: 1,
  recorded_at: "2026-01-01T00:00:00.000Z",
  duplicate: false,
  signature: "none",
};
export const problem =
  (status: number, headers: Record<string, string> = {}) =>
  () =>
    new Response(JSON.stringify({ code: status === 429 ? "rate_limited" : "overloaded" }), {
      status,
      headers: { "content-type": "application/problem+json", ...headers },
    });
export const check = (client: TrustRankClient) => client.check(AGENT, { stakes: 5 });

/** The node that is asked first about AGENT, and the other. */
export async function pair(): Promise<[first: string, second: string]> {
  const { client, nodes } = open({ [A]: "good", [B]: "good" });
  await settle(check(client));
  const [first] = nodes();
  return first === A ? [A, B] : [B, A];
}
