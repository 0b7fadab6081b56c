// Findings about reporters (the view `findings`) as audit events, which webhooks read: looked for once an
// hour where outcomes came in, each put on record once.
import { HOUR_MS } from "../../contract/units.ts";
import type { Log } from "../../platform/log.ts";
import type { OpenStore } from "../../store/client.ts";
import type { Closer } from "../closers.ts";
import type { ServiceStorage } from "../storage.ts";

/** How soon after the store has caught up it is asked. */
const LOOK_INTERVAL_MS = 10_000;
const RETRY_INTERVAL_MS = 60_000;
/** New findings of one look that are put on record; the others are by the next. */
const RECORDED_MAX = 100;

export interface FindingMonitorOptions {
  readonly store: Pick<OpenStore, "queryTrusted" | "status">;
  /** Whether findings are this node's to record. */
  readonly isLeader: () => boolean;
  /** Makes an audit event durable. */
  readonly append: (payload: Uint8Array) => Promise<unknown>;
  /** Epoch ms. */
  readonly clock: () => number;
  readonly log: Pick<Log, "warn">;
}

/** A finding; of a ring one for all members. */
interface Finding {
  readonly kind: string;
  readonly agents: readonly string[];
  /** Of a repetition: the agent reported on. */
  readonly about: string | null;
  readonly outcomes: number;
  readonly observed: number | null;
  readonly expected: number | null;
}

/** One row for each finding, a ring's members together; counts of members add up, shares are weighed by them. */
const FINDINGS_SQL = `SELECT kind, to_json(list(agent ORDER BY agent)) AS agents, any_value(about) AS about,
    CAST(sum(outcomes) AS DOUBLE), sum(observed * outcomes) / sum(outcomes), max(expected)
  FROM findings GROUP BY kind, if(kind = 'ring', CAST(ring AS VARCHAR), agent || ' ' || coalesce(about, ''))
  ORDER BY kind, agents`;
const RECORDED_SQL = `SELECT detail->>'$.kind', CAST(detail->'$.agents' AS VARCHAR), detail->>'$.about'
  FROM audit_rows WHERE event = 'finding.raised'`;

const formatKey = (kind: unknown, agents: readonly string[], about: unknown): string =>
  JSON.stringify([kind, agents, about ?? null]);

export class FindingMonitor {
  readonly #options: FindingMonitorOptions;
  readonly #timer: NodeJS.Timeout;
  #isLooking = false;
  #dueMs = 0;
  #lookedUptoLsn = 0;

  constructor(options: FindingMonitorOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.look(), LOOK_INTERVAL_MS).unref();
  }

  /** Records what is new when it is due. Never rejects: a store or a journal that fails is asked again in a minute. */
  async look(): Promise<void> {
    const { store, isLeader, clock, log } = this.#options;
    const nowMs = clock();
    const { isBuilding, appliedLsn } = store.status();
    const isDue = nowMs >= this.#dueMs && appliedLsn > this.#lookedUptoLsn;
    if (this.#isLooking || !isDue || isBuilding || !isLeader()) return;
    this.#isLooking = true;
    this.#dueMs = nowMs + RETRY_INTERVAL_MS;
    try {
      await this.#record(nowMs);
      this.#lookedUptoLsn = appliedLsn;
      this.#dueMs = nowMs + HOUR_MS;
    } catch (error) {
      log.warn("findings_not_on_record", { detail: (error as Error).message });
    } finally {
      this.#isLooking = false;
    }
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #record(nowMs: number): Promise<void> {
    const { store, append, log } = this.#options;
    const known = new Set(
      (await store.queryTrusted(RECORDED_SQL)).map(([kind, agents, about]) =>
        formatKey(kind, JSON.parse(String(agents)) as string[], about),
      ),
    );
    const found = (await store.queryTrusted(FINDINGS_SQL)).map(parseFinding);
    const fresh = found.filter(
      ({ kind, agents, about }) => !known.has(formatKey(kind, agents, about)),
    );
    for (const finding of fresh.slice(0, RECORDED_MAX)) {
      const record = { event: "finding.raised", at_ms: nowMs, ...finding };
      await append(Buffer.from(JSON.stringify(record)));
      log.warn("finding_raised", { detail: `${finding.kind}: ${finding.agents.join(", ")}` });
    }
  }
}

function parseFinding(row: readonly unknown[]): Finding {
  const [kind, agents, about, outcomes, observed, expected] = row as readonly (
    | string
    | number
    | null
  )[];
  return {
    kind: String(kind),
    agents: JSON.parse(String(agents)) as string[],
    about: about as string | null,
    outcomes: Number(outcomes),
    observed: observed === null ? null : Number(observed),
    expected: expected === null ? null : Number(expected),
  };
}

/** Starts the monitor of a service; in a cluster it records where credibility is computed. */
export function watchFindings(
  { evidence, store, clock, cluster }: ServiceStorage,
  log: Log,
  closers: Closer[],
): void {
  const leadership = cluster?.leaderships.of("credibility");
  const monitor = new FindingMonitor({
    store,
    isLeader: () => leadership?.isHeld ?? true,
    append: (payload) => evidence.ledger.appendAudit(payload),
    clock: clock.now,
    log,
  });
  closers.push(() => monitor.close());
}
