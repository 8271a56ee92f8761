import { createReadStream } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { MediaWorkError } from '../../../../media/work/errors.ts'
import type { MediaWork } from '../../../../media/work/types.ts'
import { MINUTE } from '../../../core/clock.ts'
import type { TurnRunner } from '../../../core/system-turn.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Storage } from '../../../storage/storage.ts'
import { fileKey } from './intake.ts'
import { localCopy } from './local-copy.ts'
import { noteExamined } from './turns.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly assetExaminer: AssetExaminer
  }
}

/** Thumbnails by name, with the length of their longer edge. */
const SIZES = [
  { name: 'small', edge: 160 },
  { name: 'medium', edge: 480 },
  { name: 'large', edge: 1280 },
] as const

/** Longest time for one picture, from the storage to the drawing. */
const DRAW_MS = MINUTE

/** What is known of a file that could not be looked at. */
const NOTHING = { width: null, height: null, seconds: null, probe: null, thumbnails: [], blurhash: null }

interface ExaminerNeeds {
  readonly sql: Sql
  readonly storage: Storage
  readonly turns: TurnRunner
  /** Media work runs in processes of its own; they are started when the first file needs them. */
  readonly mediaWork: () => Promise<MediaWork>
  /** Folder for what is under way. */
  readonly tempDir: string
}

interface Try {
  readonly signal: AbortSignal
  /** No further try comes: whatever fails now stays failed. */
  readonly last: boolean
}

/** Looks at new files in the media processes: what they are, and how they look small. */
export class AssetExaminer {
  readonly #needs: ExaminerNeeds

  constructor(needs: ExaminerNeeds) {
    this.#needs = needs
  }

  /** @throws MediaWorkError for a failure that may pass */
  async examine(workspaceId: string, fileId: string, { last, signal }: Try): Promise<void> {
    const { sql, turns } = this.#needs
    const row = await sql.row<{ kind: string }>('select kind from asset_files where id = $1', [fileId])
    if (row === undefined) return
    try {
      const found = await this.#look(fileKey(workspaceId, fileId), signal)
      await turns.system(workspaceId, noteExamined, { ...NOTHING, fileId, ...found, error: null })
    } catch (error) {
      const { message, name, retryable } = error as MediaWorkError
      // What is not about the file is tried again; so is a try that was broken off.
      if (name !== 'MediaWorkError' || signal.aborted || (retryable && !last)) throw error
      await turns.system(workspaceId, noteExamined, { ...NOTHING, fileId, error: message })
    }
  }

  /** Files whose job can say nothing any more: its worker was lost again and again, or somebody removed it. */
  async giveUp(): Promise<void> {
    const { sql, turns } = this.#needs
    const rows = await sql.rows<{ id: string; workspace_id: string }>(
      `select f.id, f.workspace_id from asset_files f where f.thumbnail_state = 'pending' and not exists (
         select 1 from outbox o where o.name = 'assets.examine' and o.state <> 'dead' and o.data->>'fileId' = f.id::text)
       limit 100`,
    )
    const error = 'It was given up: the job that looks at the file was lost several times, or removed.'
    for (const { id: fileId, workspace_id: workspaceId } of rows) {
      await turns.system(workspaceId, noteExamined, { ...NOTHING, fileId, error })
    }
  }

  /**
   * Draws the picture of a file anew, as WebP, and leaves it at `path`.
   * @param edge its longer edge, at most
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
