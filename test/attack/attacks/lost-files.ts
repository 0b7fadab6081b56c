// Files of the data directory that another hand replaces, cuts or removes while the service is down: no
// start may pass over it in silence, and each says what helps.
import { generateKeyPairSync } from "node:crypto";
import * as fs from "node:fs";
import { join } from "node:path";
import { ADMIN_KEY, type ServerProcess } from "../../../bench/server-process.ts";
import type { Attack } from "../attack.ts";
import { Lasting } from "../lasting.ts";
import type { AttackStage } from "../stage.ts";

const EXIT_DAMAGED = 65;
const OUTCOMES = 20;
const SERVE = ["serve", "--port", "0", "--no-sample"];

export const otherKey: Attack = {
  name: "other-key",
  what: "another bureau.key is put in the place of the one that signs the journal",
  async play(stage) {
    const broken: string[] = [];
    const lasting = new Lasting();
    try {
      const kid = await readKids(stage, await lasting.start());
      await report(stage, await restart(lasting));
      await lasting.stop();
      const path = join(lasting.dataDir, "bureau.key");
      const { privateKey } = generateKeyPairSync("ed25519");
      fs.writeFileSync(path, privateKey.export({ type: "pkcs8", format: "pem" }));
      for (const args of [SERVE, ["keys", "rotate-signing"]]) {
        const refused = await lasting.command(...args);
        if (refused.code !== EXIT_DAMAGED) broken.push(`${args[0]} ended with ${refused.code}`);
        if (!refused.text.includes("rotate-signing")) broken.push(`${args[0]} names no way out`);
      }
      const doctor = await lasting.command("doctor");
      if (doctor.code === 0) broken.push("doctor ended with 0");
      if (!doctor.text.includes(kid[0]!)) broken.push("doctor does not name the signer");
      const repaired = await lasting.command("doctor", "--repair");
      if (repaired.code !== 0) broken.push(`--repair ended with ${repaired.code}`);
      const kids = await readKids(stage, await lasting.start());
      if (kids.length !== 2 || kids[1] !== kid[0]) broken.push(`published are ${kids.join()}`);
      return { broken, figures: { published: kids.length } };
    } finally {
      await lasting.close();
    }
  },
};

export const missingKeys: Attack = {
  name: "missing-keys",
  what: "keys.json is cut, then removed, beside a journal",
  async play(stage) {
    const broken: string[] = [];
    const lasting = new Lasting();
    try {
      const service = await lasting.start();
      const key = await stage.makeKey(service, "shop", ["score:read"]);
      if ((await readWarnings(stage, service)).includes("keys.json")) broken.push("warned before");
      await report(stage, service);
      await lasting.stop();
      const path = join(lasting.dataDir, "keys.json");
      fs.truncateSync(path, Math.floor(fs.statSync(path).size / 2));
      const cut = await lasting.command(...SERVE);
      if (cut.code !== EXIT_DAMAGED) broken.push(`the start ended with ${cut.code}`);
      if (!cut.text.includes("backup") || /\n\s+at /.test(cut.text)) broken.push(cut.text);
      if ((await lasting.command("doctor")).code === 0) broken.push("doctor: 0 for a cut file");
      fs.rmSync(path);
      const doctor = await lasting.command("doctor");
      if (!doctor.text.includes("keys.json")) broken.push("doctor does not say it");
      const without = await lasting.start();
      const { status } = await stage.ask(without, "/v1/agents/agent%3A%2F%2Fa%2Fb", { key });
      if (status !== 401) broken.push(`a key that is gone: ${status}`);
      const warnings = await readWarnings(stage, without);
      if (!warnings.includes("keys.json")) broken.push(`readyz says ${warnings}`);
      return { broken, figures: {} };
    } finally {
      await lasting.close();
    }
  },
};

async function restart(lasting: Lasting): Promise<ServerProcess> {
  await lasting.stop();
  return lasting.start();
}

async function readKids(stage: AttackStage, service: ServerProcess): Promise<string[]> {
  const { text } = await stage.ask(service, "/.well-known/jwks.json");
  return (JSON.parse(text) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid);
}

async function readWarnings(stage: AttackStage, service: ServerProcess): Promise<string> {
  const { text } = await stage.ask(service, "/readyz", { key: ADMIN_KEY });
  return JSON.stringify((JSON.parse(text) as { warnings?: string[] }).warnings ?? []);
}

async function report(stage: AttackStage, service: ServerProcess): Promise<void> {
  for (let n = 0; n < OUTCOMES; n++) {
    const outcome = { outcome: 1, stakes: 5, grade: "counterparty", id: `n${n}` };
    const body = { subject: `agent://shop/${n}`, reporter: "agent://acme/r", ...outcome };
    const { status, text } = await stage.ask(service, "/v1/outcomes", { body });
    if (status >= 300) throw new Error(`${status} ${text.slice(0, 200)}`);
  }
}
