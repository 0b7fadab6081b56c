// Status of webhook endpoints: the description of one for operators, and metrics over all.
import type { Webhook } from "../contract/schemas/webhooks.ts";
import type { StoredEndpoint } from "./files.ts";
import type { Outbox } from "./outbox.ts";

/** `paused` by an operator, `stopped` by itself. */
export const WEBHOOK_STATES = ["active", "failing", "paused", "stopped"] as const;

/** How one endpoint fares, for metrics. */
export interface EndpointMetrics {
  readonly state: (typeof WEBHOOK_STATES)[number];
  readonly waiting: number;
  readonly dead: number;
  /** Time of the oldest event that waits, epoch ms; undefined without one, or while it is paused. */
  readonly oldestMs: number | undefined;
}

/** How all endpoints fare, for metrics. */
export interface WebhookMetrics {
  readonly endpoints: readonly (readonly [state: string, count: number])[];
  readonly waiting: number;
  readonly dead: number;
  /** Attempts since the start, by what came of them. */
  readonly delivered: number;
  readonly failed: number;
  /** When the oldest event that waits for an enabled endpoint happened, epoch ms. */
  readonly oldestMs: number | undefined;
}

export function collectEndpointMetrics(
  stored: StoredEndpoint,
  outbox: Outbox,
  dead: number,
): EndpointMetrics {
  const { pausedBy } = stored;
  const enabled = outbox.health.failingSinceMs === undefined ? "active" : "failing";
  const paused = pausedBy === "operator" ? "paused" : "stopped";
  return {
    state: pausedBy === null ? enabled : paused,
    waiting: outbox.size,
    dead,
    oldestMs: pausedBy === null ? outbox.oldestMs() : undefined,
  };
}

/** All together; `attempts` are those since the start. */
export function sumEndpointMetrics(
  endpoints: readonly EndpointMetrics[],
  attempts: { readonly delivered: number; readonly failed: number },
): WebhookMetrics {
  const total = (pick: (each: EndpointMetrics) => number) =>
    endpoints.reduce((sum, each) => sum + pick(each), 0);
  const oldest = endpoints.flatMap(({ oldestMs }) => (oldestMs === undefined ? [] : [oldestMs]));
  return {
    endpoints: WEBHOOK_STATES.map((wanted) => {
      return [wanted, endpoints.filter(({ state }) => state === wanted).length] as const;
    }),
    waiting: total((each) => each.waiting),
    dead: total((each) => each.dead),
    ...attempts,
    oldestMs: oldest.length === 0 ? undefined : Math.min(...oldest),
  };
}

export function describeEndpoint(stored: StoredEndpoint, outbox: Outbox, dead: number): Webhook {
  const { id, url, events, tenant, description, pausedBy, createdAtMs, former } = stored;
  const { health, size } = outbox;
  return {
    id,
    url,
    events: [...events],
    tenant,
    description,
    enabled: pausedBy === null,
    paused_by: pausedBy,
    created_at: formatIsoTime(createdAtMs),
    waiting: size,
    delivered: health.delivered,
    dead,
    failing_since: formatIsoTimeOrNull(health.failingSinceMs),
    last_success_at: formatIsoTimeOrNull(health.lastSuccessMs),
    former_secret_until: formatIsoTimeOrNull(former?.untilMs),
  };
}

function formatIsoTime(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

function formatIsoTimeOrNull(timeMs: number | undefined): string | null {
  return timeMs === undefined ? null : formatIsoTime(timeMs);
}
