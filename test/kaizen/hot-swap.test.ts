// Fifty swaps of weights under full load over HTTP: no error, and every answer is what the config
// that it names gives, checked by scoring the same agents again on a private table.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openBureau } from "../../src/bureau/open.ts";
import { loadDefaultConfig } from "../../src/engine/config.ts";
import type { ScoringConfig } from "../../src/engine/config.ts";
import { createEngineMemory } from "../../src/engine/memory.ts";
import { openEngineReader } from "../../src/engine/reader.ts";
import { openEngineWriter } from "../../src/engine/writer.ts";
import { computeConfigVersion } from "../../src/kaizen/service/files.ts";
import { openTestServer } from "../http/_setup.ts";
import type { TestServer } from "../http/_setup.ts";
import { NOW_MS, openStage, outcomesOf } from "./_service.ts";
import type { Stage } from "./_service.ts";
import { UuidV7Generator } from "../../src/platform/uuid.ts";

const SWAPS = 25;
const PAUSE_MS = 60;
const CALLERS = 24;
const AGENTS = 40;
const COUNTERPARTY = 3;
const BUREAU = 1;

const outcomes = outcomesOf(2, 4000);
const configs: ScoringConfig[] = [0, -0.4, 0.3].map((shift) => {
  const config = loadDefaultConfig();
  config.check.intercept = shift;
  return config;
});

interface Answer {
  agent: string;
  version: string;
  score: number;
}

let stage: Stage;
let service: TestServer;

beforeAll(async () => {
  stage = await openStage();
  await stage.ledger.appendBatch(outcomes);
  const bureau = openBureau({
    engine: stage.engine,
    ledger: stage.ledger,
    events: stage.ledger,
    clock: () => NOW_MS,
    environment: {
      delay: () => Promise.resolve(),
      outcomeIds: new UuidV7Generator((bytes) => bytes.fill(7)),
      isReservedEnabled: false,
    },
  });
  service = await openTestServer("uws", { bureau });
});
afterAll(async () => {
  await service?.stop();
  await stage?.ledger.close();
});

async function ask(agent: string): Promise<Answer> {
  const response = await fetch(`${service.base}/v1/trust/verify`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.admin}`, "content-type": "application/json" },
    body: JSON.stringify({
      agent_id: agent,
      action: "report.publish",
      tool_level: "L1",
      context: {},
    }),
  });
  expect(response.status).toBe(200);
  const body = (await response.json()) as {
    config_version: string;
    trust_evaluation: { internal_score: number };
  };
  return { agent, version: body.config_version, score: body.trust_evaluation.internal_score };
}

/** Scores of every agent under every config, on a table of its own. */
function expectedScores(): Map<string, number> {
  const memory = createEngineMemory();
  const writer = openEngineWriter(memory, configs[0]!, 1n);
  const reader = openEngineReader(memory, 1);
  for (const { subject, reporter, outcome, stakes, settledAtMs } of outcomes) {
    writer.fold({
      subject,
      reporter,
      outcome,
      stakes,
      gradeIndex: COUNTERPARTY,
      signatureIndex: BUREAU,
      settledAtMs,
    });
  }
  const scores = new Map<string, number>();
  for (const config of configs) {
    writer.installConfig(config);
    for (let i = 0; i < AGENTS; i++) {
      const agent = `agent://made/${i}`;
      scores.set(
        `${computeConfigVersion(config)} ${agent}`,
        reader.check(agent, 0, NOW_MS).scoreInternal,
      );
    }
  }
  return scores;
}

describe("hot swap", () => {
  it(`answers every request by the config it names through ${SWAPS} swaps`, async () => {
    const answers: Answer[] = [];
    let isOver = false;
    const callers = Array.from({ length: CALLERS }, async (_, caller) => {
      for (let i = caller; !isOver; i++) answers.push(await ask(`agent://made/${i % AGENTS}`));
    });
    for (let swap = 1; swap <= SWAPS; swap++) {
      const config = configs[swap % configs.length]!;
      await stage.ledger.installConfig(config);
      // The very next request sees it.
      expect((await ask("agent://made/1")).version).toBe(computeConfigVersion(config));
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    isOver = true;
    await Promise.all(callers);
    const expected = expectedScores();
    const wrong = answers.filter(({ agent, version, score }) => {
      const right = expected.get(`${version} ${agent}`);
      return right === undefined || Math.abs(right - score) > 0.5;
    });
    expect(wrong).toEqual([]);
    expect(answers.length).toBeGreaterThan(SWAPS * 10);
    expect(new Set(answers.map(({ version }) => version)).size).toBe(configs.length);
  });
});
