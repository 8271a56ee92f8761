import { createReadStream } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { MediaWorkError } from '../../../../media/work/errors.ts'
import type { MediaWork } from '../../../../media/work/types.ts'
import { MINUTE } from '../../../core/clock.ts'
import type { TurnRunner } from '../../../core/system-turn.ts'
import { valuesInOpenJobs } from '../../../jobs/open-jobs.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Storage } from '../../../storage/storage.ts'
import { fileKey } from './intake.ts'
import { examineAsset } from './jobs.ts'
import { localCopy } from './local-copy.ts'
import { assetFiles } from './tables.ts'
import { noteExamined } from './turns.ts'

/** Thumbnails, with the length of their longer edge in pixels. */
const SIZES = [
  { name: 'small', edge: 160 },
  { name: 'medium', edge: 480 },
  { name: 'large', edge: 1280 },
] as const

/** How long drawing one picture may take, with fetching it from the storage. */
const DRAW_MS = MINUTE

/** The result for a file that could not be examined. */
const NOTHING = { width: null, height: null, seconds: null, probe: null, thumbnails: [], blurhash: null }

interface ExaminerNeeds {
  readonly sql: Sql
  readonly storage: Storage
  readonly turns: TurnRunner
  /** Media work runs in separate processes, which start with the first file. */
  readonly mediaWork: () => Promise<MediaWork>
  /** Folder for temporary files. */
  readonly tempDir: string
}

interface Try {
  readonly signal: AbortSignal
  /** Whether this is the last attempt: if it fails, the file has no thumbnail. */
  readonly last: boolean
}

/** Examines new files in the media processes: probes them and draws thumbnails. */
export class AssetExaminer {
  readonly #needs: ExaminerNeeds

  constructor(needs: ExaminerNeeds) {
    this.#needs = needs
  }

  /** @throws MediaWorkError for a failure that may be temporary */
  async examine(workspaceId: string, fileId: string, { last, signal }: Try): Promise<void> {
    const { sql, turns } = this.#needs
    if (!(await assetFiles.exists(sql, { id: fileId }))) return
    try {
      const found = await this.#look(fileKey(workspaceId, fileId), signal)
      await turns.system(workspaceId, noteExamined, { ...NOTHING, fileId, ...found, error: null })
    } catch (error) {
      const { message, name, retryable } = error as MediaWorkError
      // Other errors are not about the file, and an aborted attempt says nothing about it: the job is tried again.
      if (name !== 'MediaWorkError' || signal.aborted || (retryable && !last)) throw error
      await turns.system(workspaceId, noteExamined, { ...NOTHING, fileId, error: message })
    }
  }

  /** Settles files that no job examines any more, because it was lost several times or removed. */
  async giveUp(): Promise<void> {
    const { sql, turns } = this.#needs
    const pending = await assetFiles.find(sql, { thumbnailState: 'pending' }, { columns: ['id', 'workspaceId'] })
    const open = await valuesInOpenJobs(
      sql,
      examineAsset,
      'fileId',
      pending.map(({ id }) => id),
    )
    const error = 'It was given up: the job that examines the file was lost several times or removed.'
    for (const { id: fileId, workspaceId } of pending) {
      if (!open.has(fileId)) await turns.system(workspaceId, noteExamined, { ...NOTHING, fileId, error })
    }
  }

  /**
   * Draws the picture in a file as WebP and writes it to `path`.
   * @param edge the most that its longer edge may have, in pixels
   * @throws MediaWorkError
   */
  async draw(key: string, edge: number, path: string): Promise<void> {
    const { mediaWork, storage, tempDir } = this.#needs
    const folder = await mkdtemp(join(tempDir, 'draw-'))
    const signal = AbortSignal.timeout(DRAW_MS)
    try {
      const work = await mediaWork()
      const from = await localCopy(storage, key, folder, signal)
      const { thumbnails } = await work.thumbnails(from, folder, { sizes: [{ name: 'drawn', edge }], signal })
      for (const drawn of thumbnails) await rename(drawn.path, path)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  async #look(key: string, signal: AbortSignal) {
    const folder = await mkdtemp(join(this.#needs.tempDir, 'examine-'))
    try {
      const work = await this.#needs.mediaWork()
      const path = await localCopy(this.#needs.storage, key, folder, signal)
      const probe = await work.probe(path, { signal })
      const drawn = await work.thumbnails(path, folder, { sizes: SIZES, probed: probe, signal })
      for (const { bytes, name, path: from } of drawn.thumbnails) {
        await this.#keep(`${key}.thumbnail-${name}`, from, bytes)
      }
      return {
        width: probe.width,
        height: probe.height,
        seconds: probe.seconds,
        probe,
        blurhash: drawn.blurhash,
        thumbnails: drawn.thumbnails.map(({ height, name, width }) => ({ name, width, height })),
      }
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  async #keep(key: string, from: string, size: number): Promise<void> {
    const { storage } = this.#needs
    await storage.put(key, createReadStream(from), { type: 'image/webp', size })
  }
}
