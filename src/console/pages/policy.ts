// Policy: what each level lets through. A draft is checked as it is written, tried on history before it is
// saved, and put on record with a reason; earlier ones can be taken up again.
import { getDocument, buildPathWithQuery, sendDocument } from "../api.ts";
import { html, useEffect, useState, type VNode } from "../html.ts";
import { usePageParameters } from "../location.ts";
import { CurlCommand, ConfirmDialog } from "../parts/actions.ts";
import { renderLoaded, Notice } from "../parts/notices.ts";
import { Card, Page } from "../parts/page.ts";
import { Time } from "../parts/words.ts";
import { type BacktestProgress, useBacktest, BacktestStarter } from "./policy/backtest-starter.ts";
import {
  type DraftCheck,
  buildCheckPath,
  useDraftCheck,
  listPolicyDifferences,
  LEVELS,
  parsePolicyText,
  formatPolicyText,
  replaceLevelMember,
  type PolicyDifference,
} from "./policy/draft.ts";
import { AmountsCard } from "./policy/amounts.ts";
import { DraftCard } from "./policy/draft-card.ts";
import { BacktestResults, DEFAULT_QUESTION } from "./policy/findings.ts";
import { VerdictDiffCard } from "./policy/verdict-diff.ts";
import { PolicyDifferences, PolicyVersions } from "./policy/versions.ts";
import { describeUnitOfAccount } from "../parts/amounts.ts";
import { TextInput } from "../parts/fields.ts";
import { useData } from "../use-data.ts";
import type { Policy } from "../../contract/policy.ts";
import type { PolicyDocument } from "../../contract/schemas/policy.ts";
import type { Backtest } from "../../contract/schemas/backtest.ts";
import { formatNumber } from "../format.ts";

interface SaveDialogProps {
  /** What the service makes of the draft. */
  readonly made: PolicyDocument;
  readonly policy: unknown;
  readonly differences: readonly PolicyDifference[];
  readonly backtest: Backtest | undefined;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

function SaveDialog(props: SaveDialogProps): VNode {
  const { made, policy, differences, backtest, onSaved, onClose } = props;
  const { tenant, version } = made;
  const save = async (reason: string) => {
    await sendDocument("PUT", buildPathWithQuery("/v1/policy", { tenant, reason }), policy);
    onSaved();
  };
  const isTried = backtest?.state === "done" && backtest.given_version === version;
  return html`<${ConfirmDialog}
    title=${`Put ${version} in force for ${tenant}?`}
    name=${tenant}
    wantsReason=${true}
    action="Save"
    onConfirm=${save}
    onClose=${onClose}
  >
    <p>${formatNumber(differences.length)} rules change, at once and on every thread.</p>
    ${
      isTried
        ? html`<${BacktestNotice} backtest=${backtest} />`
        : html`<${Notice} kind="warn">
            This draft has not been back-tested. Close this and try it on history first, unless it
            is urgent.
          <//>`
    }
  <//>`;
}

/** What the back-test says of verifies that name no stakes, over the levels that would change. */
function BacktestNotice({ backtest }: { backtest: Backtest }): VNode {
  const changes = (backtest.findings?.changes ?? []).filter(
    (each) =>
      each.question === DEFAULT_QUESTION &&
      each.good_newly_allowed +
        each.bad_newly_allowed +
        each.good_newly_turned_away +
        each.bad_newly_turned_away >
        0,
  );
  if (changes.length === 0) {
    return html`<${Notice} kind="good"
      >Back-tested: no recorded outcome would have been treated otherwise.<//
    >`;
  }
  return html`<${Notice} kind="good">
    Back-tested. On record, it would have:
    <ul>
      ${changes.map(
        (each) =>
          html`<li>
            at ${each.level}: let through ${formatNumber(each.good_newly_allowed)} good and${" "}
            ${formatNumber(each.bad_newly_allowed)} bad more
            (${formatNumber(each.stakes_newly_lost)} ${describeUnitOfAccount()} lost), turned
            away${" "} ${formatNumber(each.good_newly_turned_away)} good and
            ${formatNumber(each.bad_newly_turned_away)} bad more
          </li>`,
      )}
    </ul>
  <//>`;
}

const LEAD =
  "What each tool level lets through. A draft is tried on real verdicts and on the outcomes of the journal before it is saved.";

export default function PolicyPage(): VNode {
  const [{ tenant = "" }] = usePageParameters();
  const data = useData(
    (signal) => getDocument<PolicyDocument>("/v1/policy", { tenant }, signal),
    [tenant],
  );
  return html`<${Page}
    title="Policy"
    lead=${LEAD}
    tools=${html`<${TenantField} tenant=${tenant} />`}
  >
    ${renderLoaded(
      data,
      (live) => html`<${PolicyEditor} key=${live.tenant} live=${live} onSaved=${data.reload} />`,
    )}
  <//>`;
}

function TenantField({ tenant }: { tenant: string }): VNode {
  const [, setParameters] = usePageParameters();
  return html`<label class="dim small" for="tenant">Tenant</label>
    <${TextInput}
      id="tenant"
      value=${tenant}
      placeholder="the key's own"
      onDone=${(named: string) => setParameters({ tenant: named || undefined, backtest: undefined })}
    />`;
}

interface PolicyEditorProps {
  readonly live: PolicyDocument;
  readonly onSaved: () => void;
}

function PolicyEditor({ live, onSaved }: PolicyEditorProps): VNode {
  const { tenant } = live;
  const [text, setText] = useState(() => formatPolicyText(live.policy));
  const [isSaving, setSaving] = useState(false);
  const [saved, setSaved] = useState("");
  // What was saved is what is edited next.
  useEffect(() => setText(formatPolicyText(live.policy)), [live.version]);
  const check = useDraftCheck(tenant, text);
  const [{ backtest: id }] = usePageParameters();
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
    <${AmountsCard} live=${live} check=${check} />
    <${DraftCard}
      ...${{ text, draft, live: live.policy, check }}
      onText=${setText}
      onPolicy=${edit}
    />
    <${DraftChanges}
      ...${{ live, draft, text, check }}
      onPolicy=${edit}
      onSave=${() => setSaving(true)}
    />
    <${VerdictDiffCard} tenant=${tenant} check=${check} />
    <${DraftBacktest} ...${{ live, draft, check, followed }} onPolicy=${edit} />
    <${Card} title="Versions">
      <${PolicyVersions} tenant=${tenant} set=${`${live.version} ${saved}`} onTakeUp=${edit} />
    <//>
    ${
      isSaving &&
      made !== undefined &&
      html`<${SaveDialog}
        made=${made}
        policy=${parsePolicyText(text).value}
        differences=${listPolicyDifferences(live.policy, draft)}
        backtest=${followed.backtest}
        onSaved=${tellSaved}
        onClose=${() => setSaving(false)}
      />`
    }
  `;
}

interface DraftChangesProps {
  readonly live: PolicyDocument;
  readonly draft: Policy;
  readonly text: string;
  readonly check: DraftCheck;
  readonly onPolicy: (policy: Policy) => void;
  readonly onSave: () => void;
}

/** What the draft changes, and the ways to be rid of it or to save it. */
function DraftChanges({ live, draft, text, check, onPolicy, onSave }: DraftChangesProps): VNode {
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
    ${!isSame && html`<${PolicyDifferences} differences=${differences} />`}
    <p class="dim small">
      In force: <code>${live.version}</code>,${" "}
      ${
        live.set_by === null
          ? "as shipped"
          : html`set by <code>${live.set_by}</code> <${Time} at=${live.set_at} as="full" />`
      }
    </p>
    <${CurlCommand}
      method="PUT"
      path=${buildCheckPath(live.tenant)}
      body=${parsePolicyText(text).value ?? {}}
    />
  <//>`;
}

interface DraftBacktestProps {
  readonly live: PolicyDocument;
  readonly draft: Policy;
  readonly check: DraftCheck;
  readonly followed: BacktestProgress;
  readonly onPolicy: (policy: Policy) => void;
}

/** The draft on history. */
function DraftBacktest({ live, draft, check, followed, onPolicy }: DraftBacktestProps): VNode {
  const [parameters, setParameters] = usePageParameters();
  const { question = DEFAULT_QUESTION } = parameters;
  const level = LEVELS.find((each) => each === parameters["level"]) ?? "L2";
  const member = question.startsWith("handshake") ? "allow_handshake_up_to" : "allow_up_to";
  const { backtest } = followed;
  const start = (id: string) => setParameters({ backtest: id });
  const move = (bound: number) => onPolicy(replaceLevelMember(draft, level, member, bound));
  return html`<${Card} title="Back-test">
    <${BacktestStarter} ...${{ tenant: live.tenant, check, followed }} onStarted=${start} />
    ${
      backtest?.state === "done" &&
      html`<${BacktestResults}
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
  const levels = parsePolicyText(text).value?.["levels"] as Policy["levels"] | undefined;
  const isWhole = LEVELS.every((level) => typeof levels?.[level]?.allow_up_to === "number");
  return isWhole ? (parsePolicyText(text).value as unknown as Policy) : undefined;
}
