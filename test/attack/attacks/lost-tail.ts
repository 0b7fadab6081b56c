// A journal that loses its end while the service is down: no start may pass over it in silence; and a
// service that is killed in the middle of work, which must never look like that.
import * as fs from "node:fs";
import { join } from "node:path";
import type { ServerProcess } from "../../../bench/server-process.ts";
import type { Attack } from "../attack.ts";
import { gauge, Lasting, untilApplied } from "../lasting.ts";
import { type AttackStage, delay } from "../stage.ts";

const OUTCOMES = 2000;
const OUTCOMES_SHORT = 400;
const KILLS = 10;
const KILLS_SHORT = 2;
const EXIT_DAMAGED = 65;

export const lostTail: Attack = {
  name: "lost-tail",
  what: "the journal is cut in half while the service is down; the service is killed at work",
  async play(stage) {
    const broken: string[] = [];
    const lasting = new Lasting();
    const count = stage.isShort ? OUTCOMES_SHORT : OUTCOMES;
    let acknowledged = 0;
    const told = () => void (acknowledged += 1);
    try {
      for (let kill = 0; kill < (stage.isShort ? KILLS_SHORT : KILLS); kill++) {
        const service = await lasting.start();
        const until = acknowledged + count / 2;
        const reporting = report(stage, service, `k${kill}`, count, told);
        while (acknowledged < until) await delay(5);
        await lasting.kill();
        await reporting;
      }
      // The start after the last kill is what must not be refused.
      const service = await lasting.start();
      await report(stage, service, "last", count, told);
      await untilApplied(stage, service);
      const position = await gauge(stage, service, "journal_position");
      if (position < acknowledged) broken.push(`${acknowledged - position} outcomes are lost`);
      await lasting.stop();
      cutInHalf(join(lasting.dataDir, "journal"));
      const refused = await lasting.command("serve", "--port", "0", "--no-sample");
      if (refused.code !== EXIT_DAMAGED) broken.push(`the start ended with ${refused.code}`);
      const doctor = await lasting.command("doctor");
      if (!doctor.text.includes("--accept-loss")) broken.push("doctor does not say what to do");
      const accepted = await lasting.command("doctor", "--accept-loss");
      if (accepted.code !== 0) broken.push(`--accept-loss ended with ${accepted.code}`);
      const again = await lasting.start();
      await untilApplied(stage, again);
      const left = await gauge(stage, again, "journal_position");
      return { broken, figures: { acknowledged, position, left_after_loss: left } };
    } finally {
      await lasting.close();
    }
  },
};

function cutInHalf(journal: string): void {
  const segment = fs.readdirSync(journal).find((name) => name.startsWith("seg-"))!;
  const path = join(journal, segment);
  fs.truncateSync(path, Math.floor(fs.statSync(path).size / 2));
}

async function report(
  stage: AttackStage,
  service: ServerProcess,
  life: string,
  count: number,
  acknowledge: () => void,
): Promise<void> {
  for (let n = 0; n < count; n++) {
    const body = {
      subject: `agent://shop/${n % 20}`,
      reporter: "agent://acme/r",
      outcome: 1,
      stakes: 5,
      grade: "counterparty",
      id: `${life}-${n}`,
    };
    const reply = await stage.ask(service, "/v1/outcomes", { body }).catch(() => undefined);
    if (reply === undefined) return;
    if (reply.status >= 300) throw new Error(`${reply.status} ${reply.text.slice(0, 200)}`);
    acknowledge();
  }
}
