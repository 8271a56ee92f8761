import type { AppError } from '../core/error.ts'
import type { Logger } from '../core/log.ts'
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

/** The one canonical line a request leaves in the log, and its metrics. */
export class RequestLog {
  readonly #log: Logger
  readonly #metrics: HttpMetrics

  constructor(log: Logger, metrics: HttpMetrics) {
    // The fields of this line are named below and hold no secret: looking for some in every line costs more than it.
    this.#log = log.child({}, { redact: [] })
    this.#metrics = metrics
  }

  write(record: RequestRecord): void {
    this.#metrics.observe(record.op, record.status, record.ms / 1000)
    const { failure } = record
    const line = {
      op: record.op,
      status: record.status,
      ms: Math.round(record.ms * 100) / 100,
      requestId: record.requestId,
      userId: record.userId,
      via: record.via,
      workspaceId: record.workspaceId,
      ...(record.replayed ? { replayed: true } : {}),
      ...(record.aborted ? { aborted: true } : {}),
      ...(failure ? { error: failure.code } : {}),
    }
    if (failure?.cause !== undefined && failure.status >= 500) {
      const cause = failure.cause instanceof Error ? (failure.cause.stack ?? failure.cause.message) : JSON.stringify(failure.cause)
      this.#log[failure.status === 500 ? 'error' : 'warn']({ ...line, cause }, 'request')
    } else {
      this.#log.info(line, 'request')
    }
  }
}
