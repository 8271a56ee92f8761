import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { MediaWorkError } from '../../../../media/work/errors.ts'
import type { MediaWork, ProbeResult, TranscodeOptions } from '../../../../media/work/types.ts'
import { AppError } from '../../../core/error.ts'
import { MINUTE, type Clock } from '../../../core/clock.ts'
import { uuidv7 } from '../../../core/id.ts'
import type { Logger } from '../../../core/log.ts'
import type { Sql } from '../../../core/sql.ts'
import type { TurnRunner } from '../../../core/system-turn.ts'
import { query } from '../../../db/query.ts'
import { openJobs } from '../../../jobs/open-jobs.ts'
import type { Storage } from '../../../storage/storage.ts'
import { fileKey } from './intake.ts'
import { localCopy } from './local-copy.ts'
import type { Quota } from './quota.ts'
import type { RenditionSpec } from './rendition-settings.ts'
import { PLAYLIST_TYPE, PREVIEW_MEDIA_TYPE, renditionKeys } from './store.ts'
import { assetRenditions, mediaTables } from './tables.ts'
import { noteRendition } from './turns.ts'

interface MakerNeeds {
  readonly sql: Sql
  readonly clock: Clock
  readonly storage: Storage
  readonly quota: Quota
  readonly turns: TurnRunner
  readonly mediaWork: () => Promise<MediaWork>
  /** Folder for temporary files. */
  readonly tempDir: string
}

interface Try {
  readonly signal: AbortSignal
  /** Whether this is the last attempt: if it fails, the rendition has failed. */
  readonly last: boolean
  readonly log: Logger
  readonly progress: (percent: number, detail?: string) => void
}

interface Order {
  readonly id: string
  readonly workspaceId: string
  readonly fileId: string
  readonly spec: RenditionSpec
  /** Null until the file has been examined. */
  readonly probe: ProbeResult | null
}

/** The files that media work has made, in the order of `renditionKeys`. */
interface Work {
  readonly files: readonly { readonly path: string; readonly size: number; readonly type: string }[]
  readonly width: number | null
  readonly height: number | null
  readonly seconds: number | null
}

/** How often progress is written to the database, and the rendition is checked for having been deleted. */
const PROGRESS_MS = 1_000
/** How long room in the plan is held while the files are stored. */
const HELD_MS = 30 * MINUTE

/** The rendition or its asset was deleted while it was being made. */
class CancelledError extends Error {
  override readonly name = 'CancelledError'
}

const pendingOrder = query(mediaTables, (db, $: { id: string }) =>
  db
    .selectFrom('assetRenditions as r')
    .innerJoin('assets as a', 'a.id', 'r.assetId')
    .innerJoin('assetFiles as f', 'f.id', 'a.fileId')
    .select(['r.id', 'r.workspaceId', 'a.fileId', 'r.spec', 'f.probe'])
    .where('r.id', '=', $.id)
    .where('r.state', '=', 'pending')
    .where('a.deletedAt', 'is', null),
)

/** Makes renditions in the media processes. */
export class RenditionMaker {
  readonly #needs: MakerNeeds

  constructor(needs: MakerNeeds) {
    this.#needs = needs
  }

  /** @throws Error for a failure that may be temporary */
  async make(renditionId: string, tried: Try): Promise<void> {
    const { sql, turns } = this.#needs
    const order = await pendingOrder.row(sql, { id: renditionId })
    if (order === undefined) return
    try {
      await this.#whileWanted(order, tried, (signal, onProgress) => this.#work(order, signal, onProgress))
    } catch (error) {
      if (error instanceof CancelledError) return
      if (tried.signal.aborted || !(tried.last || isFinal(error))) throw error
      tried.log.warn({ error, renditionId }, 'a rendition failed')
      await turns.system(order.workspaceId, noteRendition, { id: renditionId, error: messageOf(error) })
    }
  }

  /** Fails pending renditions that no job is making any more, because it was lost several times or removed. */
  async giveUp(): Promise<void> {
    const { sql, turns } = this.#needs
    const pending = await assetRenditions.find(sql, { state: 'pending' }, { columns: ['id', 'workspaceId', 'jobId'] })
    const open = await openJobs(
      sql,
      pending.flatMap(({ jobId }) => jobId ?? []),
    )
    const error = 'It was given up: its job was lost several times or removed. Order it again.'
    for (const { id, jobId, workspaceId } of pending) {
      if (jobId === null || !open.has(jobId)) await turns.system(workspaceId, noteRendition, { id, error })
    }
  }

  /** Runs work that is aborted with its job, or when the rendition or its asset is deleted, on any node. */
  async #whileWanted(
    { id }: Order,
    { log, progress, signal }: Try,
    work: (signal: AbortSignal, onProgress: (fraction: number) => void) => Promise<void>,
  ): Promise<void> {
    const cancelled = new AbortController()
    let percent = 0
    let looking: Promise<void> | undefined
    const look = async () => {
      const changed = await assetRenditions.update(this.#needs.sql, { id, state: 'pending' }, { progress: percent })
      if (changed === 0) cancelled.abort(new CancelledError('the rendition was deleted'))
    }
    const timer = setInterval(() => {
      looking ??= look()
        .catch((error: unknown) => log.debug({ error }, 'the progress of a rendition was not written'))
        .finally(() => (looking = undefined))
    }, PROGRESS_MS)
    try {
      await work(AbortSignal.any([signal, cancelled.signal]), (fraction) => {
        percent = Math.min(99, Math.floor(fraction * 100))
        progress(percent, id)
      })
    } catch (error) {
      throw cancelled.signal.aborted ? cancelled.signal.reason : error
    } finally {
      clearInterval(timer)
      await looking
    }
  }

  async #work(order: Order, signal: AbortSignal, onProgress: (fraction: number) => void): Promise<void> {
    const { clock, quota, storage, tempDir, turns } = this.#needs
    const { fileId, id, probe, spec, workspaceId } = order
    const folder = await mkdtemp(join(tempDir, 'rendition-'))
    const heldAs = uuidv7(clock.now())
    try {
      const work = await this.#needs.mediaWork()
      const path = await localCopy(storage, fileKey(workspaceId, fileId), folder, signal)
      const made = await makeOf(work, path, spec, folder, {
        signal,
        probed: probe ?? undefined,
        onProgress: ({ fraction }) => onProgress(fraction),
      })
      const { files, height, seconds, width } = made
      const size = files.reduce((sum, one) => sum + one.size, 0)
      const type = files.at(-1)?.type ?? ''
      const keys = renditionKeys(workspaceId, id, type)
      await quota.hold(workspaceId, heldAs, size, HELD_MS)
      for (const [index, key] of keys.entries()) {
        const one = files[index]
        if (one) await storage.put(key, createReadStream(one.path), { type: one.type, size: one.size })
      }
      const noted = { id, error: null, type, size, width, height, seconds, heldAs }
      if (await turns.system(workspaceId, noteRendition, noted)) return
      for (const key of keys) await storage.delete(key)
    } catch (error) {
      await quota.release(heldAs)
      throw error
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}

async function makeOf(
  work: MediaWork,
  path: string,
  spec: RenditionSpec,
  folder: string,
  options: TranscodeOptions,
): Promise<Work> {
  if (spec.kind !== 'preview') {
    const output = join(folder, 'made')
    const { bytes: size, mime: type, ...made } = await work.transcode(path, output, spec, options)
    return { ...made, files: [{ path: output, size, type }] }
  }
  const output = join(folder, 'preview')
  await mkdir(output)
  const made = await work.preview(path, output, options)
  const media = { path: made.media, size: made.mediaBytes, type: PREVIEW_MEDIA_TYPE }
  return { ...made, files: [media, { path: made.playlist, size: made.playlistBytes, type: PLAYLIST_TYPE }] }
}

/** Whether another attempt would fail in the same way. */
function isFinal(error: unknown): boolean {
  if (error instanceof AppError) return error.status < 500
  const { name, retryable } = error as MediaWorkError
  return name === 'MediaWorkError' && !retryable
}

/** A message for people. The text of unexpected errors is not shown. */
function messageOf(error: unknown): string {
  const told = error instanceof AppError || (error as Error).name === 'MediaWorkError'
  return told ? (error as Error).message : 'The server had an internal error.'
}
