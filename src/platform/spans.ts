// Spans for an OpenTelemetry collector, by OTLP over HTTP. Loaded only where an endpoint is named: the only
// file that imports the SDK. Who decides which requests have a span, and under which ids, is the caller.
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { detectResources, envDetector, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type SpanExporter,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { withDeadline } from "../concurrency/deadline.ts";

/** Spans that wait to be sent; further ones are dropped. */
export const SPANS_WAITING_MAX = 8192;
const BATCH_MAX = 512;
const SEND_EVERY_MS = 1000;
const SEND_MS_MAX = 10_000;
const MS_PER_S = 1000;
const NS_PER_MS = 1_000_000;

export interface FinishedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Id of the caller's span. */
  readonly parentId: string | undefined;
  /** Epoch ms. */
  readonly startedMs: number;
  readonly durationMs: number;
  /** Undefined ones are left out. */
  readonly attributes: Readonly<Record<string, string | number | undefined>>;
  readonly isFailed: boolean;
}

export interface SpansOptions {
  /** Where to send to, `/v1/traces` included. Headers and compression are the SDK's own variables. */
  readonly url: string;
  readonly version: string;
  /** Called once when spans cannot be sent, and once when they can again. */
  readonly onFailure: (why: string) => void;
  readonly onRecovery: () => void;
}

export interface Spans {
  /** Takes one; returns at once. */
  add(span: FinishedSpan): void;
  /** Sends what waits, for at most `msMax`. */
  close(msMax: number): Promise<void>;
}

/** Starts sending. `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` win over the service's own names. */
export function openSpans(options: SpansOptions): Spans {
  // Asked for in the moment in which a span is made.
  const next = { traceId: "", spanId: "" };
  const exporter = reportExportFailures(new OTLPTraceExporter({ url: options.url }), options);
  const own = { "service.name": "trustrank", "service.version": options.version };
  const provider = new TracerProvider({
    resource: resourceFromAttributes(own).merge(detectResources({ detectors: [envDetector] })),
    sampler: new AlwaysOnSampler(),
    idGenerator: { generateTraceId: () => next.traceId, generateSpanId: () => next.spanId },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter,
        maxQueueSize: SPANS_WAITING_MAX,
        maxExportBatchSize: BATCH_MAX,
        scheduledDelayMillis: SEND_EVERY_MS,
        exportTimeoutMillis: SEND_MS_MAX,
      }),
    ],
  });
  const tracer = provider.getTracer("trustrank", options.version);
  return {
    add(finished) {
      const { traceId, spanId, parentId, startedMs, durationMs, attributes } = finished;
      next.traceId = traceId;
      next.spanId = spanId;
      const parent =
        parentId === undefined
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, {
              traceId,
              spanId: parentId,
              traceFlags: TraceFlags.SAMPLED,
              isRemote: true,
            });
      const startTime = convertToHrTime(startedMs);
      const span = tracer.startSpan(
        finished.name,
        { kind: SpanKind.SERVER, attributes, startTime },
        parent,
      );
      if (finished.isFailed) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end(convertToHrTime(startedMs + durationMs));
    },
    async close(msMax) {
      const ended = provider.shutdown().catch(() => undefined);
      await withDeadline(ended, msMax, () => undefined);
    },
  };
}

/** Seconds and nanoseconds: a number alone could be taken for one of another clock. */
function convertToHrTime(epochMs: number): [seconds: number, nanoseconds: number] {
  const seconds = Math.floor(epochMs / MS_PER_S);
  return [seconds, Math.round((epochMs - seconds * MS_PER_S) * NS_PER_MS)];
}

/** The exporter, telling once that it fails and once that it does no more. */
function reportExportFailures(
  exporter: SpanExporter,
  { onFailure, onRecovery }: SpansOptions,
): SpanExporter {
  let isFailing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const hasFailed = result.error !== undefined;
        if (hasFailed && !isFailing) onFailure(result.error?.message ?? "");
        if (!hasFailed && isFailing) onRecovery();
        isFailing = hasFailed;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}
