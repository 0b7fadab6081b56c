// Tenants with namespaces and signing reporters of their own, and what they report, signed and not.
import { registerReporterAs, type Reporter } from "../../../bench/reporter.ts";
import type { ServerProcess } from "../../../bench/server-process.ts";
import type { AttackStage } from "../stage.ts";

const SCOPES = ["keys:write", "outcomes:write", "score:read"];
const HOUR_MS = 3_600_000;
/** Above any stakes of the honest, at the highest grade. */
const CLAIM = { stakes: 1e9, grade: "onchain" };
const BATCH_MAX = 1000;

export interface Signers {
  readonly tenant: string;
  readonly keys: readonly string[];
  readonly reporters: readonly { readonly name: string; readonly signer: Reporter }[];
}

/** Grants a tenant its namespace, makes API keys of it, and registers signing reporters there. */
export async function registerSigners(
  stage: AttackStage,
  service: ServerProcess,
  tenant: string,
  { names, keys: count, grant = {} }: { names: number; keys: number; grant?: object },
): Promise<Signers> {
  const body = { tenant, ...grant };
  const granted = await stage.ask(service, `/v1/namespaces/${tenant}`, { method: "PUT", body });
  if (granted.status !== 200) throw new Error(`grant: ${granted.status} ${granted.text}`);
  const keys: string[] = [];
  for (let at = 0; at < count; at++) keys.push(await stage.makeKey(service, tenant, SCOPES));
  const reporters: { name: string; signer: Reporter }[] = [];
  for (let at = 0; at < names; at++) {
    const name = `agent://${tenant}/signer-${at}`;
    const made = await registerReporterAs(service.url, keys[0]!, name);
    if (made.status !== 200) throw new Error(`the key of ${name} was answered ${made.status}`);
    reporters.push({ name, signer: made });
  }
  return { tenant, keys, reporters };
}

export interface Campaign {
  readonly subject: string;
  /** What each reporter says, in order. */
  readonly outcomes: readonly (0 | 1)[];
  readonly names: number;
  readonly keys: number;
}

/** Each of the names reports under its signature, by the keys in turn; then the keys without one. */
export async function report(
  stage: AttackStage,
  service: ServerProcess,
  { tenant, keys, reporters }: Signers,
  campaign: Campaign,
): Promise<void> {
  const { subject, outcomes } = campaign;
  const rows = (reporter: string) =>
    outcomes.map((outcome, at) => {
      const settled_at = Date.now() - Math.round((outcomes.length - at) * HOUR_MS);
      return { subject, reporter, outcome, ...CLAIM, settled_at };
    });
  const send = async (key: string, body: string, headers: Record<string, string> = {}) => {
    const reply = await stage.ask(service, "/v1/outcomes/batch", { key, body, headers });
    const isTaken = reply.status === 200 && !/"status":4/.test(reply.text);
    if (!isTaken) throw new Error(`a batch was answered ${reply.status} ${reply.text}`);
  };
  for (const [at, { name, signer }] of reporters.slice(0, campaign.names).entries()) {
    const body = JSON.stringify(rows(name));
    await send(keys[at % campaign.keys]!, body, { "x-jws-signature": signer.sign(body) });
  }
  for (const key of keys.slice(0, campaign.keys)) {
    const unsigned = rows(`agent://${tenant}/unsigned`).slice(0, BATCH_MAX);
    await send(key, JSON.stringify(unsigned));
  }
}
