import type { SourceFacts } from '../../../../media/work/transcode/fitness.ts'
import type { TranscodeSpec } from '../../../../media/work/transcode/spec.ts'
import type { Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../core/id.ts'
import { anyOf } from '../../../db/condition.ts'
import { openJobs } from '../../../jobs/open-jobs.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Storage } from '../../../storage/storage.ts'
import { RenditionNotPossible } from './errors.ts'
import { renditionUpdated, renditionDeleted } from './events.ts'
import { makeRendition } from './jobs.ts'
import type { Quota } from './quota.ts'
import {
  mostPreviewBytes,
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

/** The outcome of making a rendition. */
export interface Made {
  readonly id: string
  /** Why it failed. */
  readonly error: string | null
  readonly type?: string
  readonly size?: number
  readonly width?: number | null
  readonly height?: number | null
  readonly seconds?: number | null
  /** The reservation that held room for it. It ends now that the rendition itself counts. */
  readonly heldAs?: string
}

interface RenditionOrdersNeeds {
  readonly clock: Clock
  readonly storage: Storage
  readonly quota: Quota
  readonly views: AssetViews
  /** Videos of this length or longer get a preview automatically. 0 turns that off. */
  readonly previewSeconds: number
  /** @throws MediaWorkError if such a rendition cannot be made of the file */
  readonly checkFitness: (spec: TranscodeSpec, source: SourceFacts) => void
}

/** Orders, cancels and settles renditions of assets, in turns of their workspace. */
export class RenditionOrders {
  readonly #needs: RenditionOrdersNeeds
  readonly #followers: ((turn: Turn, id: string) => Promise<void>)[] = []

  constructor(needs: RenditionOrdersNeeds) {
    this.#needs = needs
  }

  /** Adds a callback for when a rendition is ready, has failed or was deleted. It runs in the same turn. */
  onSettled(follow: (turn: Turn, id: string) => Promise<void>): void {
    this.#followers.push(follow)
  }

  /**
   * Orders a rendition. The same settings of the same asset give the same rendition. One that failed is made again.
   * @throws AppError not_found, rendition_not_possible, storage_limit_reached
   */
  async order(turn: Turn, assetId: string, settings: RenditionSettings): Promise<RenditionData> {
    const asset = await findAsset(turn.sql, assetId)
    if (asset === undefined) throw NotFound()
    const { kind, seconds, type: mime } = asset
    const spec = specOf(settings, { kind, mime })
    // Before the file is probed, it is unknown whether it has sound.
    const hasAudio = asset.videoCodec === null ? null : asset.audioCodec !== null
    this.#check(spec, { kind, mime, seconds, hasAudio })
    const known = await assetRenditions.first(turn.sql, { assetId, spec })
    const jobIds = known?.state === 'pending' && known.jobId !== null ? [known.jobId] : []
    const isUnderWay = jobIds.length > 0 && (await openJobs(turn.sql, jobIds)).size > 0
    if (known !== undefined && (known.state === 'ready' || isUnderWay)) return this.#needs.views.rendition(known)
    await this.#needs.quota.requireRoom(turn.sql, turn.workspaceId)
    const begun = await this.#begin(turn, { id: known?.id, assetId, name: settings.preset ?? 'custom', spec })
    turn.audit({ kind: 'rendition', id: begun._id })
    return begun
  }

  /** Orders the preview of a long video that has been examined, unless it has one or the plan has no room for it. */
  async preview(turn: Turn, { id: assetId, kind, seconds, thumbnailState }: AssetRow): Promise<void> {
    const { previewSeconds, quota } = this.#needs
    if (previewSeconds === 0 || kind !== 'video' || thumbnailState !== 'ready' || (seconds ?? 0) < previewSeconds)
      return
    if (await assetRenditions.exists(turn.sql, { assetId, spec: PREVIEW_SPEC })) return
    if (!(await quota.hasRoom(turn.sql, turn.workspaceId, mostPreviewBytes(seconds ?? 0)))) return
    await this.#begin(turn, { assetId, name: PREVIEW_PRESET, spec: PREVIEW_SPEC })
  }

  async #begin(
    turn: Turn,
    order: { id?: string | undefined; assetId: string; name: string; spec: RenditionSpec },
  ): Promise<RenditionData> {
    const now = new Date(this.#needs.clock.now())
    const id = order.id ?? uuidv7(now.getTime())
    const jobId = turn.job(makeRendition, { renditionId: id })
    await assetRenditions.upsert(
      turn.sql,
      {
        id,
        workspaceId: turn.workspaceId,
        assetId: order.assetId,
        name: order.name,
        spec: order.spec,
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
    return this.#told(turn, id)
  }

  /** Deletes a rendition. If it is still being made, the work stops within a second or two. @throws AppError not_found */
  async remove(turn: Turn, assetId: string, id: string): Promise<void> {
    const [gone] = await assetRenditions.deleteReturning(turn.sql, { id, assetId }, ['type'])
    if (gone === undefined) throw NotFound()
    turn.audit({ kind: 'rendition', id })
    turn.emit(renditionDeleted, { assetId, renditionIds: [id] })
    const keys = renditionKeys(turn.workspaceId, id, gone.type)
    turn.afterCommit(async () => {
      for (const key of keys) await this.#needs.storage.delete(key)
    })
    await this.#settled(turn, id)
  }

  /** Records the outcome of making a rendition. @returns false if the rendition was deleted meanwhile */
  async note(turn: Turn, { error, height, heldAs, id, seconds, size, type, width }: Made): Promise<boolean> {
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
        updatedAt: new Date(this.#needs.clock.now()),
      },
    )
    if (heldAs !== undefined) await this.#needs.quota.release(heldAs, turn.sql)
    if (changed > 0) {
      await this.#told(turn, id)
      await this.#settled(turn, id)
    }
    // If another attempt of the job has made it meanwhile, it is still there.
    return changed > 0 || (await assetRenditions.exists(turn.sql, { id }))
  }

  async #settled(turn: Turn, id: string): Promise<void> {
    for (const follow of this.#followers) await follow(turn, id)
  }

  async #told(turn: Turn, id: string): Promise<RenditionData> {
    const row = await assetRenditions.first(turn.sql, { id })
    if (row === undefined) throw NotFound()
    const shown = this.#needs.views.rendition(row)
    turn.emit(renditionUpdated, shown)
    return shown
  }

  #check(spec: RenditionSpec, source: SourceFacts): void {
    try {
      this.#needs.checkFitness(spec.kind === 'preview' ? { kind: 'video' } : spec, source)
    } catch (error) {
      if ((error as Error).name !== 'MediaWorkError') throw error
      throw RenditionNotPossible({ message: (error as Error).message, cause: error })
    }
  }
}

/** Stops making the renditions of assets that were moved to the bin. */
export async function cancelRenditions(sql: Sql, assetIds: readonly string[]): Promise<void> {
  await assetRenditions.delete(sql, { assetId: anyOf(assetIds), state: 'pending' })
}
