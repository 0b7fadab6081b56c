// Use cases of conditions and stops: set, lift, read. A change is durable in the journal, and active on every thread,
// before it is answered; then the open reviews of agents that it holds end, because no decision is needed any more.
import type { ConditionBook } from "../contract/conditions/book.ts";
import { isNamespacePattern } from "../contract/identifiers.ts";
import { isCoveredBy } from "../contract/conditions/book.ts";
import {
  type Condition,
  type ConditionEvent,
  type ConditionScope,
  type ConditionSetEvent,
  CONDITIONS_MAX,
  CONDITIONS_PER_TENANT_MAX,
  encodeConditionEvent,
  isInForce,
  type StopSetEvent,
} from "../contract/conditions/events.ts";
import { ServiceFault } from "../contract/faults.ts";
import type { ConditionOrder, StopOrder, SubjectOrder } from "../contract/parse/conditions.ts";
import type { Principal } from "../contract/principal.ts";
import type { StoredReview } from "../contract/reviews/book.ts";
import type { AgentCondition, StopDescription } from "../contract/schemas/conditions.ts";
import { TOOL_LEVELS } from "../contract/vocabulary.ts";
import type { ReviewLevel, ToolLevel } from "../contract/vocabulary.ts";
import type { ConditionLog } from "../ledger/ledger.ts";
import { SerialQueue } from "../concurrency/serial-queue.ts";

/** The review queue, as conditions end reviews in it. */
export interface ReviewEnder {
  /** Ends the undecided reviews that `isHeld` names, without a decision that outlasts it. */
  endReviews(
    isHeld: (review: StoredReview) => boolean,
    note: string,
    principal: Principal,
  ): Promise<void>;
}

export interface ConditionsOptions {
  readonly log: ConditionLog;
  /** Of the calling thread; it keeps past conditions. */
  readonly book: ConditionBook;
  readonly reviews: ReviewEnder;
  /** Called with every change once it is durable and active here, before it is answered. */
  readonly onEvent: (event: ConditionEvent) => void;
  /** Epoch ms. */
  readonly clock: () => number;
}

export class Conditions {
  readonly #options: ConditionsOptions;
  /** Changes run one after another: threads learn of them in the journal's order. */
  readonly #changes = new SerialQueue();

  constructor(options: ConditionsOptions) {
    this.#options = options;
  }

  /** What another node has recorded. */
  applyRemoteEvent(event: ConditionEvent): void {
    this.#options.book.apply(event);
    this.#options.onEvent(event);
  }

  /**
   * Sets the condition of an agent or a namespace, in the place of an earlier one of the same scope.
   * @throws ServiceFault `insufficient_scope`, `conditions_full`, `journal_unavailable`.
   */
  async set(subject: string, order: ConditionOrder, principal: Principal): Promise<AgentCondition> {
    await this.setAll([{ ...order, subject }], principal);
    return this.find(subject, order.scope, principal);
  }

  /**
   * Sets them all; where the journal fails in between, those before have been set.
   * @throws ServiceFault as `set`.
   */
  async setAll(orders: readonly SubjectOrder[], principal: Principal): Promise<void> {
    const { clock } = this.#options;
    await this.#changes.run(async () => {
      // Not before: a change that is waiting may put a restriction where none stands yet.
      for (const order of orders) this.#assertMaySet(order, principal);
      this.#assertCapacity(orders, principal);
      await this.#record(
        orders.map(({ subject, scope, condition }) => ({
          event: "condition.set",
          ...describeOrigin(principal, scope, clock()),
          subject,
          condition,
        })),
      );
    });
    const suspended = orders.filter(({ condition }) => condition.state === "suspended");
    if (suspended.length === 0) return;
    const ofNamespaces = suspended.filter(({ subject }) => isNamespacePattern(subject));
    const bySubject = Map.groupBy(suspended, ({ subject }) => subject);
    const isHeld = (review: StoredReview) =>
      [...(bySubject.get(review.agent) ?? []), ...ofNamespaces].some((order) =>
        isReviewHeld(review, order, principal),
      );
    await this.#options.reviews.endReviews(
      isHeld,
      `suspended: ${suspended[0]!.condition.reason.code}`,
      principal,
    );
  }

  /**
   * Lifts a condition; answers it as it was.
   * @throws ServiceFault `not_found` where none stands, `insufficient_scope`, `journal_unavailable`.
   */
  async lift(
    subject: string,
    scope: ConditionScope,
    principal: Principal,
  ): Promise<AgentCondition> {
    const { clock } = this.#options;
    return this.#changes.run(async () => {
      const before = this.#require(subject, scope, principal);
      assertMayLift(principal, before.condition, scope);
      const origin = describeOrigin(principal, scope, clock());
      await this.#record([{ event: "condition.lifted", ...origin, subject }]);
      return describeCondition(before, principal);
    });
  }

  /** @throws ServiceFault `not_found` where none stands. */
  find(subject: string, scope: ConditionScope, principal: Principal): AgentCondition {
    return describeCondition(this.#require(subject, scope, principal), principal);
  }

  /** Conditions that the caller may see, by subject: its tenant's and the bureau's, for `admin` all. */
  list(principal: Principal): AgentCondition[] {
    const { book, clock } = this.#options;
    const nowMs = clock();
    const isAll = principal.scopes.has("admin");
    return [...book.listConditions()]
      .filter(({ tenant, condition: { until_ms: untilMs } }) => {
        const isSeen = isAll || tenant === null || tenant === principal.tenant;
        return isSeen && isInForce(untilMs, nowMs);
      })
      .toSorted(compareConditions)
      .map((set) => describeCondition(set, principal));
  }

  /** Conditions on an agent, those of its namespaces included, that bear on the caller's requests. */
  listCovering(agent: string, principal: Principal): AgentCondition[] {
    const { tenant } = principal;
    return this.list(principal).filter(
      (each) =>
        isCoveredBy(agent, each.subject) && (each.tenant === null || each.tenant === tenant),
    );
  }

  /**
   * Stops agents, in the place of an earlier stop of the same scope.
   * @throws ServiceFault `insufficient_scope`, `journal_unavailable`.
   */
  async stop({ scope, stop }: StopOrder, principal: Principal): Promise<StopDescription> {
    const { clock, book } = this.#options;
    assertScope(principal, "conditions:restrict", scope);
    await this.#changes.run(() =>
      this.#record([{ event: "stop.set", ...describeOrigin(principal, scope, clock()), stop }]),
    );
    const owner = selectOwner(scope, principal);
    await this.#options.reviews.endReviews(
      ({ tenant, level }) =>
        (owner === null || owner === tenant) && isLevelAbove(level, stop.above),
      `stopped: ${stop.reason.code}`,
      principal,
    );
    return describeStop(book.findStop(owner, clock())!, principal);
  }

  /**
   * Lifts a stop; answers it as it was.
   * @throws ServiceFault `not_found` where none stands, `insufficient_scope`, `journal_unavailable`.
   */
  async liftStop(scope: ConditionScope, principal: Principal): Promise<StopDescription> {
    const { clock, book } = this.#options;
    assertScope(principal, "conditions:restrict", scope);
    return this.#changes.run(async () => {
      const before = book.findStop(selectOwner(scope, principal), clock());
      if (before === undefined) throw new ServiceFault("not_found", "nothing is stopped");
      await this.#record([{ event: "stop.lifted", ...describeOrigin(principal, scope, clock()) }]);
      return describeStop(before, principal);
    });
  }

  /** The bureau's stop, then the tenant's. */
  listStops(principal: Principal): StopDescription[] {
    const { book, clock } = this.#options;
    const found = [null, principal.tenant].map((tenant) => book.findStop(tenant, clock()));
    return found.flatMap((set) => (set === undefined ? [] : [describeStop(set, principal)]));
  }

  #require(subject: string, scope: ConditionScope, principal: Principal): ConditionSetEvent {
    const { book, clock } = this.#options;
    const found = book.find(selectOwner(scope, principal), subject, clock());
    if (found !== undefined) return found;
    throw new ServiceFault("not_found", `no condition of the ${scope} stands there`);
  }

  #assertMaySet({ subject, scope, condition }: SubjectOrder, principal: Principal): void {
    const { book, clock } = this.#options;
    const isClearing = condition.state === "cleared";
    assertScope(principal, isClearing ? "conditions:clear" : "conditions:restrict", scope);
    const before = book.find(selectOwner(scope, principal), subject, clock());
    // A clearance in the place of a restriction lifts it, too.
    if (isClearing && before !== undefined) assertMayLift(principal, before.condition, scope);
  }

  /** A batch is refused whole where it would not fit, whatever it replaces. */
  #assertCapacity(orders: readonly SubjectOrder[], principal: Principal): void {
    const { book, clock } = this.#options;
    const nowMs = clock();
    const fresh = orders.filter(
      ({ subject, scope }) =>
        book.find(selectOwner(scope, principal), subject, nowMs) === undefined,
    );
    for (const scope of new Set(fresh.map((order) => order.scope))) {
      const owner = selectOwner(scope, principal);
      const added = fresh.filter((order) => order.scope === scope).length;
      const isFull =
        book.countConditions(owner) + added > CONDITIONS_PER_TENANT_MAX ||
        book.count + fresh.length > CONDITIONS_MAX;
      if (!isFull) continue;
      const detail = `a tenant has at most ${CONDITIONS_PER_TENANT_MAX} conditions, all have ${CONDITIONS_MAX}`;
      throw new ServiceFault("conditions_full", detail);
    }
  }

  /** Durable first, then active here and on every thread. */
  async #record(events: readonly ConditionEvent[]): Promise<void> {
    const { log, book, onEvent } = this.#options;
    const appended = await Promise.allSettled(
      events.map((event) => log.appendCondition(encodeConditionEvent(event))),
    );
    for (const [index, event] of events.entries()) {
      if (appended[index]!.status === "rejected") continue;
      book.apply(event);
      onEvent(event);
    }
    // What is durable is active, whatever became of the others.
    for (const each of appended) if (each.status === "rejected") throw each.reason;
  }
}

/** Null: the bureau. */
function selectOwner(scope: ConditionScope, principal: Principal): string | null {
  return scope === "bureau" ? null : principal.tenant;
}

function describeOrigin(principal: Principal, scope: ConditionScope, nowMs: number) {
  const { keyId: actor, via } = principal;
  const tenant = selectOwner(scope, principal);
  return { at_ms: nowMs, tenant, actor, ...(via === undefined ? {} : { via }) };
}

type ConditionRight = "conditions:restrict" | "conditions:clear";

function assertScope(principal: Principal, right: ConditionRight, scope: ConditionScope): void {
  if (principal.scopes.has("admin")) return;
  if (scope === "bureau") {
    throw new ServiceFault("insufficient_scope", "conditions of the bureau need `admin`");
  }
  if (principal.scopes.has(right)) return;
  throw new ServiceFault("insufficient_scope", `the key lacks the scope \`${right}\``);
}

function assertMayLift(principal: Principal, { state }: Condition, scope: ConditionScope): void {
  assertScope(principal, state === "cleared" ? "conditions:clear" : "conditions:restrict", scope);
}

function isReviewHeld(
  { tenant, agent, level }: StoredReview,
  { subject, scope, condition: { levels } }: SubjectOrder,
  principal: Principal,
): boolean {
  if (scope === "tenant" && tenant !== principal.tenant) return false;
  const isAtLevel = levels === null || level === "connect" || levels.includes(level);
  return isAtLevel && isCoveredBy(agent, subject);
}

function isLevelAbove(level: ReviewLevel, above: ToolLevel | null): boolean {
  if (above === null || level === "connect") return true;
  return TOOL_LEVELS.indexOf(level) > TOOL_LEVELS.indexOf(above);
}

function compareConditions(left: ConditionSetEvent, right: ConditionSetEvent): number {
  const [one, other] = [left, right].map(({ subject, tenant }) => `${subject}\n${tenant ?? ""}`);
  return one! < other! ? -1 : Number(one! > other!);
}

/** What stands, as the caller may see it: text, case and key of the bureau's are for `admin`. */
function describeStanding(
  set: ConditionSetEvent | StopSetEvent,
  word: Pick<Condition, "until_ms" | "reason" | "case">,
  principal: Principal,
) {
  const { tenant } = set;
  const isOwn = tenant === principal.tenant || principal.scopes.has("admin");
  return {
    scope: tenant === null ? ("bureau" as const) : ("tenant" as const),
    tenant,
    until: word.until_ms === null ? null : new Date(word.until_ms).toISOString(),
    reason: { code: word.reason.code, text: isOwn ? word.reason.text : null },
    case: isOwn ? word.case : null,
    set_at: new Date(set.at_ms).toISOString(),
    set_by: isOwn ? set.actor : null,
  };
}

function describeCondition(set: ConditionSetEvent, principal: Principal): AgentCondition {
  const { subject, condition } = set;
  const { state, levels, max_stakes } = condition;
  const standing = describeStanding(set, condition, principal);
  return { subject, state, levels: levels && [...levels], max_stakes, ...standing };
}

function describeStop(set: StopSetEvent, principal: Principal): StopDescription {
  return { above: set.stop.above, ...describeStanding(set, set.stop, principal) };
}
