// One source: its record, the proof of it as the browser checks it, and its withdrawal.
import { get, pathWith, send } from "../../api.ts";
import { bytes, number } from "../../format.ts";
import { html, useState, type VNode } from "../../html.ts";
import { AsCurl, Confirm } from "../../parts/actions.ts";
import { Failure, Loading, Notice } from "../../parts/notices.ts";
import { Card, Facts, Grid } from "../../parts/page.ts";
import { Table } from "../../parts/table.ts";
import { Tag, Text, Time } from "../../parts/words.ts";
import { mayUse } from "../../session.ts";
import { useData } from "../../use-data.ts";
import { check, type Checked, isSigned, leafMembers, type Proof, type Step } from "./proof.ts";

export interface SourceRecord {
  readonly source_id: string;
  readonly sha256: string;
  readonly size: number;
  readonly kind: string;
  readonly title: string;
  readonly tenant: string;
  readonly visibility: string;
  readonly state: string;
  readonly has_text: boolean;
  readonly registered_at: string;
  readonly registrar: string;
  readonly index: number;
  readonly prev_hash: string;
  readonly chain_hash: string;
}

type Proved = SourceRecord & { readonly merkle: Proof };

interface SourceProps {
  readonly id: string;
  readonly tenant: string | undefined;
  readonly onChange: () => void;
}

export function SourceCards({ id, tenant, onChange }: SourceProps): VNode {
  const path = `/v1/evidence/${encodeURIComponent(id)}`;
  const { value, error, reload } = useData(
    (signal) => get<Proved>(path, { tenant }, signal),
    [path, tenant],
  );
  const [isOpen, setIsOpen] = useState(false);
  if (error !== undefined) return html`<${Failure} error=${error} onRetry=${reload} />`;
  if (value === undefined) return html`<${Loading} />`;
  const withdraw = async () => {
    await send("DELETE", pathWith(path, { tenant }));
    reload();
    onChange();
  };
  const mayWithdraw = mayUse("evidence:write") && value.state !== "revoked";
  const tools = html`<button
    type="button"
    disabled=${!mayWithdraw}
    title=${mayWithdraw ? undefined : value.state === "revoked" ? "it is withdrawn" : "needs evidence:write"}
    onClick=${() => setIsOpen(true)}
  >
    Withdraw…
  </button>`;
  return html`<${Grid}>
    <${Card} title=${html`Source <${Text} text=${id} />`} tools=${tools} span=${5}>
      <${Record} record=${value} />
      <${AsCurl} path=${pathWith(path, { tenant })} />
      ${
        isOpen &&
        html`<${Confirm}
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

function Record({ record }: { record: SourceRecord }): VNode {
  return html`<${Facts}
    facts=${[
      ["title", html`<${Text} text=${record.title || "–"} />`],
      ["state", html`<${Tag} word=${record.state} />`],
      ["kind", html`<${Text} text=${record.kind} />`],
      ["size", record.has_text ? bytes(record.size) : "digest alone"],
      ["tenant", html`<${Text} text=${record.tenant} />${" "}<${Tag} word=${record.visibility} />`],
      ["registered", html`<${Time} at=${record.registered_at} as="full" />`],
      ["by key", html`<code>${record.registrar}</code>`],
      ["place in the chain", number(record.index)],
      ["digest of the content", html`<code>${record.sha256}</code>`],
      ["chain before it", html`<code>${record.prev_hash}</code>`],
      ["chain with it", html`<code>${record.chain_hash}</code>`],
    ]}
  />`;
}

const STEP_COLUMNS = [
  { label: "hashed by SHA-256", cell: (row: Step) => row.what },
  {
    label: "neighbour",
    cell: (row: Step) =>
      row.sibling === undefined
        ? html`<span class="dim">–</span>`
        : html`<code title=${row.sibling}>${row.sibling.slice(0, 16)}…</code>`,
  },
  {
    label: "gives",
    cell: (row: Step) => html`<code title=${row.found}>${row.found.slice(0, 16)}…</code>`,
  },
];

interface Outcome extends Checked {
  readonly isSame: boolean;
  readonly isSigned: boolean | undefined;
}

async function prove(proved: Proved, signal: AbortSignal): Promise<Outcome> {
  const { merkle } = proved;
  const { jwk } = await get<{ jwk: JsonWebKey }>("/v1/vault/root", {}, signal);
  const said = leafMembers(merkle.leaf_text);
  const isSame =
    said["source_id"] === proved.source_id &&
    `sha256:${String(said["sha256"])}` === proved.sha256 &&
    said["state"] === proved.state &&
    said["tenant"] === proved.tenant &&
    said["title"] === proved.title &&
    said["registered_at"] === Date.parse(proved.registered_at);
  const checked = await check(merkle, proved.index);
  return { ...checked, isSame, isSigned: await isSigned(merkle, jwk) };
}

function ProofSteps({ proved }: { proved: Proved }): VNode {
  const { value, error } = useData((signal) => prove(proved, signal), []);
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
            ? html`<b>Proved.</b> This record is in the tree of ${number(merkle.tree_size)} records
                under the root below.`
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
    <${Facts}
      facts=${[
        ["root", html`<code>${merkle.root}</code>`],
        ["leaf", html`<code>${merkle.leaf}</code>`],
      ]}
    />
    <details>
      <summary>text of the leaf</summary>
      <pre tabindex="0"><${Text} text=${merkle.leaf_text} /></pre>
    </details>`;
}
