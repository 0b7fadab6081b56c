// Files of kaizen in the data directory: configs by their content, runs by their id, and one state
// file that names the live config. Replacing it is the commit point of a promotion.
import * as fs from "node:fs";
import { join } from "node:path";
import { FileUnusable } from "../../journal/faults.ts";
import { formatCanonicalJson } from "../../contract/canonical-json.ts";
import { computeConfigDigest, formatConfigVersion } from "../../engine/config.ts";
import type { ScoringConfig } from "../../engine/config.ts";
import type {
  GateVerdict,
  RunKind,
  RunRecord,
  RunRequest,
  RunSummary,
  WatchRecord,
} from "../kaizen.ts";
import type { RunFindings } from "../run.ts";
import { SCORECARD_SIDES } from "../model/scorecard.ts";
import type { ScorecardSide } from "../model/scorecard.ts";
import { diskFileLayer, replaceFile } from "../../platform/files.ts";

/** One promotion; the list has the newest last. */
export interface Promotion {
  run_id: string;
  version: string;
  /** Version it replaced. */
  parent: string;
  at_ms: number;
  /** Absent in files of older releases: full. */
  kind?: RunKind;
  /** Who promoted a dry run, and why; absent where the run promoted by itself. */
  by?: string;
  reason?: string;
  /** `left`: version live without it; absent in files of older releases: the parent. */
  rolled_back?: { at_ms: number; reason: string; left?: string };
}

export interface KaizenState {
  /** Version of the live config. */
  champion: string;
  /** Version shipped with the release that wrote this; absent in files of older releases. */
  shipped?: string;
  promotions: Promotion[];
  /** Evidence up to here has been in a test and is spent, by scorecard. */
  tested_to_ms: Record<ScorecardSide, number>;
  /** The same for start-up calibrations; absent before the first. */
  calibrated_to_ms?: Record<ScorecardSide, number>;
  /** Position of the journal at the last start-up calibration. */
  calibrated_position?: number;
  /** Runs after a rollback that still only test. */
  cool_down_runs: number;
  last_scheduled_ms: number;
  /** Changes of this state that have held in the log of a cluster; absent where none has. */
  changes?: number;
}

const DIRECTORY = "kaizen";
const STATE_FILE = "state.json";
/** The state file, relative to the data directory. */
export const KAIZEN_STATE_PATH = `${DIRECTORY}/${STATE_FILE}`;
const CONFIG_VERSION_PATTERN = /^c-[0-9a-f]{16}$/;
const RUN_ID_PATTERN = /^k-[0-9]{8}-[0-9]{9}$/;
const RUNS_LISTED = 500;
/** Records of the journal since the last start-up calibration: a test needs as many outcomes. */
const CALIBRATION_RECORDS_MIN = 100;

/** Identity of a config: `c-` and 16 hex digits of the sha256 of its canonical JSON. */
export function computeConfigVersion(config: ScoringConfig): string {
  return formatConfigVersion(computeConfigDigest(config));
}

/** Id of a run, as `k-20261120-114500123`: sorts by time, names a file. */
export function createRunId(nowMs: number): string {
  const digits = new Date(nowMs).toISOString().replaceAll(/[^0-9]/g, "");
  return `k-${digits.slice(0, 8)}-${digits.slice(8, 17)}`;
}

export class KaizenFiles {
  readonly #root: string;
  readonly #configs: string;
  readonly #runs: string;
  readonly #watches: string;

  constructor(dataDir: string) {
    this.#root = join(dataDir, DIRECTORY);
    this.#configs = join(this.#root, "configs");
    this.#runs = join(this.#root, "runs");
    this.#watches = join(this.#root, "watches");
    for (const directory of [this.#root, this.#configs, this.#runs, this.#watches]) {
      diskFileLayer.makeDirectory(directory);
    }
  }

  /**
   * The state as last committed, or that of a service without promotions.
   * @throws FileUnusable when it is there and says something else.
   */
  loadState(shipped: string): KaizenState {
    const none: KaizenState = {
      champion: shipped,
      promotions: [],
      tested_to_ms: { check: 0, handshake: 0 },
      cool_down_runs: 0,
      last_scheduled_ms: 0,
    };
    return readKaizenState(join(this.#root, STATE_FILE)) ?? none;
  }

  saveState(state: KaizenState): void {
    replaceFile(diskFileLayer, this.#root, STATE_FILE, Buffer.from(JSON.stringify(state, null, 2)));
  }

  /**
   * The config of a version; undefined when there is no file.
   * @throws Error when the content does not match the name.
   */
  loadConfig(version: string): ScoringConfig | undefined {
    if (!CONFIG_VERSION_PATTERN.test(version)) return undefined;
    const config = readJson<ScoringConfig>(join(this.#configs, `${version}.json`));
    if (config !== undefined && computeConfigVersion(config) !== version) {
      throw new Error(`the config file ${version}.json was changed`);
    }
    return config;
  }

  /** Writes the config under its version, unless the file exists already; returns the version. */
  keepConfig(config: ScoringConfig): string {
    const version = computeConfigVersion(config);
    const name = `${version}.json`;
    const text = formatCanonicalJson(config);
    if (readText(join(this.#configs, name)) !== text) {
      replaceFile(diskFileLayer, this.#configs, name, Buffer.from(text));
    }
    return version;
  }

  saveRun(run: RunRecord): void {
    replaceFile(diskFileLayer, this.#runs, `${run.run_id}.json`, Buffer.from(JSON.stringify(run)));
  }

  loadRun(id: string): RunRecord | undefined {
    return RUN_ID_PATTERN.test(id)
      ? readJson<RunRecord>(join(this.#runs, `${id}.json`))
      : undefined;
  }

  /** Stores the newest comparison of a run's promotion. */
  saveWatch(runId: string, watch: WatchRecord): void {
    replaceFile(diskFileLayer, this.#watches, `${runId}.json`, Buffer.from(JSON.stringify(watch)));
  }

  loadWatch(runId: string): WatchRecord | undefined {
    return RUN_ID_PATTERN.test(runId) ? readJson(join(this.#watches, `${runId}.json`)) : undefined;
  }

  /** Newest first, at most `count`. */
  listRuns(count = RUNS_LISTED): RunSummary[] {
    const names = fs.readdirSync(this.#runs).filter((name) => name.endsWith(".json"));
    return names
      .toSorted()
      .toReversed()
      .slice(0, count)
      .flatMap((name) => {
        const run = this.loadRun(name.slice(0, -".json".length));
        if (run === undefined) return [];
        const { findings, ...summary } = run;
        return [{ ...summary, ...(findings && { gates: listGateVerdicts(findings) }) }];
      });
  }
}

function listGateVerdicts({ sides }: RunFindings): GateVerdict[] {
  return sides.flatMap(({ side, gates }) =>
    gates.map(({ id, passed, isWarning }) => ({
      side,
      id,
      passed,
      is_warning: isWarning === true,
    })),
  );
}

function readJson<T>(path: string): T | undefined {
  const text = readText(path);
  return text === undefined ? undefined : (JSON.parse(text) as T);
}

/** Content of a file; undefined when there is none. */
function readText(path: string): string | undefined {
  try {
    return fs.readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** @throws FileUnusable: whether a champion was promoted is not guessed. */
export function readKaizenState(path: string): KaizenState | undefined {
  try {
    const state = readJson<KaizenState>(path);
    if (state === undefined || isKaizenState(state)) return state;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  const advice = "put it back from a backup, or move it away to go on with the shipped weights";
  throw new FileUnusable({ path, reason: "it holds no state of kaizen", advice });
}

function isKaizenState(state: Partial<KaizenState> | null): boolean {
  return (
    typeof state?.champion === "string" &&
    Array.isArray(state.promotions) &&
    typeof state.tested_to_ms?.check === "number" &&
    typeof state.tested_to_ms.handshake === "number" &&
    typeof state.cool_down_runs === "number" &&
    typeof state.last_scheduled_ms === "number"
  );
}

/** The run with its end: the state file holds its fate, its own file only its findings. */
export function completeRunFromState<R extends RunSummary>(
  run: R,
  promotion: Promotion | undefined,
  isUnderWay: boolean,
): R {
  if (promotion === undefined) {
    if (run.state !== "running" || isUnderWay) return run;
    // The file of a run names its challenger only once every gate has passed.
    const isTested = run.challenger_version !== undefined;
    const when = isTested ? "before the promotion was committed" : "during the run";
    return { ...run, state: "failed", reason: `the process ended ${when}: the champion stays` };
  }
  const { rolled_back, at_ms, by, reason = "" } = promotion;
  const promoted: R = {
    ...run,
    state: "promoted",
    ...(by === undefined ? {} : { promotion: { at: new Date(at_ms).toISOString(), by, reason } }),
  };
  if (rolled_back === undefined) return promoted;
  const at = new Date(rolled_back.at_ms).toISOString();
  return { ...promoted, rolled_back: { at, reason: rolled_back.reason } };
}

/** State after a finished run: tested evidence, a pause less, its place in the schedule. */
export function computeStateAfterRun(
  state: KaizenState,
  request: RunRequest,
  findings: RunFindings,
  { testedMs, position }: { testedMs: number; position: number },
): KaizenState {
  const isCalibration = request.kind === "calibration";
  const tested = { ...(isCalibration ? readCalibratedToMs(state) : state.tested_to_ms) };
  for (const side of SCORECARD_SIDES) {
    const wasTested = findings.sides.some(
      (each) => each.side === side && each.challenger !== undefined,
    );
    if (wasTested) tested[side] = testedMs;
  }
  // A calibration runs by the day: it takes no turn of the weekly runs, and no pause less.
  if (isCalibration) {
    return { ...state, calibrated_to_ms: tested, calibrated_position: position };
  }
  return {
    ...state,
    tested_to_ms: tested,
    cool_down_runs: Math.max(0, state.cool_down_runs - 1),
    ...(request.startedBy === "schedule" ? { last_scheduled_ms: testedMs } : {}),
  };
}

/** Whether anything was tested or promoted so far. */
export function hasHistory(state: KaizenState): boolean {
  const { promotions, tested_to_ms: tested, calibrated_to_ms: calibrated } = state;
  const isTested = SCORECARD_SIDES.some((side) => tested[side] > 0);
  return isTested || promotions.length > 0 || calibrated !== undefined;
}

/** Evidence up to which calibrations have been tested, by scorecard. */
export function readCalibratedToMs(state: KaizenState): Record<ScorecardSide, number> {
  return state.calibrated_to_ms ?? { check: 0, handshake: 0 };
}

/**
 * Whether a start-up calibration is due: no full re-fit has been promoted and stands, no rollback
 * asks for a pause, and since the last one enough has been recorded for a test.
 */
export function isCalibrationDue(state: KaizenState, position: number): boolean {
  const { promotions, cool_down_runs, calibrated_position: last = 0 } = state;
  const isGrown = promotions.some(
    ({ kind, rolled_back }) => kind !== "calibration" && rolled_back === undefined,
  );
  return !isGrown && cool_down_runs === 0 && position - last >= CALIBRATION_RECORDS_MIN;
}

/**
 * Takes back promotions and rollbacks that came after a time. Spent evidence stays spent.
 * @param position of the journal at that time.
 */
export function rewindStateTo(state: KaizenState, atMs: number, position: number): KaizenState {
  const promotions = state.promotions
    .filter((each) => each.at_ms <= atMs)
    .map((each) => {
      const then = { ...each };
      if ((then.rolled_back?.at_ms ?? 0) > atMs) delete then.rolled_back;
      return then;
    });
  const live = promotions.findLast((each) => each.rolled_back === undefined);
  // Before any promotion the config was the one that the first of them replaced.
  const champion = live?.version ?? state.promotions[0]?.parent ?? state.champion;
  const calibrated = state.calibrated_position;
  return {
    ...state,
    promotions,
    champion,
    ...(calibrated === undefined ? {} : { calibrated_position: Math.min(calibrated, position) }),
  };
}
