import { HOUR, type Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/log.ts'
import type { TurnRunner } from '../../../core/system-turn.ts'
import type { Sql } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import { openJobs } from '../../../jobs/open-jobs.ts'
import { CancelledError, runWhileWanted, type Report } from '../../../jobs/while-wanted.ts'
import type { Analyst } from './analysis/analyst.ts'
import type { CaptionWriter } from './caption-writer.ts'
import type { AiOutcome } from './outcome.ts'
import { ProviderError } from './providers/provider.ts'
import { OPEN_STATES } from './schemas.ts'
import type { PastReader } from './past-reader.ts'
import { aiJobs, type AiJobRow } from './tables.ts'
import { styleOf } from './text/style.ts'
import type { Transcriber } from './transcripts/transcriber.ts'
import { recordAiJob } from './turns.ts'

/** A job that has not ended by then fails, before the ledger releases its credits by itself after a day. */
const MAX_AGE_MS = 12 * HOUR

interface Attempt {
  readonly signal: AbortSignal
  /** Whether this is the last attempt. If it fails, the job fails. */
  readonly last: boolean
  readonly log: Logger
  readonly progress: (percent: number, detail?: string, partialText?: string) => void
}

interface Dependencies {
  readonly clock: Clock
  readonly database: Sql
  readonly turns: TurnRunner
  readonly past: PastReader
  readonly captions: CaptionWriter
  readonly transcriber: Transcriber
  readonly analyst: Analyst
}

/** Does the work of AI jobs. */
export class AiRunner {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** @throws Error for a failure that may be temporary */
  async run(id: string, attempt: Attempt): Promise<void> {
    const { database } = this.#dependencies
    const row = await aiJobs.first(database, { id, state: anyOf(OPEN_STATES) })
    if (row === undefined) return
    if (this.#isTooOld(row)) return this.#record(row, failed('The job waited too long.'))
    try {
      const outcome = await runWhileWanted(attempt, {
        detail: id,
        save: (progress) => aiJobs.update(database, { id, state: anyOf(OPEN_STATES) }, { state: 'running', progress }),
        work: (signal, report) => this.#work(row, signal, report),
      })
      await this.#record(row, outcome)
    } catch (error) {
      if (error instanceof CancelledError) return
      const isFinal = error instanceof ProviderError && !error.retryable
      const isLate = attempt.last && isTimeout(attempt.signal)
      if (!isLate && (attempt.signal.aborted || !(attempt.last || isFinal))) throw error
      attempt.log.warn({ error, aiJobId: id }, 'an AI job failed')
      const why = error instanceof ProviderError ? error.message : INTERNAL
      await this.#record(row, failed(isLate ? 'The work took too long.' : why))
    }
  }

  /** Fails open jobs whose job in the outbox was lost several times or removed, and those that have waited too long. */
  async failAbandoned(): Promise<void> {
    const { database } = this.#dependencies
    const rows = await aiJobs.find(database, { state: anyOf(OPEN_STATES) }, { orderBy: ['id asc'], limit: 1_000 })
    const open = await openJobs(
      database,
      rows.map(({ jobId }) => jobId),
    )
    for (const row of rows) {
      if (this.#isTooOld(row)) await this.#record(row, failed('The job waited too long.'))
      else if (!open.has(row.jobId)) await this.#record(row, failed('The job was lost several times or removed.'))
    }
  }

  async #work(row: AiJobRow, signal: AbortSignal, report: Report): Promise<AiOutcome> {
    const { analyst, captions, past, transcriber } = this.#dependencies
    if (row.kind === 'caption') return captions.write(row, signal, report)
    if (row.kind === 'analysis') return analyst.write(row, signal, report)
    if (row.kind === 'transcription') return transcriber.write(row, signal, report)
    const style = await styleOf(await past.texts(row.workspaceId))
    return {
      state: 'done',
      creditsUsed: row.creditsReserved,
      captions: [],
      style,
      transcript: null,
      ignoredSettings: [],
    }
  }

  #isTooOld({ createdAt }: AiJobRow): boolean {
    return this.#dependencies.clock.now() - Date.parse(createdAt) > MAX_AGE_MS
  }

  async #record({ id, workspaceId }: AiJobRow, outcome: AiOutcome): Promise<void> {
    await this.#dependencies.turns.system(workspaceId, recordAiJob, { aiJobId: id, outcome })
  }
}

/** Whether an attempt reached its time limit. Otherwise an aborted one begins again, on this node or another. */
function isTimeout({ aborted, reason }: AbortSignal): boolean {
  return aborted && reason instanceof Error && reason.name === 'TimeoutError'
}

const INTERNAL = 'The server had an internal error.'

function failed(error: string): AiOutcome {
  return { state: 'failed', error }
}
