import { Readable } from 'node:stream'
import { AppError } from '../../../core/error.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Logger } from '../../../core/log.ts'
import type { Scope } from '../../../core/scope.ts'
import type { Services } from '../../../core/services.ts'
import { anyOf } from '../../../db/condition.ts'
import type { Foundation } from '../../../foundation.ts'
import { fileKey, type ReportOutcome } from './report-files.ts'
import { reports, type ReportRow } from './tables.ts'
import { recordReport } from './turns.ts'

const TYPES = { pdf: 'application/pdf', html: 'text/html' } as const

export interface MakeOptions {
  readonly log: Logger
  readonly signal: AbortSignal
  readonly progress: (percent: number, detail?: string) => void
  /** Whether there is no further attempt. */
  readonly last: boolean
}

/** Makes the files of reports. */
export class ReportMaker {
  readonly #foundation: Foundation
  readonly #services: Pick<Services, 'analytics' | 'workspaces'>

  constructor(foundation: Foundation, services: Pick<Services, 'analytics' | 'workspaces'>) {
    this.#foundation = foundation
    this.#services = services
  }

  /** Makes a report and records the outcome. Does nothing if it has ended or was deleted. */
  async make(id: string, options: MakeOptions): Promise<void> {
    const { database, turns } = this.#foundation
    const row = await reports.first(database, { id, status: anyOf(['waiting', 'running']) })
    if (row === undefined) return
    await turns.system(row.workspaceId, recordReport, { reportId: id, outcome: await this.#outcome(row, options) })
  }

  async #outcome(row: ReportRow, { last, log, progress, signal }: MakeOptions): Promise<ReportOutcome> {
    try {
      return await this.#made(row, signal, async (percent, detail) => {
        progress(percent, detail)
        const updatedAt = new Date(this.#foundation.clock.now())
        const changes = { status: 'running', percent, updatedAt } as const
        const where = { id: row.id, status: anyOf(['waiting', 'running'] as const) }
        await reports.update(this.#foundation.database, where, changes)
      })
    } catch (error) {
      if (error instanceof AppError && error.code === 'not_found') {
        return { error: 'One of its accounts has been removed. Choose other accounts.' }
      }
      if (!last || signal.aborted) throw error
      log.error({ reportId: row.id, error }, 'a report could not be made')
      return { error: 'The server could not make it. Request it again; if that fails too, ask the administrator.' }
    }
  }

  async #made(
    row: ReportRow,
    signal: AbortSignal,
    step: (percent: number, detail: string) => Promise<void>,
  ): Promise<ReportOutcome> {
    const { analytics } = this.#services
    const { accountIds, format, fromDay: from, language, toDay: to, workspaceId } = row
    const scopes = await this.#scopesOf(row)
    if (scopes === undefined) return { error: 'The member who asked for it can no longer see analytics.' }
    await step(10, 'Reading figures')
    const filter = { workspaceId, from, to, ...(accountIds && { accountIds }) }
    const model = await analytics.reports.model(filter, scopes, language)
    signal.throwIfAborted()
    await step(50, 'Drawing')
    const content = Buffer.from(await analytics.reports.print(model, format))
    signal.throwIfAborted()
    await step(90, 'Storing')
    // A key is written once, so each attempt has its own. The sweep of the storage deletes files that no report has.
    const fileId = uuidv7(this.#foundation.clock.now())
    const body = Readable.from([content], { objectMode: false })
    await this.#foundation.storage.put(fileKey({ workspaceId, fileId }), body, { type: TYPES[format] })
    return { fileId, size: content.length, summary: model.sentences }
  }

  /** The current scopes of its member, within the limits of the API key. Undefined without access to analytics. */
  async #scopesOf({ createdBy, readerScopes, workspaceId }: ReportRow): Promise<ReadonlySet<Scope> | undefined> {
    const member = await this.#services.workspaces.memberships.find(workspaceId, createdBy)
    if (member === undefined || !member.scopes.has('analytics:read')) return undefined
    return readerScopes === null ? member.scopes : new Set(readerScopes.filter((scope) => member.scopes.has(scope)))
  }
}
