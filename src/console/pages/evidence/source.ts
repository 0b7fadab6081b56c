// One source: its record, its inclusion proof, and its withdrawal. The browser checks the proof itself,
// by SHA-256 and Ed25519 of WebCrypto: the service that made the proof has no part in it.
import type {
  EvidenceProof,
  EvidenceRecord,
  SignedRoot,
} from "../../../contract/schemas/sources.ts";
import { getDocument, buildPathWithQuery, sendDocument } from "../../api.ts";
import { formatBytes, formatNumber } from "../../format.ts";
import { html, useState, type VNode } from "../../html.ts";
import { CurlCommand, ConfirmDialog } from "../../parts/actions.ts";
import { Failure, Loading, Notice } from "../../parts/notices.ts";
import { Card, FactList, Grid } from "../../parts/page.ts";
import { type Column, Table } from "../../parts/table.ts";
import { Tag, UntrustedText, Time } from "../../parts/words.ts";
import { hasAnyScope } from "../../session.ts";
import { useData } from "../../use-data.ts";

type InclusionProof = EvidenceProof["merkle"];

interface ProofStep {
  /** What is hashed, in words. */
  readonly what: string;
  /** The neighbour that the path gives; none for the leaf. */
  readonly sibling?: string;
  /** The hash that comes of it, 64 hex digits. */
  readonly found: string;
}

interface ProofCheck {
  readonly steps: readonly ProofStep[];
  /** Whether the hash of the text is the leaf that the proof names. */
  readonly isLeaf: boolean;
  /** Whether the path ends in the root. */
  readonly isRoot: boolean;
}

/** Hashes the leaf's text up the path as RFC 6962 says, for the record at `index`. */
async function checkInclusionProof(proof: InclusionProof, index: number): Promise<ProofCheck> {
  let found = await sha256([0], new TextEncoder().encode(proof.leaf_text));
  const steps: ProofStep[] = [{ what: "leaf: byte 0, then the text", found: hex(found) }];
  const isLeaf = formatSha256Name(found) === proof.leaf;
  let [at, last] = [index, proof.tree_size - 1];
  let isTooLong = at > last;
  for (const sibling of proof.path) {
    isTooLong ||= last === 0;
    const isRight = at % 2 === 1 || at === last;
    const other = decodeSha256Name(sibling);
    found = await (isRight ? sha256([1], other, found) : sha256([1], found, other));
    const what = isRight ? "byte 1, neighbour, hash above" : "byte 1, hash above, neighbour";
    steps.push({ what, sibling: hex(other), found: hex(found) });
    while (isRight && at % 2 === 0 && at !== 0) [at, last] = halveBoth(at, last);
    [at, last] = halveBoth(at, last);
  }
  const isRoot = !isTooLong && last === 0 && formatSha256Name(found) === proof.root;
  return { steps, isLeaf, isRoot };
}

/** Whether the bureau's key signed this root at this size; undefined where the browser cannot tell. */
async function isRootSigned(proof: InclusionProof, jwk: JsonWebKey): Promise<boolean | undefined> {
  const [head = "", body = "", signature = ""] = proof.jws.split(".");
  try {
    const algorithm = { name: "Ed25519" };
    const { kty, crv, x } = jwk as { kty: string; crv: string; x: string };
    const key = await crypto.subtle.importKey("jwk", { kty, crv, x }, algorithm, false, ["verify"]);
    const signed = new TextEncoder().encode(`${head}.${body}`);
    const isGood = await crypto.subtle.verify(algorithm, key, decodeBase64Url(signature), signed);
    const { root, tree_size: size } = JSON.parse(
      new TextDecoder().decode(decodeBase64Url(body)),
    ) as InclusionProof;
    return isGood && root === proof.root && size === proof.tree_size;
  } catch (error) {
    if (error instanceof DOMException && error.name === "NotSupportedError") return undefined;
    return false;
  }
}

/** What the text of a leaf says, by the names of the record's members. */
function parseLeafText(text: string): Readonly<Record<string, unknown>> {
  const names =
    "source_id,sha256,size,kind,title,tenant,visibility,state,registered_at,registrar,prev_hash".split(
      ",",
    );
  try {
    const values = JSON.parse(text) as unknown[];
    return Object.fromEntries(names.map((name, at) => [name, values[at]]));
  } catch {
    return {};
  }
}

const halveBoth = (at: number, last: number): [number, number] => [
  Math.floor(at / 2),
  Math.floor(last / 2),
];

async function sha256(
  ...parts: readonly (Uint8Array | readonly number[])[]
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = Uint8Array.from(parts.flatMap((part) => [...part]));
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

function decodeSha256Name(name: string): Uint8Array {
  const digits = name.replace("sha256:", "").match(/../g) ?? [];
  return Uint8Array.from(digits, (pair) => Number.parseInt(pair, 16));
}

const hex = (bytes: Uint8Array) =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const formatSha256Name = (bytes: Uint8Array) => `sha256:${hex(bytes)}`;

function decodeBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (letter) => letter.charCodeAt(0));
}

interface SourceCardsProps {
  readonly id: string;
  readonly tenant: string | undefined;
  readonly onChange: () => void;
}

export function SourceCards({ id, tenant, onChange }: SourceCardsProps): VNode {
  const path = `/v1/evidence/${encodeURIComponent(id)}`;
  const { value, error, reload } = useData(
    (signal) => getDocument<EvidenceProof>(path, { tenant }, signal),
    [path, tenant],
  );
  const [isOpen, setIsOpen] = useState(false);
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (value === undefined) return html`<${Loading} />`;
  const withdraw = async () => {
    await sendDocument("DELETE", buildPathWithQuery(path, { tenant }));
    reload();
    onChange();
  };
  const mayWithdraw = hasAnyScope("evidence:write") && value.state !== "revoked";
  const tools = html`<button
    type="button"
    disabled=${!mayWithdraw}
    title=${mayWithdraw ? undefined : value.state === "revoked" ? "it is withdrawn" : "needs evidence:write"}
    onClick=${() => setIsOpen(true)}
  >
    Withdraw…
  </button>`;
  return html`<${Grid}>
    <${Card} title=${html`Source <${UntrustedText} text=${id} />`} tools=${tools} span=${5}>
      <${SourceFacts} record=${value} />
      <${CurlCommand} path=${buildPathWithQuery(path, { tenant })} />
      ${
        isOpen &&
        html`<${ConfirmDialog}
          title="Withdraw this source"
          name=${id}
          action="Withdraw"
          isDangerous=${true}
          onConfirm=${withdraw}
          onClose=${() => setIsOpen(false)}
        >
          <p>
            From now on citing it verifies nothing. The record of it stays in the chain, and the
            same id may be registered again.
          </p>
        <//>`
      }
    <//>
    <${Card} title="Proof, checked here in your browser" span=${7}>
      <${ProofSteps} key=${value.merkle.jws} proved=${value} />
    <//>
  <//>`;
}

function SourceFacts({ record }: { record: EvidenceRecord }): VNode {
  return html`<${FactList}
    facts=${[
      ["title", html`<${UntrustedText} text=${record.title || "–"} />`],
      ["state", html`<${Tag} word=${record.state} />`],
      ["kind", html`<${UntrustedText} text=${record.kind} />`],
      ["size", record.has_text ? formatBytes(record.size) : "digest alone"],
      [
        "tenant",
        html`<${UntrustedText} text=${record.tenant} />${" "}<${Tag} word=${record.visibility} />`,
      ],
      ["registered", html`<${Time} at=${record.registered_at} as="full" />`],
      ["by key", html`<code>${record.registrar}</code>`],
      ["place in the chain", formatNumber(record.index)],
      ["digest of the content", html`<code>${record.sha256}</code>`],
      ["chain before it", html`<code>${record.prev_hash}</code>`],
      ["chain with it", html`<code>${record.chain_hash}</code>`],
    ]}
  />`;
}

const STEP_COLUMNS: readonly Column<ProofStep>[] = [
  { label: "hashed by SHA-256", cell: (row) => row.what },
  {
    label: "neighbour",
    cell: (row) =>
      row.sibling === undefined
        ? html`<span class="dim">–</span>`
        : html`<code title=${row.sibling}>${row.sibling.slice(0, 16)}…</code>`,
  },
  {
    label: "gives",
    cell: (row) => html`<code title=${row.found}>${row.found.slice(0, 16)}…</code>`,
  },
];

interface SourceProofCheck extends ProofCheck {
  readonly isSame: boolean;
  readonly isSigned: boolean | undefined;
}

async function checkSourceProof(
  proved: EvidenceProof,
  signal: AbortSignal,
): Promise<SourceProofCheck> {
  const { merkle } = proved;
  const { jwk } = await getDocument<SignedRoot>("/v1/vault/root", {}, signal);
  const said = parseLeafText(merkle.leaf_text);
  const isSame =
    said["source_id"] === proved.source_id &&
    `sha256:${String(said["sha256"])}` === proved.sha256 &&
    said["state"] === proved.state &&
    said["tenant"] === proved.tenant &&
    said["title"] === proved.title &&
    said["registered_at"] === Date.parse(proved.registered_at);
  const checked = await checkInclusionProof(merkle, proved.index);
  return { ...checked, isSame, isSigned: await isRootSigned(merkle, jwk) };
}

function ProofSteps({ proved }: { proved: EvidenceProof }): VNode {
  const { value, error } = useData((signal) => checkSourceProof(proved, signal), []);
  const { merkle } = proved;
  if (error !== undefined) return html`<${Failure} error=${error} />`;
  if (value === undefined) return html`<${Loading} />`;
  const isProved = value.isRoot && value.isLeaf && value.isSame;
  const isGood = isProved && value.isSigned !== false;
  const line = (is: boolean | undefined, yes: string, no: string) =>
    html`<li>
      <${Tag}
        word=${is === undefined ? "not checked" : is ? "equal" : "not equal"}
        tone=${is === undefined ? "warn" : is ? "allow" : "deny"}
      />${" "} ${is === false ? no : yes}
    </li>`;
  return html`<${Notice} kind=${isGood ? "good" : "bad"}>
      <p>
        ${
          isGood
            ? html`<b>Proved.</b> This record is in the tree of ${formatNumber(merkle.tree_size)}
                records under the root below.`
            : html`<b>Not proved.</b> What the service sent does not hold together; do not rely on
                it.`
        }
      </p>
    <//>
    <ul class="plain-list">
      ${line(value.isSame, "the leaf's text says what the record says", "the leaf's text says something else than the record")}
      ${line(value.isLeaf, "its hash is the leaf that the proof names", "its hash is another leaf than the proof names")}
      ${line(value.isRoot, "the path ends in the root", "the path ends elsewhere than in the root")}
      ${line(
        value.isSigned,
        value.isSigned === undefined
          ? "the root's signature: this browser knows no Ed25519"
          : "the root is signed by the bureau’s key, at this size",
        "the root’s signature does not hold",
      )}
    </ul>
    <${Table} label="steps of the proof" columns=${STEP_COLUMNS} rows=${value.steps} />
    <${FactList}
      facts=${[
        ["root", html`<code>${merkle.root}</code>`],
        ["leaf", html`<code>${merkle.leaf}</code>`],
      ]}
    />
    <details>
      <summary>text of the leaf</summary>
      <pre tabindex="0"><${UntrustedText} text=${merkle.leaf_text} /></pre>
    </details>`;
}
