import type { SourceFacts } from '../../../../media/work/transcode/fitness.ts'
import type { TranscodeSpec } from '../../../../media/work/transcode/spec.ts'
import type { Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import { uuidv7 } from '../../../core/id.ts'
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
import { AT_WORK, findAsset, renditionKeys, SELECT_RENDITION, type AssetRow, type RenditionRow } from './store.ts'
import type { AssetViews } from './views.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly renditions: Renditions
  }
}

/** What became of a rendition. */
export interface Made {
  readonly id: string
  /** Why there is none. */
  readonly error: string | null
  readonly type?: string
  readonly size?: number
  readonly width?: number | null
  readonly height?: number | null
  readonly seconds?: number | null
  /** Room held for it, which it now takes itself. */
  readonly heldAs?: string
}

interface RenditionsNeeds {
  readonly clock: Clock
  readonly storage: Storage
  readonly quota: Quota
  readonly views: AssetViews
  /** Videos at least so long get a preview by themselves; 0: none. */
  readonly previewSeconds: number
  /** @throws MediaWorkError for what cannot be made of such a file */
  readonly checkFitness: (spec: TranscodeSpec, source: SourceFacts) => void
}

/** Renditions of assets: ordered, cancelled, and what became of them. All of it in turns of their workspace. */
export class Renditions {
  readonly #needs: RenditionsNeeds
  readonly #followers: ((turn: Turn, id: string) => Promise<void>)[] = []

  constructor(needs: RenditionsNeeds) {
    this.#needs = needs
  }

  /** Calls back when one is ready, has failed or was deleted by itself, in the same turn. */
  onSettled(follow: (turn: Turn, id: string) => Promise<void>): void {
    this.#followers.push(follow)
  }

  /**
   * Orders a rendition. The same of the same asset is made once; one that failed is tried again.
   * @throws AppError not_found, rendition_not_possible, storage_limit_reached
   */
  async order(turn: Turn, assetId: string, settings: RenditionSettings): Promise<RenditionData> {
    const asset = await findAsset(turn.sql, assetId)
    if (asset === undefined) throw NotFound()
    const { kind, seconds, type: mime } = asset
    const spec = specOf(settings, { kind, mime })
    // What was probed is known whole; before that nobody can say that there is no sound.
    const hasAudio = asset.video_codec === null ? null : asset.audio_codec !== null
    this.#check(spec, { kind, mime, seconds, hasAudio })
    const known = await turn.sql.row<RenditionRow & { readonly at_work: boolean }>(
      `select ${SELECT_RENDITION}, ${AT_WORK} as at_work from asset_renditions r where asset_id = $1 and spec = $2::jsonb`,
      [assetId, JSON.stringify(spec)],
    )
    if (known?.state === 'ready' || (known?.state === 'pending' && known.at_work))
      return this.#needs.views.rendition(known)
    await this.#needs.quota.requireRoom(turn.sql, turn.workspaceId)
    const begun = await this.#begin(turn, { id: known?.id, assetId, name: settings.preset ?? 'custom', spec })
    turn.audit({ kind: 'rendition', id: begun._id })
    return begun
  }

  /** Orders the preview of a long video that was looked at, where there is none yet and the plan has room for it. */
  async preview(turn: Turn, { id: assetId, kind, seconds, thumbnail_state: looked }: AssetRow): Promise<void> {
    const { previewSeconds, quota } = this.#needs
    if (previewSeconds === 0 || kind !== 'video' || looked !== 'ready' || (seconds ?? 0) < previewSeconds) return
    const known = await turn.sql.row('select 1 as one from asset_renditions where asset_id = $1 and spec = $2::jsonb', [
      assetId,
      JSON.stringify(PREVIEW_SPEC),
    ])
    if (known !== undefined) return
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
    await turn.sql.run(
      `insert into asset_renditions (id, workspace_id, asset_id, name, spec, state, progress, job_id, created_at, updated_at)
       values ($1, $2, $3, $4, $5, 'pending', 0, $6, $7, $7)
       on conflict (id) do update set state = 'pending', progress = 0, error = null, job_id = $6, updated_at = $7`,
      [id, turn.workspaceId, order.assetId, order.name, JSON.stringify(order.spec), jobId, now],
    )
    return this.#told(turn, id)
  }

  /** Deletes a rendition; what is still made of it stops within a second or two. @throws AppError not_found */
  async remove(turn: Turn, assetId: string, id: string): Promise<void> {
    const gone = await turn.sql.row<{ type: string | null }>(
      'delete from asset_renditions where id = $1 and asset_id = $2 returning type',
      [id, assetId],
    )
    if (gone === undefined) throw NotFound()
    turn.audit({ kind: 'rendition', id })
    turn.emit(renditionDeleted, { assetId, renditionIds: [id] })
    const keys = renditionKeys(turn.workspaceId, id, gone.type)
    turn.afterCommit(async () => {
      for (const key of keys) await this.#needs.storage.delete(key)
    })
    await this.#settled(turn, id)
  }

  /** Writes down what became of a rendition. @returns false when nobody wants it any more */
  async note(turn: Turn, { error, height, heldAs, id, seconds, size, type, width }: Made): Promise<boolean> {
    const changed = await turn.sql.run(
      `update asset_renditions set state = $2, error = $3, progress = $4, type = $5, size = $6, width = $7, height = $8,
         seconds = $9, updated_at = $10 where id = $1 and state = 'pending'`,
      [
        id,
        error === null ? 'ready' : 'failed',
        error,
        error === null ? 100 : 0,
        type ?? null,
        size ?? null,
        width ?? null,
        height ?? null,
        seconds ?? null,
        new Date(this.#needs.clock.now()),
      ],
    )
    if (heldAs !== undefined) await this.#needs.quota.release(heldAs, turn.sql)
    if (changed > 0) {
      await this.#told(turn, id)
      await this.#settled(turn, id)
    }
    // Made by another try meanwhile, it is wanted all the same.
    return (
      changed > 0 || (await turn.sql.row('select 1 as one from asset_renditions where id = $1', [id])) !== undefined
    )
  }

  async #settled(turn: Turn, id: string): Promise<void> {
    for (const follow of this.#followers) await follow(turn, id)
  }

  async #told(turn: Turn, id: string): Promise<RenditionData> {
    const row = await turn.sql.row<RenditionRow>(`select ${SELECT_RENDITION} from asset_renditions r where id = $1`, [
      id,
    ])
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

/** Renditions of assets that went to the bin are made no further. */
export async function cancelRenditions(sql: Sql, assetIds: readonly string[]): Promise<void> {
  await sql.run(`delete from asset_renditions where asset_id = any($1) and state = 'pending'`, [assetIds])
}
