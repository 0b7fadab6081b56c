// Which config is live, and the three ways in which that changes: opening, promotion, rollback.
// The replaced state file is the commit point. Before it the champion is the champion, whatever
// dies; after it the challenger is, even if the process dies before the swap: a start installs what
// the file names. What has been live lies in a file of its own, the config of a release too: the
// next release ships another, and a rollback may lead back beyond it.
import { canonicalJson, defaultConfig } from "../../engine/config.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import { assertConfig } from "../../engine/config-layout.ts";
import { versionOf } from "./files.ts";
import type { KaizenFiles, KaizenState, Promotion } from "./files.ts";
import type { RunRecord } from "../kaizen.ts";
import { COOL_DOWN_RUNS } from "../monitor.ts";

/** What a promotion needs of the ledger. */
export interface ConfigWriter {
  appendConfig(payload: Uint8Array): Promise<number>;
  installConfig(config: unknown): Promise<void>;
  position(): number;
}

export class Champion {
  readonly #files: KaizenFiles;
  readonly #ledger: ConfigWriter;
  readonly #shipped: ScoringConfig;
  #state: KaizenState;
  #turn: Promise<unknown> = Promise.resolve();

  /** @param shipped the config of this release. */
  constructor(files: KaizenFiles, ledger: ConfigWriter, shipped = defaultConfig()) {
    this.#files = files;
    this.#ledger = ledger;
    this.#shipped = shipped;
    const version = versionOf(shipped);
    this.#state = files.loadState(version);
    // Who runs what was shipped follows from release to release; a promotion stays, and so does the
    // config of an older release that a rollback has led back to.
    const { champion, shipped: before = champion } = this.#state;
    if (this.live() === undefined && champion === before) this.#state.champion = version;
    this.#state.shipped = version;
  }

  get state(): KaizenState {
    return this.#state;
  }

  get version(): string {
    return this.#state.champion;
  }

  /** The promotion that made the live config; undefined when that is the shipped one. */
  live(): Promotion | undefined {
    return this.#state.promotions.findLast((each) => each.rolled_back === undefined);
  }

  /** A config by its version. Throws when its file is missing or was changed. */
  config(version = this.version): ScoringConfig {
    const config = this.find(version);
    if (config === undefined) throw new Error(`the config ${version} is missing`);
    return config;
  }

  /** A config by its version; undefined when its file is missing. Throws when it was changed. */
  find(version: string): ScoringConfig | undefined {
    return version === versionOf(this.#shipped) ? this.#shipped : this.#files.loadConfig(version);
  }

  /** Keeps the live config for the releases to come. Throws what the disk throws. */
  keepLive(): void {
    this.#files.keepConfig(this.config());
  }

  /** Makes the promoted config live, before anything is served. */
  async open(): Promise<void> {
    const champion = this.config();
    if (this.version !== versionOf(this.#shipped)) await this.#ledger.installConfig(champion);
  }

  /** The champion stays; what else a run changes in the state is saved. */
  keep(change: (state: KaizenState) => KaizenState): Promise<void> {
    return this.#inTurn(() => {
      const next = change(this.#state);
      this.#files.saveState(next);
      this.#state = next;
    });
  }

  /**
   * Makes exactly the tested config live; false when the weights it was tested against are not live
   * any more. Throws what the engine, the journal or the disk throw; then nothing has changed.
   */
  promote(
    run: RunRecord,
    config: ScoringConfig,
    change: (state: KaizenState) => KaizenState,
    nowMs: number,
  ): Promise<boolean> {
    return this.#inTurn(async () => {
      if (this.version !== run.champion_version) return false;
      assertConfig(config);
      this.keepLive();
      const version = this.#files.keepConfig(config);
      // The findings are on disk before the state file names the run.
      this.#files.saveRun(run);
      await this.#ledger.appendConfig(Buffer.from(canonicalJson(config)));
      const next = change(this.#state);
      const parent = next.champion;
      const promotion: Promotion = { run_id: run.run_id, version, parent, at_ms: nowMs };
      const promotions = [...next.promotions, promotion];
      await this.#commit({ ...next, champion: version, promotions });
      return true;
    });
  }

  /** Restores the config before the newest promotion; undefined when there is none. */
  rollBack(reason: string, atMs: number): Promise<Promotion | undefined> {
    return this.#inTurn(async () => {
      const last = this.live();
      if (last === undefined) return undefined;
      const promotions = this.#state.promotions.map((each) =>
        each === last ? { ...each, rolled_back: { at_ms: atMs, reason } } : each,
      );
      const cooling = { cool_down_runs: COOL_DOWN_RUNS };
      await this.#commit({ ...this.#state, champion: last.parent, promotions, ...cooling });
      return last;
    });
  }

  /** One change after the other: each is made to what the one before it left. */
  #inTurn<T>(work: () => Promise<T> | T): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  /** One replaced file, then one swap; a swap that is refused takes the file back. */
  async #commit(next: KaizenState): Promise<void> {
    const config = this.config(next.champion);
    this.#files.saveState(next);
    try {
      await this.#ledger.installConfig(config);
    } catch (error) {
      this.#files.saveState(this.#state);
      throw error;
    }
    this.#state = next;
  }
}
