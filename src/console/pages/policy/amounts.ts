// Amounts that decide: those in force beside those of the draft, and fields for the numbers that a tenant
// sets first. What is left out follows from these.
import type { Policy } from "../../../contract/policy.ts";
import type { PolicyDocument } from "../../../contract/schemas/policy.ts";
import { formatNumber, formatPercent } from "../../format.ts";
import { html, type VNode } from "../../html.ts";
import {
  describeUnit,
  describeUnitOfAccount,
  formatAmount,
  nameUnit,
} from "../../parts/amounts.ts";
import { Field } from "../../parts/fields.ts";
import { Notice } from "../../parts/notices.ts";
import { Card } from "../../parts/page.ts";
import { type Column, Table } from "../../parts/table.ts";
import { type DraftCheck, type DraftProblem, replaceStakesMember } from "./draft.ts";

type Terms = PolicyDocument["stakes_in_force"]["L2"];
const COLUMNS = ["connect", "L2", "L3"] as const;
const COLUMN_LABELS = { connect: "check, handshake", L2: "L2", L3: "L3" } as const;

interface AmountRow {
  readonly label: string;
  /** With its unit; `unit` is the name of that of amounts. */
  readonly say: (terms: Terms, unit: string) => string;
}

const ROWS: readonly AmountRow[] = [
  {
    label: "a person's look costs",
    say: (terms, unit) => `${formatAmount(terms.review_cost)} ${unit}`,
  },
  {
    label: "verifying costs",
    say: (terms, unit) => `${formatAmount(terms.verification_cost)} ${unit}`,
  },
  {
    label: "tolerated loss of a good deal's volume",
    say: (terms) => formatPercent(terms.tolerated_loss_bps / 10_000, 4),
  },
  {
    label: "stakes assumed where none are named, and at least",
    say: (terms, unit) => `${formatAmount(terms.assumed)} ${unit}`,
  },
  {
    label: "loss that weighs twice its amount",
    say: (terms, unit) => `${formatAmount(terms.risk_tolerance)} ${unit}`,
  },
  {
    label: "share of the stakes that a failure loses",
    say: (terms) => formatPercent(terms.loss_share),
  },
  {
    label: "share of a good deal that a person's look costs",
    say: (terms) => formatPercent(terms.review_friction, 2),
  },
  {
    label: "verified again when silent for",
    say: (terms) => `${formatNumber(terms.stale_after_days)} days`,
  },
];

interface AmountsCardProps {
  readonly live: PolicyDocument;
  readonly check: DraftCheck;
}

/** The amounts in force, and what the draft would make of them where that is another. */
export function AmountsCard({ live, check }: AmountsCardProps): VNode {
  const { stakes_in_force: inForce } = live;
  const unit = nameUnit(inForce.unit);
  const draftUnit = nameUnit(check.made?.stakes_in_force.unit ?? inForce.unit);
  const columns: readonly Column<AmountRow>[] = [
    { label: "amount", cell: ({ label }) => label },
    ...COLUMNS.map((name): Column<AmountRow> => ({
      label: COLUMN_LABELS[name],
      isNumber: true,
      cell: ({ say }) => {
        const now = say(inForce[name], unit);
        const drafted =
          check.made === undefined ? now : say(check.made.stakes_in_force[name], draftUnit);
        if (now === drafted) return now;
        return html`${now} <span class="dim">draft:</span> <b>${drafted}</b>`;
      },
    })),
  ];
  return html`<${Card} title="Amounts in force">
    ${
      !inForce.is_set &&
      html`<${Notice} kind="warn">
        What a person's look at one deal costs is not set: the shipped
        ${` ${formatNumber(inForce.connect.review_cost, 2)} ${unit}`} holds, and stakes are taken as
        amounts in ${describeUnitOfAccount()}.
      <//>`
    }
    <div class="stacked">
      <${Table} label="amounts in force" columns=${columns} rows=${ROWS} />
    </div>
    <p class="dim small">${describeUnit(inForce.unit)}</p>
  <//>`;
}

interface StakesField {
  readonly member: "review_cost" | "tolerated_loss_bps" | "unit";
  readonly label: string;
  readonly hint: (value: number | undefined) => string;
  /** Shown where the policy says nothing. */
  readonly shipped: string;
}

const FIELDS: readonly StakesField[] = [
  {
    member: "review_cost",
    label: "A person's look costs",
    hint: () => "amount for one deal; the other amounts follow from it",
    shipped: "5",
  },
  {
    member: "tolerated_loss_bps",
    label: "Tolerated loss, basis points",
    hint: (value = 250) => `${formatPercent(value / 10_000, 2)} of a good deal's volume`,
    shipped: "250",
  },
  {
    member: "unit",
    label: "Unit of the amounts",
    hint: () => `${describeUnitOfAccount()} that one of your units is worth`,
    shipped: "1",
  },
];

interface StakesFieldsProps {
  readonly policy: Policy;
  readonly live: Policy;
  readonly wrong: readonly DraftProblem[];
  readonly onPolicy: (policy: Policy) => void;
}

/** The two main numbers and the unit of the draft; an empty field leaves the member out. */
export function StakesFields({ policy, live, wrong, onPolicy }: StakesFieldsProps): VNode {
  return html`<div class="filters stakes">
    ${FIELDS.map(({ member, label, hint, shipped }) => {
      const value = policy.stakes?.[member];
      const isChanged = value !== live.stakes?.[member];
      const isWrong = wrong.some(({ pointer }) => pointer.endsWith(`/stakes/${member}`));
      const id = `stakes-${member}`;
      return html`<div class=${isChanged ? "changed" : ""}>
        <${Field} id=${id} label=${label} hint=${hint(value)}>
          <input
            id=${id}
            type="number"
            min="0"
            step="any"
            placeholder=${`${shipped}, as shipped`}
            aria-describedby=${`${id}-hint`}
            aria-invalid=${isWrong ? "true" : undefined}
            value=${value ?? ""}
            onInput=${(event: Event) => {
              const { value: typed, valueAsNumber, validity } = event.target as HTMLInputElement;
              if (typed === "" && validity.badInput) return;
              onPolicy(
                replaceStakesMember(policy, member, typed === "" ? undefined : valueAsNumber),
              );
            }}
          />
        <//>
      </div>`;
    })}
  </div>`;
}
