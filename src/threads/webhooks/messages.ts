// Messages between the main thread and the thread that tells webhooks.
import type { WebhookMetrics } from "../../webhooks/endpoint-status.ts";
import type { Webhooks } from "../../contract/webhooks/port.ts";
import { type EncodedFault } from "../../contract/encoded-fault.ts";

export interface WebhookThreadData {
  readonly dataDir: string;
  readonly serviceId: string;
  /** Networks beside the public ones, as the setting has them; empty: none. */
  readonly allowed: string;
  readonly userAgent: string;
  /** Of the ledger thread: how far the journal is on disk; and how far it was at the start. */
  readonly figures: SharedArrayBuffer;
  readonly durable: number;
}

export type WebhookMethodName = keyof Webhooks;

export type MessageToWebhookThread =
  | {
      readonly kind: "call";
      readonly number: number;
      readonly name: WebhookMethodName;
      readonly parameters: readonly unknown[];
    }
  | { readonly kind: "end" };

export type MessageFromWebhookThread =
  | { readonly kind: "answer"; readonly number: number; readonly value: unknown }
  | { readonly kind: "refusal"; readonly number: number; readonly fault: EncodedFault }
  | { readonly kind: "figures"; readonly figures: WebhookMetrics }
  | { readonly kind: "log"; readonly event: string; readonly detail: string };
