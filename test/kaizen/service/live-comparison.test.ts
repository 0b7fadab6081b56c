// The watch in a service: each scorecard from its own newest change on, and what is left when one is
// taken back under a newer change of the other.
import { afterEach, describe, expect, it } from "vitest";
import { loadDefaultConfig } from "../../../src/engine/config.ts";
import type { ScoringConfig } from "../../../src/engine/config.ts";
import { Champion } from "../../../src/kaizen/service/champion.ts";
import { KaizenFiles, computeConfigVersion } from "../../../src/kaizen/service/files.ts";
import type { KaizenResult, KaizenTask } from "../../../src/kaizen/service/worker-pool.ts";
import { selectChallengedVersion } from "../../../src/kaizen/service/run-record.ts";
import type { ScorecardSide } from "../../../src/kaizen/model/scorecard.ts";
import { ASKED, NOW_MS, openStage, winning } from "../_service.ts";
import type { Stage } from "../_service.ts";

const SHIPPED = computeConfigVersion(loadDefaultConfig());
let stage: Stage | undefined;

afterEach(async () => {
  await stage?.kaizen.close();
  await stage?.ledger.close();
  stage = undefined;
});

describe("a change under a newer one of the other scorecard", () => {
  const own = loadDefaultConfig();
  const check = { ...own.check, intercept: -0.25 };
  const handshake = { ...own.handshake, intercept: -0.35 };
  const CHECK = { ...own, check, name: "a calibration" };
  const BOTH = { ...CHECK, handshake, name: "a re-fit" };
  const HANDSHAKE = { ...own, handshake, name: "left" };
  const findings = (config: ScoringConfig) => ({
    rows: 1,
    rowsByKind: { reporter: 0, bureau: 0, import: 1 },
    findings: { ...winning().findings, config },
  });
  const seen = (side: ScorecardSide, isRollbackDue: boolean) => ({
    side,
    isRollbackDue,
    numbers: {},
    sentence: isRollbackDue ? "log-loss rose" : "log-loss fell",
  });
  const sidesOf = ({ check: one, handshake: other }: ScoringConfig) => ({ one, other });
  let tasks: KaizenTask[];

  /** A calibration of the check and a re-fit of the handshake a week later, then `results`. */
  async function promoteBoth(...results: KaizenResult[]): Promise<string[]> {
    tasks = [];
    let nowMs = NOW_MS;
    const queue = [findings(CHECK), findings(BOTH), ...results];
    const runTask = async (task: KaizenTask) => {
      tasks.push(task);
      return queue.shift()!;
    };
    stage = await openStage(undefined, { runTask, clock: () => (nowMs += 1000) });
    const first = await stage.kaizen.start({ ...ASKED, kind: "calibration" })!.done;
    const second = await stage.kaizen.start(ASKED)!.done;
    expect([first.state, second.state]).toEqual(["promoted", "promoted"]);
    return [first.run_id, second.run_id];
  }

  it("is watched from its own day on, and taken back alone", async () => {
    const watch = [seen("check", true), seen("handshake", false)];
    const [first, second] = await promoteBoth({ ...findings(BOTH), watch });
    await stage!.kaizen.watch();
    const changes = tasks.at(-1)!.watch!;
    expect(changes.check).toMatchObject({ runId: first, isCalibration: true, parent: own });
    expect(changes.handshake).toMatchObject({ runId: second, isCalibration: false, parent: CHECK });
    expect(changes.check!.sinceMs).toBeLessThan(changes.handshake!.sinceMs);
    expect(stage!.kaizen.find(first!)!.rolled_back!.reason).toBe("check: log-loss rose");
    expect(stage!.kaizen.find(second!)!.rolled_back).toBeUndefined();
    expect(sidesOf(stage!.kaizen.weights().config)).toEqual(sidesOf(HANDSHAKE));
    expect(stage!.engine.activeConfigVersion).toBe(stage!.kaizen.status().config_version);
    expect(stage!.kaizen.status().watch!.sides.map(({ side }) => side)).toEqual(["handshake"]);
  });

  it("leaves nothing of itself when the newer one is taken back too, also after a restart", async () => {
    const watch = [seen("check", true), seen("handshake", false)];
    const [first, second] = await promoteBoth({ ...findings(BOTH), watch });
    await stage!.kaizen.watch();
    const left = stage!.kaizen.status().config_version;
    await stage!.kaizen.close();
    await stage!.ledger.close();
    const nowMs = NOW_MS + 60_000;
    stage = await openStage(stage!.dataDir, { clock: () => nowMs });
    expect(stage.engine.activeConfigVersion).toBe(left);
    expect(await stage.kaizen.rollback("a test")).toEqual({
      config_version: SHIPPED,
      run_id: second,
    });
    expect(stage.engine.activeConfigVersion).toBe(SHIPPED);
    const versions = [first, second].map((id) => stage!.kaizen.find(id!)!.challenger_version);
    const at = (ms: number) =>
      selectChallengedVersion(new Champion(new KaizenFiles(stage!.dataDir), stage!.ledger), {
        ...ASKED,
        asOfMs: ms,
      });
    const times = tasks.slice(0, 2).map(({ options }) => options.nowMs);
    expect(times.map(at)).toEqual(versions);
    expect(at(nowMs - 1)).toBe(left);
    expect(at(nowMs)).toBe(SHIPPED);
  });

  it("goes with the newer one where the watch says so of both", async () => {
    const watch = [seen("check", true), seen("handshake", true)];
    await promoteBoth({ ...findings(BOTH), watch });
    await stage!.kaizen.watch();
    expect(stage!.engine.activeConfigVersion).toBe(SHIPPED);
    expect(stage!.kaizen.runs().map((run) => run.rolled_back!.reason)).toEqual([
      "handshake: log-loss rose",
      "check: log-loss rose",
    ]);
  });
});
