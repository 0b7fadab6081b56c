// Every route of the OpenAPI document with every set of scopes: a route answers a key that holds the
// scope which the document states, and refuses every other with 401 or 403. Not one may differ.
import { SCOPES } from "../../../src/contract/vocabulary.ts";
import type { Attack } from "../attack.ts";
import { codeOf } from "../judge.ts";
import { type Operation, readApi } from "../material/requests.ts";
import { requestBytes, Wire } from "../wire.ts";

/** Keys that are none, or no longer, or not quite. */
const BAD_KEYS = ["none", "garbage", "changed", "revoked", "expired"] as const;
/** Access that asks for no scope. */
const OPEN: ReadonlySet<string> = new Set(["none", "key", "optional"]);
/** No object of this name is there, not even a public one that another attack has made. */
const UNKNOWN = "no-such-object";
/** The first millisecond after which such a key has expired: at once. */
const EXPIRES_MS = 1;

export const scopes: Attack = {
  name: "scopes",
  what: "every route is asked with every set of scopes, and with keys that are not valid",
  play: (stage) =>
    stage.watchedOnBoth(async (service) => {
      const { operations } = readApi((await stage.ask(service, "/openapi.json")).text);
      const held = new Map<string, { key: string | undefined; scopes: readonly string[] }>();
      for (const scope of SCOPES) {
        const key = await stage.makeKey(service, "scoped", [scope]);
        held.set(scope, { key, scopes: [scope] });
      }
      const others = SCOPES.filter((scope) => scope !== "admin");
      const everyKey = await stage.makeKey(service, "scoped", others);
      held.set("all but admin", { key: everyKey, scopes: others });
      for (const scope of others) {
        const without = others.filter((each) => each !== scope);
        const key = await stage.makeKey(service, "scoped", without);
        held.set(`all but ${scope}`, { key, scopes: without });
      }
      const bad = await badKeys(stage, service, everyKey);
      const wire = new Wire(service.url);
      const broken: string[] = [];
      let asked = 0;
      for (const operation of operations) {
        for (const [name, { key, scopes: has }] of held) {
          const isOpen = OPEN.has(operation.access);
          const mayAsk = isOpen || has.includes(operation.access) || has.includes("admin");
          const code = codeOf(await wire.send(bytesOf(operation, key), operation));
          asked++;
          const isRefused = code === "insufficient_scope";
          if (isRefused === mayAsk || code === "unauthenticated") {
            broken.push(`${operation.name} with ${name}: ${code || "answered"}`);
          }
        }
        for (const name of BAD_KEYS) {
          const code = codeOf(await wire.send(bytesOf(operation, bad[name]), operation));
          asked++;
          const isOptional = operation.access === "optional" && name === "none";
          const isRefusal = operation.access !== "none" && !isOptional;
          if ((code === "unauthenticated") !== isRefusal) {
            broken.push(`${operation.name} with a key that is ${name}: ${code || "answered"}`);
          }
        }
      }
      wire.close();
      return { broken, figures: { routes: operations.length, asked } };
    }),
};

/** A request that gets past the guards and no further: its body is not a document. */
function bytesOf({ method, path, bodies }: Operation, key: string | undefined): Buffer {
  const hasBody = Object.keys(bodies).length > 0;
  return requestBytes({
    method,
    path: path.replace(/\{\w+\}/, UNKNOWN),
    key,
    headers: hasBody ? { "content-type": "application/json" } : {},
    body: hasBody ? "not a document" : undefined,
  });
}

async function badKeys(
  stage: Parameters<Attack["play"]>[0],
  service: Parameters<typeof stage.ask>[0],
  good: string,
): Promise<Record<(typeof BAD_KEYS)[number], string | undefined>> {
  const made = async (more: object) => {
    const body = { tenant: "scoped", scopes: ["admin"], ...more };
    const reply = await stage.ask(service, "/v1/keys", { body });
    return JSON.parse(reply.text) as { key: string; key_id: string };
  };
  const revoked = await made({});
  await stage.ask(service, `/v1/keys/${revoked.key_id}`, { method: "DELETE" });
  const expired = await made({ expires_at: Date.now() + EXPIRES_MS });
  const at = good.length - 20;
  const changed = good.slice(0, at) + (good[at] === "a" ? "b" : "a") + good.slice(at + 1);
  return { none: undefined, garbage: "x", changed, revoked: revoked.key, expired: expired.key };
}
