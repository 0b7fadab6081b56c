// `trustrank keys set` and `rotate`: changes what a key may do, or gives it a new secret, in the
// files or through the running server.
import { ServiceFault } from "../../contract/faults.ts";
import { KEY_LABEL_LENGTH_MAX } from "../../contract/limits.ts";
import { parseKeyPatch, parseKeyRotation } from "../../contract/parse/requests.ts";
import type { KeyDescription } from "../../contract/schemas/service.ts";
import { TOOL_LEVELS } from "../../contract/vocabulary.ts";
import { openKeyring } from "../../http/access/keyring.ts";
import { CommandFailure, EXIT_USAGE } from "../../service/failure.ts";
import { type DataAccess, runOnFilesOrServer } from "../data-access.ts";
import { printNote, print, printJson } from "../output.ts";
import { assertPlainText, parseScopes } from "./keys-command.ts";

export interface SetFlags {
  /** False: the label goes. */
  readonly label?: string | false;
  readonly scopes?: string;
  /** Epoch ms; false: it never expires. */
  readonly expires?: number | false;
  readonly minimums?: string;
  readonly json?: boolean;
}

type RotatedKey = KeyDescription & { readonly key: string };

const formatKeyPath = (keyId: string) => `/v1/keys/${encodeURIComponent(keyId)}`;
const now = () => Date.now();

/** Changes the members that flags name; the secret stays. */
export async function setKey(access: DataAccess, keyId: string, flags: SetFlags): Promise<void> {
  const patch = buildKeyPatch(flags);
  const changed = await runOnFilesOrServer<KeyDescription>(
    access,
    async (dataDir) => {
      const keyring = await openKeyring({ dataDir, now });
      const { label, scopes, expires_at: expiresAtMs, minimum_scores: minimumScores } = patch;
      const change = { label, scopes, expiresAtMs, minimumScores };
      return (await keyring.change(keyId, change)).description;
    },
    (client) => client.sendJson("PATCH", formatKeyPath(keyId), patch),
  );
  if (flags.json === true) printJson(changed);
  else print(`changed ${changed.key_id} of ${changed.tenant}: ${changed.scopes.join(", ")}`);
}

/** Prints the key's new text alone on stdout, so that a script can take it. */
export async function rotateKey(
  access: DataAccess,
  keyId: string,
  flags: { readonly overlap: number; readonly json?: boolean },
): Promise<void> {
  const request = parseOrFail(() => parseKeyRotation({ overlap_sec: flags.overlap }));
  const rotated = await runOnFilesOrServer<RotatedKey>(
    access,
    async (dataDir) => {
      const keyring = await openKeyring({ dataDir, now });
      const { key, description } = await keyring.rotate(keyId, request.overlap_sec * 1000);
      return { key, ...description };
    },
    (client) => client.sendJson("POST", `${formatKeyPath(keyId)}/rotate`, request),
  );
  if (flags.json === true) {
    printJson(rotated);
    return;
  }
  const end = rotated.overlap_ends_at;
  const former = end === null ? "the former text has ended" : `the former one works until ${end}`;
  printNote(`key ${rotated.key_id} of ${rotated.tenant}, ${former}; the new text, shown once:`);
  print(rotated.key);
}

/** The request that the flags make, by the rules of the route. */
function buildKeyPatch(flags: SetFlags) {
  const { label, scopes, expires, minimums } = flags;
  if (typeof label === "string") assertPlainText("--label", label, KEY_LABEL_LENGTH_MAX);
  if (typeof expires === "number" && expires <= now()) {
    throw new CommandFailure("--expires must lie ahead: to end a key now, revoke it", EXIT_USAGE);
  }
  const body = {
    ...(label === undefined ? {} : { label: label === false ? null : label }),
    ...(scopes === undefined ? {} : { scopes: parseScopes(scopes) }),
    ...(expires === undefined ? {} : { expires_at: expires === false ? null : expires }),
    ...(minimums === undefined ? {} : { minimum_scores: parseMinimumScores(minimums) }),
  };
  return parseOrFail(() => parseKeyPatch(body));
}

const MINIMUM = /^(\w+)=(\d{1,3}(?:\.\d+)?)$/;

/** `L2=600,L3=700`. */
function parseMinimumScores(text: string): Record<string, number> {
  const pairs = text.split(",").map((pair) => {
    const [, level = "", score = ""] = MINIMUM.exec(pair.trim()) ?? [];
    if ((TOOL_LEVELS as readonly string[]).includes(level)) return [level, Number(score)];
    const levels = TOOL_LEVELS.join(", ");
    throw new CommandFailure(
      `--minimums takes levels (${levels}) with scores, such as \`L2=600,L3=700\``,
      EXIT_USAGE,
    );
  });
  return Object.fromEntries(pairs) as Record<string, number>;
}

/** @throws CommandFailure for what the route would refuse. */
function parseOrFail<Request>(parse: () => Request): Request {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof ServiceFault)) throw error;
    throw new CommandFailure(error.detail, EXIT_USAGE);
  }
}
