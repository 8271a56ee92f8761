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

/** What the log and the metrics say of a request that reached no operation. */
export const NO_OPERATION = {
  op: 'none',
  ms: 0,
  userId: undefined,
  via: undefined,
  workspaceId: undefined,
  replayed: false,
} as const

/**
 * The one canonical line a request leaves in the log, and its metrics. The line of an ordinary request is put together
 * here and not by the logger: it is written for every request, its fields are few and known, and none can hold a
 * secret or a quote.
 */
export class RequestLog {
  readonly #log: Logger
  readonly #sink: (line: string) => void
  readonly #metrics: HttpMetrics

  constructor(log: Logger, metrics: HttpMetrics) {
    this.#log = log
    this.#sink = lineSink(log)
    this.#metrics = metrics
  }

  write(record: RequestRecord): void {
    this.#metrics.observe(record.op, record.status, record.ms / 1000)
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
}

function canonicalLine(record: RequestRecord): string {
  let line = `{"level":30${isoTime()},"op":"${record.op}","status":${record.status},"ms":${roundedText(record.ms)},"requestId":"${record.requestId}"`
  if (record.userId !== undefined) line += `,"userId":"${record.userId}","via":"${record.via}"`
  if (record.workspaceId !== undefined) line += `,"workspaceId":"${record.workspaceId}"`
  if (record.replayed) line += ',"replayed":true'
  if (record.aborted) line += ',"aborted":true'
  if (record.failure) line += `,"error":"${record.failure.code}"`
  return `${line},"msg":"request"}\n`
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100
}

const HUNDREDTHS = Array.from({ length: 100 }, (_, index) => String(index / 100).slice(1))

/** The same as text, put together of whole numbers: to print a fraction costs as much as the rest of a line. */
function roundedText(ms: number): string {
  const hundredths = Math.round(ms * 100)
  return hundredths < 1_000_000
    ? `${Math.floor(hundredths / 100)}${HUNDREDTHS[hundredths % 100] as string}`
    : String(hundredths / 100)
}
