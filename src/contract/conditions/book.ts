// Conditions and stops as one thread knows them: those in force, and where asked, ended ones for replay. A fold over
// the journal's events: the same events in the same order give the same book. Hot path: a book without conditions
// is asked nothing; else an agent costs one look into a map, and one for each of its segments where namespaces
// have conditions.
import {
  type Condition,
  type ConditionEvent,
  type ConditionSetEvent,
  type FleetStop,
  isInForce,
  PAST_CONDITION_RETENTION_MS,
  PAST_CONDITIONS_MAX,
  type StopSetEvent,
} from "./events.ts";
import { isNamespacePattern } from "../identifiers.ts";

/** An event that puts something in force. */
type SettingEvent = ConditionSetEvent | StopSetEvent;

/** One condition or stop, and when it was replaced or lifted: null while it stands. */
export interface StoredCondition {
  readonly set: SettingEvent;
  readonly ended_ms: number | null;
}

/** One that covers an agent. */
export interface CoveringCondition {
  readonly condition: Condition;
  /** Whether it is the bureau's own. */
  readonly isOfBureau: boolean;
}

/** What holds for one agent at one time. Reused: valid until the next look. */
export interface AgentConditions {
  /** Closest first: of the agent itself, then of namespaces from the longest on. */
  readonly covering: readonly CoveringCondition[];
  readonly bureauStop: FleetStop | undefined;
  readonly tenantStop: FleetStop | undefined;
}

/** Conditions as verdicts look them up. */
export interface ConditionSource {
  /** What holds for the agent with the tenant at `nowMs`, epoch ms; undefined: nothing. */
  findInForce(tenant: string, agent: string, nowMs: number): AgentConditions | undefined;
  /** The same as it held just before an earlier time, for replay; undefined also where that is not kept. */
  findPast(tenant: string, agent: string, atMs: number): AgentConditions | undefined;
}

/** For deciding threads without conditions. */
export const noConditions: ConditionSource = {
  findInForce: () => undefined,
  findPast: () => undefined,
};

/** What the tenants and the bureau have said of one subject. */
interface SubjectConditions {
  bureau: ConditionSetEvent | undefined;
  readonly byTenant: Map<string, ConditionSetEvent>;
}

/** Interval of events, ms, after which expired conditions are removed. */
const PRUNE_INTERVAL_MS = 3_600_000;
const SLASH = 0x2f;
const SCHEME_BYTES = "agent://".length;

export class ConditionBook implements ConditionSource {
  readonly #agents = new Map<string, SubjectConditions>();
  /** By the pattern without its star: `agent://acme/`. */
  readonly #namespaces = new Map<string, SubjectConditions>();
  #bureauStop: StopSetEvent | undefined;
  readonly #stops = new Map<string, StopSetEvent>();
  /** Conditions of the tenants; of the bureau under null. */
  readonly #counts = new Map<string | null, number>();
  #count = 0;
  readonly #isPastKept: boolean;
  #prunedAtMs = 0;
  /** In order of their end. */
  #past: StoredCondition[] = [];
  readonly #found = {
    covering: [] as CoveringCondition[],
    bureauStop: undefined as FleetStop | undefined,
    tenantStop: undefined as FleetStop | undefined,
  };

  /** `stored`: as another book lists it. `isPastKept`: whether ended conditions are kept for replay. */
  constructor(stored: Iterable<StoredCondition> = [], isPastKept = false) {
    this.#isPastKept = isPastKept;
    for (const each of stored) {
      if (each.ended_ms === null) this.apply(each.set);
      else if (isPastKept) this.#past.push(each);
    }
  }

  /** Conditions in force or expired that were not lifted, stops left out. */
  get count(): number {
    return this.#count;
  }

  countConditions(tenant: string | null): number {
    return this.#counts.get(tenant) ?? 0;
  }

  /** Folds the next event. */
  apply(event: ConditionEvent): void {
    const { at_ms: atMs, tenant } = event;
    if (event.event === "condition.set") this.#setCondition(event);
    else if (event.event === "condition.lifted") this.#removeCondition(event.subject, tenant, atMs);
    else this.#replaceStop(tenant, event.event === "stop.set" ? event : undefined, atMs);
    if (atMs - this.#prunedAtMs >= PRUNE_INTERVAL_MS) this.#prune(atMs);
  }

  /** Expired ones take no room. By the events' time: every thread and node removes the same. */
  #prune(atMs: number): void {
    this.#prunedAtMs = atMs;
    for (const { subject, tenant, condition } of Array.from(this.listConditions())) {
      const { until_ms: untilMs } = condition;
      if (!isInForce(untilMs, atMs)) this.#removeCondition(subject, tenant, untilMs!);
    }
  }

  /** The condition of a subject by a tenant or, null, by the bureau; undefined also once it has expired. */
  find(tenant: string | null, subject: string, nowMs: number): ConditionSetEvent | undefined {
    const of = this.#selectSubjects(subject).get(buildSubjectKey(subject));
    const set = tenant === null ? of?.bureau : of?.byTenant.get(tenant);
    return set !== undefined && isInForce(set.condition.until_ms, nowMs) ? set : undefined;
  }

  findStop(tenant: string | null, nowMs: number): StopSetEvent | undefined {
    const set = tenant === null ? this.#bureauStop : this.#stops.get(tenant);
    return set !== undefined && isInForce(set.stop.until_ms, nowMs) ? set : undefined;
  }

  /** Conditions that were not lifted, in no order. */
  *listConditions(): Generator<ConditionSetEvent> {
    for (const subjects of [this.#agents, this.#namespaces]) {
      for (const { bureau, byTenant } of subjects.values()) {
        if (bureau !== undefined) yield bureau;
        yield* byTenant.values();
      }
    }
  }

  /** Everything, for a book that is to be equal. */
  *listStored(): Generator<StoredCondition> {
    yield* this.#past;
    for (const set of this.listConditions()) yield { set, ended_ms: null };
    const { stops } = this;
    for (const set of stops) yield { set, ended_ms: null };
  }

  /** Stops that were not lifted. */
  get stops(): readonly StopSetEvent[] {
    const own = [...this.#stops.values()];
    return this.#bureauStop === undefined ? own : [this.#bureauStop, ...own];
  }

  findInForce(tenant: string, agent: string, nowMs: number): AgentConditions | undefined {
    if (this.#count === 0 && this.#bureauStop === undefined && this.#stops.size === 0)
      return undefined;
    const found = this.#found;
    found.covering.length = 0;
    found.bureauStop = selectStop(this.#bureauStop, nowMs);
    found.tenantStop =
      this.#stops.size === 0 ? undefined : selectStop(this.#stops.get(tenant), nowMs);
    if (this.#agents.size > 0) this.#collect(this.#agents.get(agent), tenant, nowMs);
    if (this.#namespaces.size > 0) this.#collectNamespaces(agent, tenant, nowMs);
    const isNone = found.covering.length === 0 && found.bureauStop === undefined;
    return isNone && found.tenantStop === undefined ? undefined : found;
  }

  findPast(tenant: string, agent: string, atMs: number): AgentConditions | undefined {
    const covering: CoveringCondition[] = [];
    let bureauStop: FleetStop | undefined;
    let tenantStop: FleetStop | undefined;
    const then = [...this.listStored()].filter(
      ({ set, ended_ms: endedMs }) =>
        set.at_ms < atMs &&
        (endedMs === null || endedMs > atMs) &&
        (set.tenant === null || set.tenant === tenant),
    );
    for (const { set } of then) {
      if (set.event === "condition.set") {
        const { condition, subject } = set;
        if (!isInForce(condition.until_ms, atMs) || !isCoveredBy(agent, subject)) continue;
        covering.push({ condition, isOfBureau: set.tenant === null });
      } else if (isInForce(set.stop.until_ms, atMs)) {
        if (set.tenant === null) bureauStop = set.stop;
        else tenantStop = set.stop;
      }
    }
    const isNone = covering.length === 0 && bureauStop === undefined && tenantStop === undefined;
    return isNone ? undefined : { covering, bureauStop, tenantStop };
  }

  #collectNamespaces(agent: string, tenant: string, nowMs: number): void {
    for (let end = agent.length - 1; end > SCHEME_BYTES; end -= 1) {
      if (agent.charCodeAt(end) !== SLASH) continue;
      this.#collect(this.#namespaces.get(agent.slice(0, end + 1)), tenant, nowMs);
    }
  }

  #collect(of: SubjectConditions | undefined, tenant: string, nowMs: number): void {
    if (of === undefined) return;
    this.#cover(of.bureau, nowMs);
    this.#cover(of.byTenant.get(tenant), nowMs);
  }

  #cover(set: ConditionSetEvent | undefined, nowMs: number): void {
    if (set === undefined || !isInForce(set.condition.until_ms, nowMs)) return;
    this.#found.covering.push({ condition: set.condition, isOfBureau: set.tenant === null });
  }

  #selectSubjects(subject: string): Map<string, SubjectConditions> {
    return isNamespacePattern(subject) ? this.#namespaces : this.#agents;
  }

  #setCondition(event: ConditionSetEvent): void {
    const { subject, tenant, at_ms: atMs } = event;
    this.#removeCondition(subject, tenant, atMs);
    const subjects = this.#selectSubjects(subject);
    const key = buildSubjectKey(subject);
    const of = subjects.get(key) ?? { bureau: undefined, byTenant: new Map() };
    subjects.set(key, of);
    if (tenant === null) of.bureau = event;
    else of.byTenant.set(tenant, event);
    this.#countUp(tenant, 1);
  }

  #removeCondition(subject: string, tenant: string | null, atMs: number): void {
    const subjects = this.#selectSubjects(subject);
    const of = subjects.get(buildSubjectKey(subject));
    const set = tenant === null ? of?.bureau : of?.byTenant.get(tenant);
    if (of === undefined || set === undefined) return;
    if (tenant === null) of.bureau = undefined;
    else of.byTenant.delete(tenant);
    if (of.bureau === undefined && of.byTenant.size === 0)
      subjects.delete(buildSubjectKey(subject));
    this.#countUp(tenant, -1);
    this.#keepPast(set, atMs);
  }

  #replaceStop(tenant: string | null, event: StopSetEvent | undefined, atMs: number): void {
    const before = tenant === null ? this.#bureauStop : this.#stops.get(tenant);
    if (before !== undefined) this.#keepPast(before, atMs);
    if (tenant === null) this.#bureauStop = event;
    else if (event === undefined) this.#stops.delete(tenant);
    else this.#stops.set(tenant, event);
  }

  #countUp(tenant: string | null, by: number): void {
    this.#count += by;
    const count = this.countConditions(tenant) + by;
    if (count === 0) this.#counts.delete(tenant);
    else this.#counts.set(tenant, count);
  }

  #keepPast(set: SettingEvent, endedMs: number): void {
    if (!this.#isPastKept) return;
    this.#past.push({ set, ended_ms: endedMs });
    // In slices: a shift of a full list for each event would copy it each time.
    if (this.#past.length <= PAST_CONDITIONS_MAX * 1.1) return;
    const sinceMs = endedMs - PAST_CONDITION_RETENTION_MS;
    this.#past = this.#past
      .slice(-PAST_CONDITIONS_MAX)
      .filter(({ ended_ms: ended }) => ended === null || ended >= sinceMs);
  }
}

function selectStop(set: StopSetEvent | undefined, nowMs: number): FleetStop | undefined {
  return set !== undefined && isInForce(set.stop.until_ms, nowMs) ? set.stop : undefined;
}

/** Name of a subject in its map: a namespace without its star. */
function buildSubjectKey(subject: string): string {
  return isNamespacePattern(subject) ? subject.slice(0, -1) : subject;
}

/** Whether a subject, an agent or a namespace, covers an agent. */
export function isCoveredBy(agent: string, subject: string): boolean {
  return isNamespacePattern(subject) ? agent.startsWith(subject.slice(0, -1)) : subject === agent;
}
