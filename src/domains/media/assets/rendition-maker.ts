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
import type { Storage } from '../../../storage/storage.ts'
import { fileKey } from './intake.ts'
import { localCopy } from './local-copy.ts'
import type { Quota } from './quota.ts'
import type { RenditionSpec } from './rendition-settings.ts'
import { AT_WORK, PLAYLIST_TYPE, PREVIEW_MEDIA_TYPE, renditionKeys } from './store.ts'
import { noteRendition } from './turns.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly renditionMaker: RenditionMaker
  }
}

interface MakerNeeds {
  readonly sql: Sql
  readonly clock: Clock
  readonly storage: Storage
  readonly quota: Quota
  readonly turns: TurnRunner
  readonly mediaWork: () => Promise<MediaWork>
  /** Folder for what is under way. */
  readonly tempDir: string
}

interface Try {
  readonly signal: AbortSignal
  /** No further try comes: whatever fails now stays failed. */
  readonly last: boolean
  readonly log: Logger
  readonly progress: (percent: number, detail?: string) => void
}

interface Order {
  readonly id: string
  readonly workspace_id: string
  readonly file_id: string
  readonly spec: RenditionSpec
  /** Null as long as nobody has looked at the file. */
  readonly probe: ProbeResult | null
}

/** What media work has made of it: files, in the order of their keys. */
interface Work {
  readonly files: readonly { readonly path: string; readonly size: number; readonly type: string }[]
  readonly width: number | null
  readonly height: number | null
  readonly seconds: number | null
}

/** How often the database is told how far a rendition is, and asked whether anybody still wants it. */
const LOOK_MS = 1_000
/** Room for what is made is held while it is stored. */
const HELD_MS = 30 * MINUTE

/** Nobody wants it any more. */
class CancelledError extends Error {
  override readonly name = 'CancelledError'
}

/** Makes renditions in the media processes. */
export class RenditionMaker {
  readonly #needs: MakerNeeds

  constructor(needs: MakerNeeds) {
    this.#needs = needs
  }

  /** @throws Error for a failure that may pass */
  async make(renditionId: string, tried: Try): Promise<void> {
    const { sql, turns } = this.#needs
    const order = await sql.row<Order>(
      `select r.id, r.workspace_id, a.file_id, r.spec, f.probe from asset_renditions r
         join assets a on a.id = r.asset_id join asset_files f on f.id = a.file_id
       where r.id = $1 and r.state = 'pending' and a.deleted_at is null`,
      [renditionId],
    )
    if (order === undefined) return
    try {
      await this.#wanted(order, tried, (signal, onProgress) => this.#work(order, signal, onProgress))
    } catch (error) {
      if (error instanceof CancelledError) return
      if (tried.signal.aborted || !(tried.last || isFinal(error))) throw error
      tried.log.warn({ error, renditionId }, 'a rendition failed')
      await turns.system(order.workspace_id, noteRendition, { id: renditionId, error: wordsOf(error) })
    }
  }

  /** Renditions whose job can say nothing any more: its worker was lost again and again, or somebody removed it. */
  async giveUp(): Promise<void> {
    const { sql, turns } = this.#needs
    const rows = await sql.rows<{ id: string; workspace_id: string }>(
      `select r.id, r.workspace_id from asset_renditions r where r.state = 'pending' and not ${AT_WORK} limit 100`,
    )
    const error = 'It was given up: the job that made it was lost several times, or removed. Order it again.'
    for (const { id, workspace_id: workspaceId } of rows) await turns.system(workspaceId, noteRendition, { id, error })
  }

  /** Runs work that ends when its job does, and when the rendition or its asset is deleted: on whatever node. */
  async #wanted(
    { id }: Order,
    { log, progress, signal }: Try,
    work: (signal: AbortSignal, onProgress: (fraction: number) => void) => Promise<void>,
  ): Promise<void> {
    const cancelled = new AbortController()
    let percent = 0
    let looking: Promise<void> | undefined
    const look = async () => {
      const changed = await this.#needs.sql.run(
        `update asset_renditions set progress = $2 where id = $1 and state = 'pending'`,
        [id, percent],
      )
      if (changed === 0) cancelled.abort(new CancelledError('nobody wants the rendition any more'))
    }
    const timer = setInterval(() => {
      looking ??= look()
        .catch((error: unknown) => log.debug({ error }, 'the progress of a rendition could not be written down'))
        .finally(() => (looking = undefined))
    }, LOOK_MS)
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
    const { file_id: fileId, id, probe, spec, workspace_id: workspaceId } = order
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

/** Whether another try would fail in the same way. */
function isFinal(error: unknown): boolean {
  if (error instanceof AppError) return error.status < 500
  const { name, retryable } = error as MediaWorkError
  return name === 'MediaWorkError' && !retryable
}

/** For people: errors of ours say what it is, others only that. */
function wordsOf(error: unknown): string {
  const told = error instanceof AppError || (error as Error).name === 'MediaWorkError'
  return told ? (error as Error).message : 'It could not be made: the server had a fault.'
}
