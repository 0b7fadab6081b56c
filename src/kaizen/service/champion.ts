// Champion: the live config, and its three changes: opening, promotion, rollback. The replaced
// state file is the commit point. A crash before it leaves the champion; a crash after it, even
// before the swap, leaves the challenger: a start installs the config that the file names. Every
// config that has been live has a file of its own, a release's config too: the next release ships
// another, and a rollback may lead back beyond it.
import { listStakesFaults } from "../../contract/stakes-policy.ts";
import type { PolicyList } from "../../policy/policy-book.ts";
import { ServiceFault } from "../../contract/faults.ts";
import { isDeepStrictEqual } from "node:util";
import { formatCanonicalJson } from "../../contract/canonical-json.ts";
import { loadDefaultConfig } from "../../engine/config.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import { assertConfig } from "../../engine/config-layout.ts";
import { hasHistory, computeConfigVersion } from "./files.ts";
import type { KaizenFiles, KaizenState, Promotion } from "./files.ts";
import type { RunRecord } from "../kaizen.ts";
import { isSameScoring, computeConfigWithoutStep } from "../lineage.ts";
import type { PromotionStep } from "../lineage.ts";
import { SerialQueue } from "../../concurrency/serial-queue.ts";
import { COOL_DOWN_RUNS } from "../monitor.ts";
import {
  selectValidChanges,
  encodeSharedChange,
  isValidAfter,
  pickShippedVersion,
  type SharedPromotions,
} from "./shared-promotions.ts";

/** The ledger's part in a promotion. */
export interface ConfigLedger {
  appendConfig(payload: Uint8Array): Promise<number>;
  installConfig(config: unknown): Promise<void>;
  position(): number;
}

/** A promotion with the weights that it replaced and those that it made live. */
export interface ChampionStep extends PromotionStep {
  promotion: Promotion;
}

/** A promotion that was taken back, and the version that is live without it. */
export interface RollbackResult {
  promotion: Promotion;
  left: string;
}

/** Who promotes, and on what state. */
interface PromotionTerms {
  readonly nowMs: number;
  /** State that must not have changed; absent: the present one. */
  readonly basis?: KaizenState;
  /** Who asked for it and why, where the run did not promote by itself. */
  readonly by?: string;
  readonly reason?: string;
}

/** Terms of a tenant rest on what verifying and a person catch, which a config may change. */
function assertPoliciesHold(config: ScoringConfig, policies: PolicyList | undefined): void {
  const catches = { verifyCatch: config.verify_catch, humanCatch: config.human_catch };
  for (const [tenant, { policy }] of policies?.listActivePolicies() ?? []) {
    const [fault] = listStakesFaults(policy.stakes ?? {}, "/stakes", catches);
    if (fault === undefined) continue;
    const detail = `the policy of tenant \`${tenant}\` would not hold: ${fault.pointer} ${fault.detail}`;
    throw new ServiceFault("run_not_promotable", detail);
  }
}

export class Champion {
  readonly #files: KaizenFiles;
  readonly #ledger: ConfigLedger;
  readonly #shipped: ScoringConfig;
  readonly #shared: SharedPromotions | undefined;
  #state: KaizenState;
  /** Set by the service; left out: no tenant has set any. */
  policies: PolicyList | undefined;
  readonly #changes = new SerialQueue();
  /** No change has held in the log yet: the next one does, whatever it replaces, as at a start. */
  #isFirst = false;

  /**
   * @param shipped the config of this release.
   * @param shared in a cluster: the changes of other nodes.
   */
  constructor(
    files: KaizenFiles,
    ledger: ConfigLedger,
    shipped = loadDefaultConfig(),
    shared?: SharedPromotions,
  ) {
    this.#files = files;
    this.#ledger = ledger;
    this.#shipped = shipped;
    const version = computeConfigVersion(shipped);
    this.#state = files.loadState(version);
    // A deployment on the shipped config follows from release to release; a promotion stays, and so
    // does the config of an older release to which a rollback has led back.
    const { champion, shipped: before = champion } = this.#state;
    if (this.live() === undefined && champion === before) this.#state.champion = version;
    this.#state.shipped = version;
    this.#shared = shared;
    if (shared === undefined) return;
    this.#takeRecorded(shared);
    shared.onArrival = () => void this.#changes.run(() => this.#takeUpTo(Number.POSITIVE_INFINITY));
  }

  get state(): KaizenState {
    return this.#state;
  }

  get version(): string {
    return this.#state.champion;
  }

  /** The newest promotion that stands; undefined when no learnt weights are live. */
  live(): Promotion | undefined {
    return this.#state.promotions.findLast((each) => each.rolled_back === undefined);
  }

  /** Promotions whose configs can be read, oldest first. */
  steps(): ChampionStep[] {
    return this.#state.promotions.flatMap((promotion) => {
      const before = this.readable(promotion.parent);
      const after = this.readable(promotion.version);
      if (before === undefined || after === undefined) return [];
      return [{ promotion, before, after, isTakenBack: promotion.rolled_back !== undefined }];
    });
  }

  /**
   * The config of a version.
   * @throws Error when its file is missing or was changed.
   */
  config(version = this.version): ScoringConfig {
    const config = this.find(version);
    if (config === undefined) throw new Error(`the config ${version} is missing`);
    return config;
  }

  /**
   * The config of a version; undefined when its file is missing.
   * @throws Error when its file was changed.
   */
  find(version: string): ScoringConfig | undefined {
    return version === computeConfigVersion(this.#shipped)
      ? this.#shipped
      : this.#files.loadConfig(version);
  }

  /**
   * Stores the live config for the releases to come.
   * @throws the error of the disk.
   */
  keepLive(): void {
    this.#files.keepConfig(this.config());
  }

  /** Makes the promoted config live, before anything is served. */
  async open(): Promise<void> {
    const champion = this.config();
    if (this.version !== computeConfigVersion(this.#shipped))
      await this.#ledger.installConfig(champion);
  }

  /**
   * Saves a run's other changes of the state; the champion stays. In a cluster on every node: what one has
   * tested, no other tests again.
   */
  keep(change: (state: KaizenState) => KaizenState): Promise<void> {
    return this.#changes.run(async () => {
      if (this.#shared === undefined) return this.#save(change(this.#state));
      await this.#keep(change);
    });
  }

  async #keep(change: (state: KaizenState) => KaizenState): Promise<void> {
    const isMade = await this.#make(this.config(), change(this.#state), true);
    // Dropped for one that came before it, it is made of what that one left.
    if (!isMade) await this.#keep(change);
  }

  /** Tells the other nodes of a cluster what this one knows from before there was one. */
  async share(): Promise<void> {
    if (this.#isFirst && hasHistory(this.#state)) await this.keep((state) => state);
  }

  /**
   * Makes exactly the tested config live; false when the weights it was tested against are not live
   * any more.
   * @throws ServiceFault `run_not_promotable` where a tenant's policy would no longer decide more stakes no
   *   more mildly; the error of the engine, the journal or the disk; nothing has changed then.
   */
  promote(
    run: RunRecord,
    config: ScoringConfig,
    change: (state: KaizenState) => KaizenState,
    { nowMs, basis = this.#state, ...order }: PromotionTerms,
  ): Promise<boolean> {
    return this.#changes.run(async () => {
      if (this.version !== run.champion_version || this.#state !== basis) return false;
      assertConfig(config);
      assertPoliciesHold(config, this.policies);
      this.keepLive();
      const version = this.#files.keepConfig(config);
      // The findings are on disk before the state file names the run.
      this.#files.saveRun(run);
      const next = change(this.#state);
      const parent = next.champion;
      const { run_id, kind } = run;
      const promotion: Promotion = { run_id, version, parent, at_ms: nowMs, ...(kind && { kind }) };
      const promotions = [...next.promotions, { ...promotion, ...order }];
      return this.#make(config, { ...next, champion: version, promotions }, false);
    });
  }

  /**
   * Takes a promotion back, by default the newest that stands: the scorecards that rest on it get
   * the weights beneath, the others stay. Undefined when it does not stand.
   * @throws Error when the config beneath is missing or was changed; that of the disk.
   */
  rollBack(reason: string, atMs: number, runId = this.live()?.run_id) {
    return this.#changes.run(() => this.#takeBack(reason, atMs, runId));
  }

  async #takeBack(
    reason: string,
    atMs: number,
    runId?: string,
  ): Promise<RollbackResult | undefined> {
    const { promotions, champion } = this.#state;
    const taken = promotions.find((p) => p.run_id === runId && p.rolled_back === undefined);
    if (taken === undefined) return undefined;
    const config = this.#without(taken);
    const left = this.#files.keepConfig(config);
    const rolledBack = { at_ms: atMs, reason, left };
    const without = promotions.map((p) => (p === taken ? { ...p, rolled_back: rolledBack } : p));
    const cooling = { cool_down_runs: COOL_DOWN_RUNS };
    const next = { ...this.#state, champion: left, promotions: without, ...cooling };
    if (await this.#make(config, next, this.#wasLive(left))) return { promotion: taken, left };
    // Where only a run that kept the weights came before it, what was asked for still stands.
    return this.version === champion ? this.#takeBack(reason, atMs, runId) : undefined;
  }

  /**
   * Puts a change on record and makes it; false where another node's came before it.
   * @param isKnown the config stands in the journal already.
   */
  async #make(config: ScoringConfig, next: KaizenState, isKnown: boolean): Promise<boolean> {
    if (this.#shared === undefined) {
      const recorded = this.#ledger.appendConfig(Buffer.from(formatCanonicalJson(config)));
      // A known config is recorded for the change feed alone: a rollback works without the journal.
      await (isKnown ? recorded.catch(() => undefined) : recorded);
      await this.#commit(next);
      return true;
    }
    const before = this.#state;
    const state = { ...next, changes: (before.changes ?? 0) + 1 };
    const change = { config, parent: this.version, state };
    const position = await this.#ledger.appendConfig(encodeSharedChange(change));
    await this.#takeUpTo(position);
    // Any change that held meanwhile is one that this one does not know of: no node makes it.
    if (this.#state !== before) return false;
    this.#isFirst = false;
    await this.#commit(state);
    return true;
  }

  /** Makes the changes of other nodes that stand before a position, where they hold. */
  async #takeUpTo(position: number): Promise<void> {
    for (const change of this.#shared?.before(position) ?? []) {
      if (!this.#isFirst && !isValidAfter(this.#state, change)) continue;
      this.#isFirst = false;
      this.#files.keepConfig(change.config);
      await this.#commit({ ...change.state, ...pickShippedVersion(this.#state) });
    }
  }

  /** What the journal says of changes while this node was away. */
  #takeRecorded({ recorded }: SharedPromotions): void {
    const changes = selectValidChanges(recorded);
    for (const { config } of changes) this.#files.keepConfig(config);
    this.#isFirst = changes.length === 0;
    const newest = changes.at(-1)?.state;
    if (newest === undefined) return;
    const { promotions, changes: known = 0 } = this.#state;
    if (known >= (newest.changes ?? 0) && isDeepStrictEqual(newest.promotions, promotions)) return;
    this.#save({ ...newest, ...pickShippedVersion(this.#state) });
  }

  /** The live config without a promotion; by the name under which it was live before, if it was. */
  #without(taken: Promotion): ScoringConfig {
    const [before, after] = [this.config(taken.parent), this.config(taken.version)];
    const step = { promotion: taken, before, after, isTakenBack: false };
    const steps = this.steps().map((each) => (each.promotion === taken ? step : each));
    const left = computeConfigWithoutStep(steps, this.config(), step);
    const known = [step, ...steps.toReversed()].flatMap((each) => [each.before, each.after]);
    const same = known.find((config) => isSameScoring(config, left));
    return same ?? { ...left, name: `without ${taken.run_id}` };
  }

  #wasLive(version: string): boolean {
    const { promotions, shipped } = this.#state;
    return (
      version === shipped || promotions.some((p) => p.parent === version || p.version === version)
    );
  }

  /** A config; undefined when its file is missing or was changed: nothing is compared with it. */
  readable(version: string): ScoringConfig | undefined {
    try {
      return this.find(version);
    } catch {
      return undefined;
    }
  }

  #save(next: KaizenState): void {
    this.#files.saveState(next);
    this.#state = next;
  }

  /** One replaced file, then one swap; a swap that is refused takes the file back. */
  async #commit(next: KaizenState): Promise<void> {
    const config = this.config(next.champion);
    this.#files.saveState(next);
    try {
      if (next.champion !== this.version) await this.#ledger.installConfig(config);
    } catch (error) {
      this.#files.saveState(this.#state);
      throw error;
    }
    this.#state = next;
  }
}
