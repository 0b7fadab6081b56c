// Sources without end by one tenant, revoked and registered anew: its own quota holds it, other tenants
// go on registering, and what it revokes makes room for its next.
import type { Attack } from "../attack.ts";
import type { ServerProcess } from "../../../bench/server-process.ts";
import { type AttackStage, figuresOf } from "../stage.ts";

/** A part of both quotas: a batch that does not fit is refused as a whole, and would leave room. */
const BATCH = 128;
const LANES = 2;
/** More than the vault holds in all. */
const SOURCES = 300_000;
const SOURCES_SHORT = 3000;
const QUOTA_SHORT = 1024;
const MEMORY_MORE_MIB = 1024;
const REVOKED = 50;

export const vaultSlots: Attack = {
  name: "vault-slots",
  what: "one tenant registers more sources than the vault holds in all, and revokes some",
  async play(stage) {
    const env = stage.isShort ? { TRUSTRANK_SOURCES_PER_TENANT: String(QUOTA_SHORT) } : {};
    const service = await stage.startWith(env);
    const key = await stage.makeKey(service, "flood", ["evidence:write"]);
    const broken: string[] = [];
    let taken = 0;
    const total = stage.isShort ? SOURCES_SHORT : SOURCES;
    const watched = await stage.watch(service, async () => {
      taken = await flood(stage, service, key, total);
    });
    const figures: Record<string, number> = { ...figuresOf(watched), sources_taken: taken };
    if (taken >= total) broken.push("no source was refused");
    if (watched.during.failed > 0) broken.push("others were not answered");
    if (watched.memoryPeakMib - watched.memoryBeforeMib > MEMORY_MORE_MIB) {
      broken.push(`${Math.round(watched.memoryPeakMib)} MiB of memory`);
    }
    broken.push(...(await afterwards(stage, service, key)));
    return { broken, figures };
  },
};

/** Registers `total` sources; how many were taken. */
async function flood(
  stage: AttackStage,
  service: ServerProcess,
  key: string,
  total: number,
): Promise<number> {
  let next = 0;
  let taken = 0;
  const lane = async () => {
    while (next < total) {
      const from = next;
      next += BATCH;
      const items = Array.from({ length: BATCH }, (_, at) => sourceOf(from + at));
      const reply = await stage.ask(service, "/v1/evidence", { key, body: { items } });
      if (reply.status < 300) taken += BATCH;
      else if (reply.status < 500) throw new Error(`${reply.status} ${reply.text.slice(0, 300)}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return taken;
}

async function afterwards(
  stage: AttackStage,
  service: ServerProcess,
  key: string,
): Promise<string[]> {
  const broken: string[] = [];
  const register = (asked: string, name: string) =>
    stage.ask(service, "/v1/evidence", {
      key: asked,
      body: { items: [{ source_id: name, text: name }] },
    });
  const over = await register(key, "one-more");
  if (over.status !== 507 || !over.text.includes("source_quota_exceeded")) {
    broken.push(`beyond the quota: ${over.status} ${over.text}`);
  }
  const other = await stage.makeKey(service, "honest", ["evidence:write"]);
  const honest = await register(other, "honest-page");
  if (honest.status >= 300) broken.push(`another tenant: ${honest.status} ${honest.text}`);
  for (let at = 0; at < REVOKED; at++) {
    const path = `/v1/evidence/${encodeURIComponent(sourceOf(at).source_id)}`;
    const reply = await stage.ask(service, path, { key, method: "DELETE" });
    if (reply.status >= 300) broken.push(`revoke: ${reply.status} ${reply.text}`);
  }
  for (let at = 0; at <= REVOKED; at++) {
    const reply = await register(key, `again-${at}`);
    if (reply.status < 300 !== at < REVOKED) broken.push(`again ${at}: ${reply.status}`);
  }
  return broken;
}

function sourceOf(at: number): { source_id: string; text: string } {
  return { source_id: `flood-${at}`, text: `Number ${at} of many.` };
}
