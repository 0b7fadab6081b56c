// Messages as the published client shows them, without the packages of the service. Made from the
// schemas in src/contract/schemas by `npm run docs:reference`: change those.

export interface WebhookRequest {
  url: string;
  /**
   * left out: all that the endpoint may be told
   */
  events?: (
    | "decision.denied"
    | "review.opened"
    | "agent.fraud_flagged"
    | "key.revoked"
    | "kaizen.promoted"
    | "kaizen.rolled_back"
    | "journal.damaged"
    | "store.lagging"
    | "finding.raised"
  )[];
  /**
   * only this tenant's events; left out: those of every tenant and of the service itself
   */
  tenant?: string;
  description?: string;
}
export interface WebhookPatch {
  url?: string;
  events?: (
    | "decision.denied"
    | "review.opened"
    | "agent.fraud_flagged"
    | "key.revoked"
    | "kaizen.promoted"
    | "kaizen.rolled_back"
    | "journal.damaged"
    | "store.lagging"
    | "finding.raised"
  )[];
  description?: string;
  /**
   * true resumes delivery where the endpoint had stopped
   */
  enabled?: boolean;
  /**
   * true gives up all that waits: the endpoint is told of what comes from now on
   */
  skip_backlog?: boolean;
}
export interface Webhook {
  id: string;
  url: string;
  events: (
    | "decision.denied"
    | "review.opened"
    | "agent.fraud_flagged"
    | "key.revoked"
    | "kaizen.promoted"
    | "kaizen.rolled_back"
    | "journal.damaged"
    | "store.lagging"
    | "finding.raised"
  )[];
  /**
   * null: every tenant, and the service itself
   */
  tenant: string | null;
  description: string | null;
  enabled: boolean;
  /**
   * why it is told nothing: an operator, days of failure, its answer 410, a restored copy, a full list of dead letters
   */
  paused_by: "operator" | "failing" | "gone" | "restored" | "dead_full" | null;
  created_at: string;
  /**
   * events read and not delivered; more may wait in the logs
   */
  waiting: number;
  /**
   * events delivered so far
   */
  delivered: number;
  /**
   * dead letters
   */
  dead: number;
  /**
   * first failure since the last success
   */
  failing_since: string | null;
  last_success_at: string | null;
  /**
   * until then the secret before this one signs, too
   */
  former_secret_until: string | null;
}
export interface WebhookCreated {
  /**
   * `whsec_` and base64; in this answer and nowhere else
   */
  secret: string;
  id: string;
  url: string;
  events: (
    | "decision.denied"
    | "review.opened"
    | "agent.fraud_flagged"
    | "key.revoked"
    | "kaizen.promoted"
    | "kaizen.rolled_back"
    | "journal.damaged"
    | "store.lagging"
    | "finding.raised"
  )[];
  /**
   * null: every tenant, and the service itself
   */
  tenant: string | null;
  description: string | null;
  enabled: boolean;
  /**
   * why it is told nothing: an operator, days of failure, its answer 410, a restored copy, a full list of dead letters
   */
  paused_by: "operator" | "failing" | "gone" | "restored" | "dead_full" | null;
  created_at: string;
  /**
   * events read and not delivered; more may wait in the logs
   */
  waiting: number;
  /**
   * events delivered so far
   */
  delivered: number;
  /**
   * dead letters
   */
  dead: number;
  /**
   * first failure since the last success
   */
  failing_since: string | null;
  last_success_at: string | null;
  /**
   * until then the secret before this one signs, too
   */
  former_secret_until: string | null;
}
export interface WebhookTested {
  /**
   * the `webhook-id` that was sent
   */
  webhook_id: string;
  delivered: boolean;
  /**
   * of the endpoint's answer; null without one
   */
  status: number | null;
  /**
   * what went wrong; empty when it was delivered
   */
  detail: string;
  elapsed_ms: number;
}
export interface WebhookDelivery {
  webhook_id: string;
  type: string;
  at: string;
  /**
   * 1 for the first
   */
  attempt: number;
  delivered: boolean;
  status: number | null;
  detail: string;
  elapsed_ms: number;
}
export interface WebhookDeadLetter {
  webhook_id: string;
  type: string;
  /**
   * after a day of attempts
   */
  died_at: string;
  attempts: number;
  /**
   * what became of the last attempt
   */
  detail: string;
  /**
   * as it is sent
   */
  body: {
    [k: string]: unknown;
  };
}
export interface WebhookRedelivery {
  /**
   * dead letters that wait for delivery again, as many as fit in
   */
  redelivered: number;
  /**
   * those that are left
   */
  dead: number;
}
