// Outcomes in the name of a reporter who has a key, under signatures that the reporter never made,
// outcomes of a reporter with attestations that nobody made, and keys that make a signature prove
// nothing. Not one may be recorded, nor counted as signed.
import { createHash } from "node:crypto";
import type { Attack } from "../attack.ts";
import type { ServerProcess } from "../../../bench/server-process.ts";
import {
  forgeries,
  headerOf,
  newPair,
  proofOf,
  sealed,
  type SigningPair,
  weakKeys,
} from "../material/signatures.ts";
import { attestationOf, forgedAttestations } from "../material/attestations.ts";
import type { AttackStage } from "../stage.ts";

const SUBJECT = "agent://acme/ledger-sync";

export const forgedSignatures: Attack = {
  name: "forged-signatures",
  what: "outcomes under signatures that their reporter never made, attestations that nobody made, and keys of small order",
  play: (stage) =>
    stage.watchedOnBoth(async (service, adapter) => {
      const broken: string[] = [];
      const { text } = await stage.ask(service, "/healthz");
      const { service_id: audience } = JSON.parse(text) as { service_id: string };
      const key = await stage.makeKey(service, `forger-${adapter}`, ["outcomes:write"]);
      const reporter = `agent://victim-${adapter}/buyer`;
      const [victim, registered, unknown] = [newPair(), newPair(), newPair()];
      await register(stage, service, reporter, victim, audience);
      await register(stage, service, `agent://victim-${adapter}/other`, registered, audience);
      const bodyOf = (id: string) =>
        JSON.stringify({ subject: SUBJECT, reporter, outcome: 0, stakes: 5, grade: "escrow", id });
      const post = (body: string, signature: string) =>
        stage.ask(service, "/v1/outcomes", {
          key,
          body,
          headers: { "content-type": "application/json", "x-jws-signature": signature },
        });
      // What is forged is taken when its owner signs it: else nothing would be shown.
      const own = bodyOf("own");
      const seen = sealed(victim, headerOf(victim.kid, audience), own);
      const taken = await post(own, seen);
      if (taken.status !== 201) broken.push(`the owner's own was refused: ${taken.text}`);
      const forged = { victim, registered, unknown, audience, body: bodyOf("forged"), seen };
      let tried = 0;
      for (const [name, signature] of forgeries(forged)) {
        tried++;
        const { status, text: answer } = await post(forged.body, signature);
        if (status < 400 || status >= 500) broken.push(`${name}: ${status} ${answer}`);
      }
      const attested = await reportForgedAttestations(
        stage,
        { service, reporter, audience },
        (body) => post(body, sealed(victim, headerOf(victim.kid, audience), body)),
      );
      broken.push(...attested.broken);
      const keys = weakKeys(unknown);
      for (const [name, jwk] of keys) {
        const status = await registerWeak(stage, service, jwk, unknown, audience);
        if (status < 400 || status >= 500) broken.push(`${name}: ${status}`);
      }
      const recorded = await recordedBy(stage, service, reporter);
      if (recorded !== 2) broken.push(`${recorded} outcomes of the victim are recorded, not two`);
      const attestations = attested.count;
      return { broken, figures: { signatures: tried, attestations, keys: keys.length } };
    }),
};

/** What a reporter sends that would have its own word attested; then one that holds, twice. */
async function reportForgedAttestations(
  stage: AttackStage,
  at: { service: ServerProcess; reporter: string; audience: string },
  post: (body: string) => Promise<{ status: number; text: string }>,
): Promise<{ broken: string[]; count: number }> {
  const { service, reporter, audience } = at;
  const [, , namespace = ""] = reporter.split("/");
  const subject = `agent://seller-of-${namespace}/one`;
  for (const name of [namespace, `seller-of-${namespace}`]) {
    await stage.ask(service, `/v1/namespaces/${name}`, { method: "PUT", body: { tenant: name } });
  }
  const [owner, own, unknown] = [newPair(), newPair(), newPair()];
  await register(stage, service, subject, owner, audience);
  await register(stage, service, `agent://${namespace}/clerk`, own, audience);
  const settled = { subject, reporter, outcome: 1, stakes: 5, settled_at: Date.now() };
  const transaction = { ...settled, transaction_id: "deal-1" };
  const send = (attestation: string) =>
    post(JSON.stringify({ ...settled, grade: "counterparty", attestation }));
  const broken: string[] = [];
  let count = 0;
  const forgers = { owner, reporter: own, unknown, audience, transaction };
  for (const [name, attestation] of forgedAttestations(forgers)) {
    count++;
    const { status, text } = await send(attestation);
    if (status !== 400 || !text.includes("attestation_")) broken.push(`${name}: ${status} ${text}`);
  }
  for (const expected of [201, 200]) {
    const { status, text } = await send(attestationOf(owner, audience, transaction));
    if (status !== expected) broken.push(`the owner's attestation: ${status} ${text}`);
  }
  return { broken, count };
}

/** Registers a key as the operator does. */
async function register(
  stage: AttackStage,
  service: ServerProcess,
  agent: string,
  pair: SigningPair,
  audience: string,
): Promise<void> {
  const keys = `/v1/agents/${encodeURIComponent(agent)}/keys`;
  const asked = await stage.ask(service, `${keys}/nonce`, { body: {} });
  const { nonce } = JSON.parse(asked.text) as { nonce: string };
  const jwk = { kty: "OKP", crv: "Ed25519", x: pair.x };
  const body = { jwk, proof: proofOf(pair, pair.kid, nonce, audience, false) };
  const { status, text } = await stage.ask(service, keys, { method: "PUT", body });
  if (status !== 200) throw new Error(`the key of ${agent}: ${text}`);
}

async function registerWeak(
  stage: AttackStage,
  service: ServerProcess,
  jwk: object,
  pair: SigningPair,
  audience: string,
): Promise<number> {
  const keys = `/v1/agents/${encodeURIComponent("agent://weak/agent")}/keys`;
  const asked = await stage.ask(service, `${keys}/nonce`, { body: {} });
  const { nonce } = JSON.parse(asked.text) as { nonce: string };
  const x = String((jwk as { x?: unknown }).x);
  const canonical = `{"crv":"Ed25519","kty":"OKP","x":"${x}"}`;
  const kid = createHash("sha256").update(canonical).digest("base64url");
  const body = { jwk, proof: proofOf(pair, kid, nonce, audience, true) };
  return (await stage.ask(service, keys, { method: "PUT", body })).status;
}

async function recordedBy(
  stage: AttackStage,
  service: ServerProcess,
  reporter: string,
): Promise<number> {
  const end = await stage.ask(service, "/v1/outcomes", {
    body: { subject: SUBJECT, reporter: "agent://end/x", outcome: 1, stakes: 1, grade: "self" },
  });
  const { position } = JSON.parse(end.text) as { position: number };
  const sql = `SELECT count(*) FROM outcomes WHERE reporter = '${reporter}'`;
  const path = `/v1/query?min_position=${position}`;
  const { text } = await stage.ask(service, path, { body: { sql } });
  return (JSON.parse(text) as { rows: number[][] }).rows[0]![0]!;
}
