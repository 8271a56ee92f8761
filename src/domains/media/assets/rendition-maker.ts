import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { MediaWorkError } from '../../../../media/work/errors.ts'
import type { MediaWork, ProbeResult, TranscodeOptions } from '../../../../media/work/types.ts'
import { AppError } from '../../../core/error.ts'
import { MINUTE } from '../../../core/clock.ts'
import { uuidv7 } from '../../../tools/id.ts'
import type { Logger } from '../../../core/log.ts'
import { query } from '../../../db/query.ts'
import { openJobs } from '../../../jobs/open-jobs.ts'
import type { Foundation } from '../../../foundation.ts'
import { fileKey } from './intake.ts'
import { localCopy } from './local-copy.ts'
import type { Quota } from './quota.ts'
import type { RenditionSpec } from './rendition-settings.ts'
import { pendingRenditions, PLAYLIST_TYPE, PREVIEW_MEDIA_TYPE, renditionKeys } from './store.ts'
import { assetRenditions, mediaTables } from './tables.ts'
import { recordRendition } from './turns.ts'

type Dependencies = Pick<Foundation, 'clock' | 'database' | 'mediaWork' | 'scratch' | 'storage' | 'turns'> & {
  readonly quota: Quota
}

interface Attempt {
  readonly signal: AbortSignal
  /** Whether this is the last attempt. If it fails, the rendition fails. */
  readonly last: boolean
  readonly log: Logger
  readonly progress: (percent: number, detail?: string) => void
}

interface PendingRendition {
  readonly id: string
  readonly workspaceId: string
  readonly fileId: string
  readonly spec: RenditionSpec
  /** Null until the file has been examined. */
  readonly probe: ProbeResult | null
}

/** The result of media work. The files are in the order of `renditionKeys`. */
interface Output {
  readonly files: readonly { readonly path: string; readonly size: number; readonly type: string }[]
  readonly width: number | null
  readonly height: number | null
  readonly seconds: number | null
}

/** How often progress is saved, which also notices that the rendition was deleted. */
const PROGRESS_MS = 1_000
/** How long the storage reservation lasts while the files are stored. */
const RESERVATION_MS = 30 * MINUTE

/** The rendition or its asset was deleted while it was being made. */
class CancelledError extends Error {
  override readonly name = 'CancelledError'
}

const findPending = query(mediaTables, (db, $: { id: string }) =>
  db
    .selectFrom('assetRenditions as r')
    .innerJoin('assets as a', 'a.id', 'r.assetId')
    .innerJoin('assetFiles as f', 'f.id', 'a.fileId')
    .select(['r.id', 'r.workspaceId', 'a.fileId', 'r.spec', 'f.probe'])
    .where('r.id', '=', $.id)
    .where('r.state', '=', 'pending')
    .where('a.deletedAt', 'is', null),
)

/** Makes renditions in the media work processes. */
export class RenditionMaker {
  readonly #dependencies: Dependencies

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** @throws Error for a failure that may be temporary */
  async make(renditionId: string, attempt: Attempt): Promise<void> {
    const { database: sql, turns } = this.#dependencies
    const rendition = await findPending.row(sql, { id: renditionId })
    if (rendition === undefined) return
    try {
      await this.#runCancellable(rendition, attempt, (signal, onProgress) =>
        this.#transcode(rendition, signal, onProgress),
      )
    } catch (error) {
      if (error instanceof CancelledError) return
      if (attempt.signal.aborted || !(attempt.last || isFinal(error))) throw error
      attempt.log.warn({ error, renditionId }, 'a rendition failed')
      await turns.system(rendition.workspaceId, recordRendition, { id: renditionId, error: messageOf(error) })
    }
  }

  /** Marks pending renditions as failed whose job was lost several times or removed. */
  async failAbandoned(): Promise<void> {
    const { database: sql, turns } = this.#dependencies
    const pending = await pendingRenditions(sql)
    const open = await openJobs(
      sql,
      pending.flatMap(({ jobId }) => jobId ?? []),
    )
    const error = 'The job that makes the rendition was lost several times or removed. Request the rendition again.'
    for (const { id, jobId, workspaceId } of pending) {
      if (jobId === null || !open.has(jobId)) await turns.system(workspaceId, recordRendition, { id, error })
    }
  }

  /** Runs work that is aborted when its job ends, or when the rendition or its asset is deleted on any node. */
  async #runCancellable(
    { id }: PendingRendition,
    { log, progress, signal }: Attempt,
    work: (signal: AbortSignal, onProgress: (fraction: number) => void) => Promise<void>,
  ): Promise<void> {
    const cancelled = new AbortController()
    let percent = 0
    let saving: Promise<void> | undefined
    const save = async () => {
      const changed = await assetRenditions.update(
        this.#dependencies.database,
        { id, state: 'pending' },
        { progress: percent },
      )
      if (changed === 0) cancelled.abort(new CancelledError('the rendition was deleted'))
    }
    const timer = setInterval(() => {
      saving ??= save()
        .catch((error: unknown) => log.debug({ error }, 'the progress of a rendition could not be saved'))
        .finally(() => (saving = undefined))
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
      await saving
    }
  }

  async #transcode(
    rendition: PendingRendition,
    signal: AbortSignal,
    onProgress: (fraction: number) => void,
  ): Promise<void> {
    const { clock, quota, storage, scratch, turns } = this.#dependencies
    const { fileId, id, probe, spec, workspaceId } = rendition
    const folder = await mkdtemp(join(scratch, 'rendition-'))
    const reservationId = uuidv7(clock.now())
    try {
      const work = await this.#dependencies.mediaWork()
      const path = await localCopy(storage, fileKey(workspaceId, fileId), folder, signal)
      const output = await runMediaWork(work, path, spec, folder, {
        signal,
        probed: probe ?? undefined,
        onProgress: ({ fraction }) => onProgress(fraction),
      })
      const { files, height, seconds, width } = output
      const size = files.reduce((sum, one) => sum + one.size, 0)
      const type = files.at(-1)?.type ?? ''
      const keys = renditionKeys(workspaceId, id, type)
      await quota.reserve(workspaceId, reservationId, size, RESERVATION_MS)
      for (const [index, key] of keys.entries()) {
        const one = files[index]
        if (one) await storage.put(key, createReadStream(one.path), { type: one.type, size: one.size })
      }
      const result = { id, error: null, type, size, width, height, seconds, reservationId }
      if (await turns.system(workspaceId, recordRendition, result)) return
      for (const key of keys) await storage.delete(key)
    } catch (error) {
      await quota.release(reservationId)
      throw error
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
}

async function runMediaWork(
  work: MediaWork,
  path: string,
  spec: RenditionSpec,
  folder: string,
  options: TranscodeOptions,
): Promise<Output> {
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

/** A message for users. The text of unexpected errors is not shown. */
function messageOf(error: unknown): string {
  const isPublic = error instanceof AppError || (error as Error).name === 'MediaWorkError'
  return isPublic ? (error as Error).message : 'The server had an internal error.'
}
