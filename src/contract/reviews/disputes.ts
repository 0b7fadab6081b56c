// Disputes: reviews that somebody asks for, because an agent was refused. They stand in the queue among
// the others and are decided as they are. Bounded by agent and by tenant for each day, and the count
// follows from the journal: a restart forgives nothing.
import { createHash } from "node:crypto";
import type { ReviewKey } from "./events.ts";

/** Characters of a statement; four bytes each at most. */
export const STATEMENT_LENGTH_MAX = 1000;
/** Bytes of the way to reach whoever disputes. */
export const CONTACT_BYTES_MAX = 256;
/** Disputes about one agent, and all of one tenant, on one UTC day. */
export const DISPUTES_PER_AGENT_MAX = 3;
export const DISPUTES_PER_TENANT_MAX = 200;
/** Seconds for which a report can be shared. */
export const REPORT_LINK_SEC_MIN = 60;
export const REPORT_LINK_SEC_MAX = 30 * 86_400;
export const REPORT_LINK_SEC_DEFAULT = 7 * 86_400;

/** What somebody says against a decision. All of it is theirs: text, never markup. */
export interface Dispute {
  readonly statement: string;
  readonly contact: string | null;
  /** The decision that it is about; null for the agent's standing as a whole. */
  readonly request_id: string | null;
  /** Id of the API key that sent it, or that made the link it came by. */
  readonly actor: string;
  /** Whether it came by a shared link, not by a key. */
  readonly by_link: boolean;
}

/** The id of a day's n-th dispute of an agent: like every review's it follows from what it is about. */
export function deriveDisputeId({ tenant, agent, level, day }: ReviewKey, ofAgent: number): string {
  const text = JSON.stringify(["dispute", tenant, agent, level, day, ofAgent]);
  const digest = createHash("sha256").update(text).digest("hex");
  return `rv-${day.replaceAll("-", "")}-${digest.slice(0, 24)}`;
}

/** Counts of one day, the newest that was told of. */
export class DailyDisputeCounts {
  #day = "";
  readonly #countByTenant = new Map<string, number>();
  readonly #countByAgent = new Map<string, number>();

  add({ day, tenant, agent }: Pick<ReviewKey, "day" | "tenant" | "agent">): void {
    if (day < this.#day) return;
    if (day > this.#day) {
      this.#countByTenant.clear();
      this.#countByAgent.clear();
      this.#day = day;
    }
    const name = buildDisputedAgentKey(tenant, agent);
    this.#countByTenant.set(tenant, (this.#countByTenant.get(tenant) ?? 0) + 1);
    this.#countByAgent.set(name, (this.#countByAgent.get(name) ?? 0) + 1);
  }

  countOn(day: string, tenant: string, agent: string): { ofTenant: number; ofAgent: number } {
    if (day !== this.#day) return { ofTenant: 0, ofAgent: 0 };
    const ofAgent = this.#countByAgent.get(buildDisputedAgentKey(tenant, agent)) ?? 0;
    return { ofTenant: this.#countByTenant.get(tenant) ?? 0, ofAgent };
  }
}

function buildDisputedAgentKey(tenant: string, agent: string): string {
  return `${tenant}\n${agent}`;
}
