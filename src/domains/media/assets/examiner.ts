import { createReadStream } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { MediaWorkError } from '../../../../media/work/errors.ts'
import { MINUTE } from '../../../core/clock.ts'
import { valuesInOpenJobs } from '../../../jobs/open-jobs.ts'
import type { Foundation } from '../../../foundation.ts'
import { fileKey } from './intake.ts'
import { examineAsset } from './jobs.ts'
import { localCopy } from './local-copy.ts'
import { pendingFiles } from './store.ts'
import { assetFiles } from './tables.ts'
import { recordExamination } from './turns.ts'

/** The sizes of thumbnails. `edge` is the length of the longer side in pixels. */
const SIZES = [
  { name: 'small', edge: 160 },
  { name: 'medium', edge: 480 },
  { name: 'large', edge: 1280 },
] as const

/** Time limit for rendering one image, including its download from the storage. */
const RENDER_MS = MINUTE

/** The result for a file that could not be examined. */
const EMPTY = { width: null, height: null, seconds: null, probe: null, thumbnails: [], blurhash: null }

interface Attempt {
  readonly signal: AbortSignal
  /** Whether this is the last attempt. If it fails, the file gets no thumbnail. */
  readonly last: boolean
}

/** Examines new files in the media work processes: probes them and makes thumbnails. */
export class AssetExaminer {
  readonly #foundation: Pick<Foundation, 'database' | 'mediaWork' | 'scratch' | 'storage' | 'turns'>

  constructor(foundation: Pick<Foundation, 'database' | 'mediaWork' | 'scratch' | 'storage' | 'turns'>) {
    this.#foundation = foundation
  }

  /** @throws MediaWorkError for a failure that may be temporary */
  async examine(workspaceId: string, fileId: string, { last, signal }: Attempt): Promise<void> {
    const { database: sql, turns } = this.#foundation
    if (!(await assetFiles.exists(sql, { id: fileId }))) return
    try {
      const found = await this.#probeAndRender(fileKey(workspaceId, fileId), signal)
      await turns.system(workspaceId, recordExamination, { ...EMPTY, fileId, ...found, error: null })
    } catch (error) {
      const { message, name, retryable } = error as MediaWorkError
      // Other errors are not caused by the file, and neither is an abort. The job is retried.
      if (name !== 'MediaWorkError' || signal.aborted || (retryable && !last)) throw error
      await turns.system(workspaceId, recordExamination, { ...EMPTY, fileId, error: message })
    }
  }

  /** Marks files as failed whose job was lost several times or removed. */
  async failAbandoned(): Promise<void> {
    const { database: sql, turns } = this.#foundation
    const pending = await pendingFiles(sql)
    const open = await valuesInOpenJobs(
      sql,
      examineAsset,
      'fileId',
      pending.map(({ id }) => id),
    )
    const error = 'The job that examines the file was lost several times or removed.'
    for (const { id: fileId, workspaceId } of pending) {
      if (!open.has(fileId)) await turns.system(workspaceId, recordExamination, { ...EMPTY, fileId, error })
    }
  }

  /**
   * Renders the image in a file as WebP and writes it to `path`.
   * @param edge maximum length of the longer side, in pixels
   * @throws MediaWorkError
   */
  async render(key: string, edge: number, path: string): Promise<void> {
    const { mediaWork, storage, scratch } = this.#foundation
    const folder = await mkdtemp(join(scratch, 'render-'))
    const signal = AbortSignal.timeout(RENDER_MS)
    try {
      const work = await mediaWork()
      const from = await localCopy(storage, key, folder, signal)
      const { thumbnails } = await work.thumbnails(from, folder, { sizes: [{ name: 'rendered', edge }], signal })
      for (const rendered of thumbnails) await rename(rendered.path, path)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  async #probeAndRender(key: string, signal: AbortSignal) {
    const folder = await mkdtemp(join(this.#foundation.scratch, 'examine-'))
    try {
      const work = await this.#foundation.mediaWork()
      const path = await localCopy(this.#foundation.storage, key, folder, signal)
      const probe = await work.probe(path, { signal })
      const rendered = await work.thumbnails(path, folder, { sizes: SIZES, probed: probe, signal })
      for (const { bytes, name, path: from } of rendered.thumbnails) {
        await this.#store(`${key}.thumbnail-${name}`, from, bytes)
      }
      return {
        width: probe.width,
        height: probe.height,
        seconds: probe.seconds,
        probe,
        blurhash: rendered.blurhash,
        thumbnails: rendered.thumbnails.map(({ height, name, width }) => ({ name, width, height })),
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  async #store(key: string, from: string, size: number): Promise<void> {
    const { storage } = this.#foundation
    await storage.put(key, createReadStream(from), { type: 'image/webp', size })
  }
}
