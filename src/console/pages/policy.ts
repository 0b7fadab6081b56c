// Policy: what each level lets through. A draft is checked as it is written, tried on history before it is
// saved, and put on record with a reason; earlier ones can be taken up again.
import { get } from "../api.ts";
import { html, useEffect, useState, type VNode } from "../html.ts";
import { useParameters } from "../location.ts";
import { AsCurl } from "../parts/actions.ts";
import { Failure, Loading } from "../parts/notices.ts";
import { Card, Page } from "../parts/page.ts";
import { Time } from "../parts/words.ts";
import { type Followed, useBacktest } from "../policy/backtest.ts";
import { type Check, checkPath, useCheck } from "../policy/check.ts";
import {
  listPolicyDifferences,
  LEVELS,
  type PolicyDocument,
  readText,
  formatPolicyText,
  withMember,
} from "../policy/draft.ts";
import { DraftCard } from "../policy/draft-card.ts";
import { Findings, QUESTION_FIRST } from "../policy/findings.ts";
import { SaveDialog } from "../policy/save-dialog.ts";
import { TryCard } from "../policy/try-card.ts";
import { Differences, Versions } from "../policy/versions.ts";
import { Typed } from "../parts/typed.ts";
import { useData } from "../use-data.ts";
import type { Policy } from "../../contract/policy.ts";

const LEAD =
  "What each tool level lets through. A draft is tried on the outcomes of the journal before it is saved.";

export default function PolicyPage(): VNode {
  const [{ tenant = "" }] = useParameters();
  const { value, error, reload } = useData(
    (signal) => get<PolicyDocument>("/v1/policy", { tenant }, signal),
    [tenant],
  );
  return html`<${Page}
    title="Policy"
    lead=${LEAD}
    tools=${html`<${TenantField} tenant=${tenant} />`}
  >
    ${error !== undefined && html`<${Failure} error=${error} onRetry=${reload} />`}
    ${
      value === undefined
        ? error === undefined && html`<${Loading} />`
        : html`<${Workshop} key=${value.tenant} live=${value} onSaved=${reload} />`
    }
  <//>`;
}

function TenantField({ tenant }: { tenant: string }): VNode {
  const [, setParameters] = useParameters();
  return html`<label class="dim small" for="tenant">Tenant</label>
    <${Typed}
      id="tenant"
      value=${tenant}
      placeholder="the key's own"
      onDone=${(named: string) => setParameters({ tenant: named || undefined, backtest: undefined })}
    />`;
}

interface WorkshopProps {
  readonly live: PolicyDocument;
  readonly onSaved: () => void;
}

function Workshop({ live, onSaved }: WorkshopProps): VNode {
  const { tenant } = live;
  const [text, setText] = useState(() => formatPolicyText(live.policy));
  const [isSaving, setSaving] = useState(false);
  const [saved, setSaved] = useState("");
  // What was saved is what is edited next.
  useEffect(() => setText(formatPolicyText(live.policy)), [live.version]);
  const check = useCheck(tenant, text);
  const [{ backtest: id }] = useParameters();
  const followed = useBacktest(id);
  const draft = parseWholePolicy(text) ?? check.made?.policy ?? live.policy;
  const edit = (policy: unknown) => setText(formatPolicyText(policy));
  const { made } = check;
  const tellSaved = () => {
    onSaved();
    // The rows follow the journal within a second.
    setTimeout(() => setSaved(new Date().toISOString()), 1500);
  };
  return html`
    <${DraftCard}
      ...${{ text, draft, live: live.policy, check }}
      onText=${setText}
      onPolicy=${edit}
    />
    <${Changes}
      ...${{ live, draft, text, check }}
      onPolicy=${edit}
      onSave=${() => setSaving(true)}
    />
    <${Trial} ...${{ live, draft, check, followed }} onPolicy=${edit} />
    <${Card} title="Versions">
      <${Versions} tenant=${tenant} set=${`${live.version} ${saved}`} onTakeUp=${edit} />
    <//>
    ${
      isSaving &&
      made !== undefined &&
      html`<${SaveDialog}
        made=${made}
        policy=${readText(text).value}
        differences=${listPolicyDifferences(live.policy, draft)}
        backtest=${followed.backtest}
        onSaved=${tellSaved}
        onClose=${() => setSaving(false)}
      />`
    }
  `;
}

interface ChangesProps {
  readonly live: PolicyDocument;
  readonly draft: Policy;
  readonly text: string;
  readonly check: Check;
  readonly onPolicy: (policy: Policy) => void;
  readonly onSave: () => void;
}

/** What the draft changes, and the ways to be rid of it or to save it. */
function Changes({ live, draft, text, check, onPolicy, onSave }: ChangesProps): VNode {
  const differences = listPolicyDifferences(live.policy, draft);
  const isSame = differences.length === 0;
  const isUntouched = text === formatPolicyText(live.policy);
  const isReady = !isSame && !check.isAsking && check.made !== undefined;
  const tools = html`
    <button type="button" disabled=${isUntouched} onClick=${() => onPolicy(live.policy)}>
      Discard
    </button>
    <button type="button" class="primary" disabled=${!isReady} onClick=${onSave}>Save…</button>
  `;
  const title = isSame ? "No changes yet" : `Changes (${differences.length})`;
  return html`<${Card} title=${title} tools=${tools}>
    ${!isSame && html`<${Differences} differences=${differences} />`}
    <p class="dim small">
      In force: <code>${live.version}</code>,${" "}
      ${
        live.set_by === null
          ? "as shipped"
          : html`set by <code>${live.set_by}</code> <${Time} at=${live.set_at} as="full" />`
      }
    </p>
    <${AsCurl} method="PUT" path=${checkPath(live.tenant)} body=${readText(text).value ?? {}} />
  <//>`;
}

interface TrialProps {
  readonly live: PolicyDocument;
  readonly draft: Policy;
  readonly check: Check;
  readonly followed: Followed;
  readonly onPolicy: (policy: Policy) => void;
}

/** The draft on history. */
function Trial({ live, draft, check, followed, onPolicy }: TrialProps): VNode {
  const [parameters, setParameters] = useParameters();
  const { question = QUESTION_FIRST } = parameters;
  const level = LEVELS.find((each) => each === parameters["level"]) ?? "L2";
  const member = question.startsWith("handshake") ? "allow_handshake_up_to" : "allow_up_to";
  const { backtest } = followed;
  const start = (id: string) => setParameters({ backtest: id });
  const move = (bound: number) => onPolicy(withMember(draft, level, member, bound));
  return html`<${Card} title="Back-test">
    <${TryCard} ...${{ tenant: live.tenant, check, followed }} onStarted=${start} />
    ${
      backtest?.state === "done" &&
      html`<${Findings}
        ...${{ backtest, question, level }}
        onChoice=${setParameters}
        bound=${draft.levels[level][member]}
        liveBound=${live.policy.levels[level][member]}
        onBound=${move}
      />`
    }
  <//>`;
}

/** The policy that the text says, where it has all levels; the service fills in what is left out. */
function parseWholePolicy(text: string): Policy | undefined {
  const levels = readText(text).value?.["levels"] as Policy["levels"] | undefined;
  const isWhole = LEVELS.every((level) => typeof levels?.[level]?.allow_up_to === "number");
  return isWhole ? (readText(text).value as unknown as Policy) : undefined;
}
