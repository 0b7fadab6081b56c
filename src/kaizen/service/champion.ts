// Champion: the live config, and its three changes: opening, promotion, rollback. The replaced
// state file is the commit point. A crash before it leaves the champion; a crash after it, even
// before the swap, leaves the challenger: a start installs the config that the file names. Every
// config that has been live has a file of its own, a release's config too: the next release ships
// another, and a rollback may lead back beyond it.
import { canonicalJson } from "../../contract/canonical-json.ts";
import { defaultConfig } from "../../engine/config.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import { assertConfig } from "../../engine/config-layout.ts";
import { versionOf } from "./files.ts";
import type { KaizenFiles, KaizenState, Promotion } from "./files.ts";
import type { RunRecord } from "../kaizen.ts";
import { COOL_DOWN_RUNS } from "../monitor.ts";

/** The ledger's part in a promotion. */
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
    // A deployment on the shipped config follows from release to release; a promotion stays, and so
    // does the config of an older release to which a rollback has led back.
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

  /** Version of the config that was live at a time, as far as promotions are on record. */
  versionAt(atMs: number): string {
    const { promotions, champion } = this.#state;
    const live = promotions.findLast(
      ({ at_ms: sinceMs, rolled_back: back }) =>
        sinceMs <= atMs && (back === undefined || back.at_ms > atMs),
    );
    return live?.version ?? promotions[0]?.parent ?? champion;
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
    return version === versionOf(this.#shipped) ? this.#shipped : this.#files.loadConfig(version);
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
    if (this.version !== versionOf(this.#shipped)) await this.#ledger.installConfig(champion);
  }

  /** Saves a run's other changes of the state; the champion stays. */
  keep(change: (state: KaizenState) => KaizenState): Promise<void> {
    return this.#inTurn(() => {
      const next = change(this.#state);
      this.#files.saveState(next);
      this.#state = next;
    });
  }

  /**
   * Makes exactly the tested config live; false when the weights it was tested against are not live
   * any more.
   * @throws the error of the engine, the journal or the disk; nothing has changed then.
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
      const { run_id, kind } = run;
      const promotion: Promotion = { run_id, version, parent, at_ms: nowMs, ...(kind && { kind }) };
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

  /** Runs one change after the other, each on the state left by the one before it. */
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
