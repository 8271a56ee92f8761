import type { SourceFacts } from '../../../../media/work/transcode/fitness.ts'
import type { TranscodeSpec } from '../../../../media/work/transcode/spec.ts'
import { needsFfmpeg } from '../../../content/types.ts'
import { NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../tools/id.ts'
import { anyOf } from '../../../db/condition.ts'
import { openJobs } from '../../../jobs/open-jobs.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Foundation } from '../../../foundation.ts'
import type { MonthlyUses } from '../../money/plans/index.ts'
import { RenditionNotPossible } from './errors.ts'
import { renditionUpdated, renditionDeleted } from './events.ts'
import { makeRendition } from './jobs.ts'
import type { Quota } from './quota.ts'
import {
  maxPreviewBytes,
  PREVIEW_PRESET,
  PREVIEW_SPEC,
  specOf,
  type RenditionSettings,
  type RenditionSpec,
} from './rendition-settings.ts'
import type { RenditionData } from './schemas.ts'
import { findAsset, renditionKeys, type AssetRow } from './store.ts'
import { assetRenditions } from './tables.ts'
import type { AssetViews } from './views.ts'

/** The result of making a rendition. */
export interface RenditionResult {
  readonly id: string
  /** Why it failed. */
  readonly error: string | null
  readonly type?: string
  readonly size?: number
  readonly width?: number | null
  readonly height?: number | null
  readonly seconds?: number | null
  /** The storage reservation of its files. It ends with this result, because the rendition itself counts then. */
  readonly reservationId?: string
}

type Dependencies = Pick<Foundation, 'clock' | 'requireFfmpeg' | 'storage'> & {
  readonly planUses: Pick<MonthlyUses, 'take'>
  readonly quota: Quota
  readonly views: AssetViews
  /** Videos of at least this length get a preview automatically. 0 turns this off. */
  readonly previewSeconds: number
  /** @throws MediaWorkError if the rendition cannot be made from the file */
  readonly checkFitness: (spec: TranscodeSpec, source: SourceFacts) => void
}

/** Requests, cancels and completes renditions of assets, in turns of their workspace. */
export class RenditionRequests {
  readonly #dependencies: Dependencies
  readonly #listeners: ((turn: Turn, id: string) => Promise<void>)[] = []

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
  }

  /** Adds a callback that runs when a rendition is ready, has failed or was deleted, in the same turn. */
  onSettled(listener: (turn: Turn, id: string) => Promise<void>): void {
    this.#listeners.push(listener)
  }

  /**
   * Requests a rendition. A request with the same settings returns the existing rendition. A failed one is retried.
   * @throws AppError not_found, plan_limit_reached, rendition_not_possible, storage_limit_reached, ffmpeg_missing
   */
  async create(turn: Turn, assetId: string, settings: RenditionSettings): Promise<RenditionData> {
    const asset = await findAsset(turn.sql, assetId)
    if (asset === undefined) throw NotFound()
    const { kind, seconds, type: mime } = asset
    const spec = specOf(settings, { kind, mime })
    // Before the file has been probed, it is unknown whether it has audio.
    const hasAudio = asset.videoCodec === null ? null : asset.audioCodec !== null
    this.#check(spec, { kind, mime, seconds, hasAudio })
    const existing = await assetRenditions.first(turn.sql, { assetId, spec })
    const jobIds = existing?.state === 'pending' && existing.jobId !== null ? [existing.jobId] : []
    const isRunning = jobIds.length > 0 && (await openJobs(turn.sql, jobIds)).size > 0
    if (existing !== undefined && (existing.state === 'ready' || isRunning))
      return this.#dependencies.views.rendition(existing)
    if (needsFfmpeg(mime)) this.#dependencies.requireFfmpeg()
    const { planUses, quota } = this.#dependencies
    await quota.requireSpace(turn.sql, turn.workspaceId)
    await planUses.take(turn.sql, turn.workspaceId, 'rendersPerMonth')
    const rendition = await this.#start(turn, { id: existing?.id, assetId, name: settings.preset ?? 'custom', spec })
    turn.audit({ kind: 'rendition', id: rendition._id })
    return rendition
  }

  /** Requests the preview of a long video that has been examined, unless it has one or too little storage is left. */
  async preview(turn: Turn, { id: assetId, kind, seconds, thumbnailState }: AssetRow): Promise<void> {
    const { previewSeconds, quota } = this.#dependencies
    if (previewSeconds === 0 || kind !== 'video' || thumbnailState !== 'ready' || (seconds ?? 0) < previewSeconds)
      return
    if (await assetRenditions.exists(turn.sql, { assetId, spec: PREVIEW_SPEC })) return
    if (!(await quota.hasSpace(turn.sql, turn.workspaceId, maxPreviewBytes(seconds ?? 0)))) return
    await this.#start(turn, { assetId, name: PREVIEW_PRESET, spec: PREVIEW_SPEC })
  }

  async #start(
    turn: Turn,
    request: { id?: string | undefined; assetId: string; name: string; spec: RenditionSpec },
  ): Promise<RenditionData> {
    const now = new Date(this.#dependencies.clock.now())
    const id = request.id ?? uuidv7(now.getTime())
    const jobId = turn.job(makeRendition, { renditionId: id })
    await assetRenditions.upsert(
      turn.sql,
      {
        id,
        workspaceId: turn.workspaceId,
        assetId: request.assetId,
        name: request.name,
        spec: request.spec,
        state: 'pending',
        progress: 0,
        error: null,
        jobId,
        createdAt: now,
        updatedAt: now,
      },
      ['id'],
      ['state', 'progress', 'error', 'jobId', 'updatedAt'],
    )
    return this.#emitUpdated(turn, id)
  }

  /** Deletes a rendition. If it is still being made, the work stops within two seconds. @throws AppError not_found */
  async remove(turn: Turn, assetId: string, id: string): Promise<void> {
    const [deleted] = await assetRenditions.deleteReturning(turn.sql, { id, assetId }, ['type'])
    if (deleted === undefined) throw NotFound()
    turn.audit({ kind: 'rendition', id })
    turn.emit(renditionDeleted, { assetId, renditionIds: [id] })
    const keys = renditionKeys(turn.workspaceId, id, deleted.type)
    turn.afterCommit(async () => {
      for (const key of keys) await this.#dependencies.storage.delete(key)
    })
    await this.#settled(turn, id)
  }

  /** Records the result of making a rendition. @returns false if the rendition has been deleted */
  async record(
    turn: Turn,
    { error, height, reservationId, id, seconds, size, type, width }: RenditionResult,
  ): Promise<boolean> {
    const changed = await assetRenditions.update(
      turn.sql,
      { id, state: 'pending' },
      {
        state: error === null ? 'ready' : 'failed',
        error,
        progress: error === null ? 100 : 0,
        type: type ?? null,
        size: size ?? null,
        width: width ?? null,
        height: height ?? null,
        seconds: seconds ?? null,
        updatedAt: new Date(this.#dependencies.clock.now()),
      },
    )
    if (reservationId !== undefined) await this.#dependencies.quota.release(reservationId, turn.sql)
    if (changed > 0) {
      await this.#emitUpdated(turn, id)
      await this.#settled(turn, id)
    }
    // Another attempt of the job may have recorded its result first. Then the rendition still exists.
    return changed > 0 || (await assetRenditions.exists(turn.sql, { id }))
  }

  async #settled(turn: Turn, id: string): Promise<void> {
    for (const listener of this.#listeners) await listener(turn, id)
  }

  async #emitUpdated(turn: Turn, id: string): Promise<RenditionData> {
    const row = await assetRenditions.first(turn.sql, { id })
    if (row === undefined) throw NotFound()
    const rendition = this.#dependencies.views.rendition(row)
    turn.emit(renditionUpdated, rendition)
    return rendition
  }

  #check(spec: RenditionSpec, source: SourceFacts): void {
    try {
      this.#dependencies.checkFitness(spec.kind === 'preview' ? { kind: 'video' } : spec, source)
    } catch (error) {
      if ((error as Error).name !== 'MediaWorkError') throw error
      throw RenditionNotPossible({ message: (error as Error).message, cause: error })
    }
  }
}

/** Deletes the pending renditions of assets that were moved to the bin, which cancels their jobs. */
export async function cancelRenditions(sql: Sql, assetIds: readonly string[]): Promise<void> {
  await assetRenditions.delete(sql, { assetId: anyOf(assetIds), state: 'pending' })
}
