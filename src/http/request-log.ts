import type { AppError } from '../core/error.ts'
import { isoTime, lineSink, type Logger } from '../core/log.ts'
import type { HttpMetrics } from './metrics.ts'

export interface RequestRecord {
  readonly op: string
  readonly status: number
  readonly ms: number
  readonly requestId: string
  readonly userId: string | undefined
  readonly via: string | undefined
  readonly workspaceId: string | undefined
  readonly replayed: boolean
  readonly failure: AppError | undefined
  readonly aborted: boolean
}

/** What the log and the metrics record of a request that reached no operation. */
export const NO_OPERATION = {
  op: 'none',
  ms: 0,
  userId: undefined,
  via: undefined,
  workspaceId: undefined,
  replayed: false,
} as const

/** How many refusals of one kind leave a line each per interval. The others are logged as a count. */
const WHOLE_LINES = 100
const INTERVAL_MS = 10_000

/**
 * Writes the one canonical log line of a request and records its metrics. The line of an ordinary request is built here
 * rather than by the logger, because it is written for every request and its few fields can contain neither a secret
 * nor a quote. Clients can cause any number of refusals (no or a wrong credential, unknown route, rate limit), so only
 * the first hundred of a kind in ten seconds leave a line; the rest are counted.
 */
export class RequestLog {
  readonly #log: Logger
  readonly #sink: (line: string) => void
  readonly #metrics: HttpMetrics
  /** Refusals of the current interval by operation and error. */
  readonly #refusals = new Map<string, { readonly record: RequestRecord; count: number }>()
  #timer: NodeJS.Timeout | undefined

  constructor(log: Logger, metrics: HttpMetrics) {
    this.#log = log
    this.#sink = lineSink(log)
    this.#metrics = metrics
  }

  write(record: RequestRecord): void {
    this.#metrics.observe(record.op, record.status, record.ms / 1000)
    if (isCheapRefusal(record) && this.#isCounted(record)) return
    const { failure } = record
    if (failure?.cause === undefined || failure.status < 500) {
      if (this.#log.isLevelEnabled('info')) this.#sink(canonicalLine(record))
      return
    }
    const { cause } = failure
    this.#log[failure.status === 500 ? 'error' : 'warn'](
      {
        op: record.op,
        status: record.status,
        ms: rounded(record.ms),
        requestId: record.requestId,
        userId: record.userId,
        workspaceId: record.workspaceId,
        error: failure.code,
        cause: cause instanceof Error ? (cause.stack ?? cause.message) : JSON.stringify(cause),
      },
      'request',
    )
  }

  /** Logs the counts of refusals that left no line. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const { count, record } of this.#refusals.values()) {
      if (count <= WHOLE_LINES) continue
      const fields = { op: record.op, status: record.status, error: record.failure?.code }
      this.#log.info({ ...fields, count: count - WHOLE_LINES, seconds: INTERVAL_MS / 1_000 }, 'requests refused')
    }
    this.#refusals.clear()
  }

  /**
   * Counts a refusal.
   * @returns whether it is over the limit of individual lines
   */
  #isCounted(record: RequestRecord): boolean {
    this.#timer ??= setTimeout(() => this.flush(), INTERVAL_MS).unref()
    const key = `${record.op} ${record.status} ${record.failure?.code}`
    const refusal = this.#refusals.get(key) ?? { record, count: 0 }
    this.#refusals.set(key, refusal)
    refusal.count += 1
    return refusal.count > WHOLE_LINES
  }
}

/** Whether a request was refused early, so that clients can cause such refusals at no cost. */
function isCheapRefusal({ failure, status, userId }: RequestRecord): boolean {
  return failure !== undefined && failure.cause === undefined && (status === 429 || userId === undefined)
}

function canonicalLine(record: RequestRecord): string {
  let line = `{"level":30${isoTime()},"op":"${record.op}","status":${record.status},"ms":${roundedText(record.ms)},"requestId":"${record.requestId}"`
  if (record.userId !== undefined) line += `,"userId":"${record.userId}","via":"${record.via}"`
  if (record.workspaceId !== undefined) line += `,"workspaceId":"${record.workspaceId}"`
  if (record.replayed) line += ',"replayed":true'
  if (record.aborted) line += ',"aborted":true'
  if (record.failure) line += `,"error":"${record.failure.code}"`
  if (record.failure?.hint !== undefined) line += `,"hint":${JSON.stringify(record.failure.hint)}`
  return `${line},"msg":"request"}\n`
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100
}

const HUNDREDTHS = Array.from({ length: 100 }, (_, index) => String(index / 100).slice(1))

/** The same as text, built from integers, because formatting a fraction costs as much as the rest of a line. */
function roundedText(ms: number): string {
  const hundredths = Math.round(ms * 100)
  return hundredths < 1_000_000
    ? `${Math.floor(hundredths / 100)}${HUNDREDTHS[hundredths % 100] as string}`
    : String(hundredths / 100)
}
