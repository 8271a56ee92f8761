import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { MediaWorkError } from '../../../../../media/work/errors.ts'
import type { RenderedFile } from '../../../../../media/work/studio/scene.ts'
import { MINUTE } from '../../../../core/clock.ts'
import { AppError } from '../../../../core/error.ts'
import { uuidv7 } from '../../../../tools/id.ts'
import type { Logger } from '../../../../core/log.ts'
import { anyOf } from '../../../../db/condition.ts'
import type { Foundation } from '../../../../foundation.ts'
import { openJobs } from '../../../../jobs/open-jobs.ts'
import { CancelledError, runWhileWanted } from '../../../../jobs/while-wanted.ts'
import type { Intake, Quota } from '../../assets/index.ts'
import { OPEN_STATES, type ProjectData, type RenderFormat } from '../schemas.ts'
import { studioRenders, studioVersions, type RenderRow } from '../tables.ts'
import { recordStudioRender } from '../turns.ts'
import type { RenderedAsset, RenderOutcome } from './outcome.ts'
import { RenderError } from './render-error.ts'
import { writeScene } from './scene-files.ts'

type Dependencies = Pick<Foundation, 'clock' | 'database' | 'mediaWork' | 'scratch' | 'storage' | 'turns'> & {
  readonly intake: Intake
  readonly quota: Quota
  /** How long a rendering can take; 30 minutes when absent. */
  readonly mostMs?: number
}

interface Attempt {
  readonly signal: AbortSignal
  /** Whether this is the last attempt. If it fails, the rendering fails. */
  readonly last: boolean
  readonly log: Logger
  readonly progress: (percent: number, detail?: string) => void
}

/** How long the storage reservation lasts while the files are stored. */
const RESERVATION_MS = 30 * MINUTE
/** Shorter than the timeout of the job, so that the rendering can record why it failed. */
const MAX_MS = 30 * MINUTE
/** The share of media work in the progress. The rest is for storing the files. */
const WORK_SHARE = 0.9
const EXTENSIONS: Readonly<Record<RenderFormat, string>> = { png: 'png', jpeg: 'jpg', webp: 'webp', mp4: 'mp4' }

/** Does the work of renderings, in the media work processes. */
export class StudioRenderer {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** @throws Error for a failure that may be temporary */
  async run(id: string, attempt: Attempt): Promise<void> {
    const { database } = this.#dependencies
    const row = await studioRenders.first(database, { id, status: anyOf(OPEN_STATES) })
    if (row === undefined) return
    try {
      await runWhileWanted(attempt, {
        detail: id,
        save: (progress) =>
          studioRenders.update(database, { id, status: anyOf(OPEN_STATES) }, { status: 'running', progress }),
        work: (signal, report) => this.#limited(row, signal, report),
      })
    } catch (error) {
      if (error instanceof CancelledError) return
      if (attempt.signal.aborted || !(attempt.last || isFinal(error))) throw error
      attempt.log.warn({ error, studioRenderId: id }, 'a rendering of a studio project failed')
      await this.#record(row, { status: 'failed', error: messageOf(error) })
    }
  }

  /** Marks open renderings as failed whose job was lost several times or removed. */
  async failAbandoned(): Promise<void> {
    const { database } = this.#dependencies
    const rows = await studioRenders.find(
      database,
      { status: anyOf(OPEN_STATES) },
      { orderBy: ['id asc'], limit: 1_000 },
    )
    const open = await openJobs(
      database,
      rows.map(({ jobId }) => jobId),
    )
    const error = 'The job was lost several times or removed. Render the project again.'
    for (const row of rows) if (!open.has(row.jobId)) await this.#record(row, { status: 'failed', error })
  }

  /** @throws RenderError if it takes too long, because another attempt would, too */
  async #limited(row: RenderRow, signal: AbortSignal, report: (fraction: number) => void): Promise<void> {
    const { mostMs = MAX_MS } = this.#dependencies
    const limit = AbortSignal.timeout(mostMs)
    try {
      await this.#work(row, AbortSignal.any([signal, limit]), report)
    } catch (error) {
      if (!limit.aborted || signal.aborted) throw error
      const minutes = Math.round((mostMs / MINUTE) * 10) / 10
      throw new RenderError(`The rendering took longer than ${minutes} minutes. Render fewer pages at once.`)
    }
  }

  async #work(row: RenderRow, signal: AbortSignal, report: (fraction: number) => void): Promise<void> {
    const { database, scratch, storage } = this.#dependencies
    const { format, pageNumbers, projectId, version, workspaceId } = row
    const found = await studioVersions.first(database, { projectId, version })
    if (found === undefined) throw new RenderError('The version of the project is not kept any more. Render it again.')
    const folder = await mkdtemp(join(scratch, 'studio-'))
    try {
      const pages = pageNumbers.map((number) => number - 1)
      const data: ProjectData = found.data
      const scene = await writeScene(
        { sql: database, storage },
        { data, pages, withSound: format === 'mp4', workspaceId },
        folder,
        signal,
      )
      const output = join(folder, 'rendered')
      await mkdir(output)
      const work = await this.#dependencies.mediaWork()
      const { files } = await work.render(
        scene,
        output,
        { format, pages },
        {
          signal,
          onProgress: ({ fraction }) => report(fraction * WORK_SHARE),
        },
      )
      await this.#store(row, found.name, files, signal)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  /** Stores the files and adds them to the media library. Nothing stays stored if that fails. */
  async #store(row: RenderRow, title: string, rendered: readonly RenderedFile[], signal: AbortSignal): Promise<void> {
    const { clock, intake, quota } = this.#dependencies
    const { workspaceId } = row
    const files: RenderedAsset[] = []
    const reservations: string[] = []
    try {
      for (const [index, { bytes, path }] of rendered.entries()) {
        signal.throwIfAborted()
        const reservationId = uuidv7(clock.now())
        await quota.reserve(workspaceId, reservationId, bytes, RESERVATION_MS)
        reservations.push(reservationId)
        const number = rendered.length > 1 ? ` ${row.pageNumbers[index] ?? index + 1}` : ''
        const name = `${assetName(title)}${number}.${EXTENSIONS[row.format]}`
        const file = await intake.receive(workspaceId, createReadStream(path), name, bytes)
        files.push({ file, name, reservationId })
      }
      const unused = await this.#record(row, { status: 'done', files })
      for (const fileId of unused) await intake.discard(workspaceId, fileId)
      // Those of added assets have ended already.
      if (unused.length > 0) for (const id of reservations) await quota.release(id)
    } catch (error) {
      for (const id of reservations) await quota.release(id)
      // Without a reply, the turn may still have added them. Housekeeping deletes files that no asset uses.
      throw error
    }
  }

  #record({ id, workspaceId }: RenderRow, outcome: RenderOutcome): Promise<readonly string[]> {
    return this.#dependencies.turns.system(workspaceId, recordStudioRender, { studioRenderId: id, outcome })
  }
}

/** The name of a project as the name of a file. */
function assetName(name: string): string {
  return name.replaceAll(/[/\\]/g, '-')
}

/** Whether another attempt would fail in the same way. */
function isFinal(error: unknown): boolean {
  if (error instanceof AppError) return error.status < 500
  if (error instanceof RenderError) return true
  const { name, retryable } = error as MediaWorkError
  return name === 'MediaWorkError' && !retryable
}

/** A message for users. The text of unexpected errors is not shown. */
function messageOf(error: unknown): string {
  const isPublic =
    error instanceof AppError || error instanceof RenderError || (error as Error).name === 'MediaWorkError'
  return isPublic ? (error as Error).message : 'The server had an internal error.'
}
