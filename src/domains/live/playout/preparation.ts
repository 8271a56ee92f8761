import type { Renditions } from '../../media/assets/index.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Prepare } from './choice.ts'
import { broadcastsAwaiting, type BroadcastItem, type BroadcastRow } from './store.ts'

/** Files that no platform would take are made into some that all take, as renditions of their assets. */
export class Preparation {
  readonly #renditions: Renditions

  constructor(renditions: Renditions) {
    this.#renditions = renditions
  }

  /** Has the rendition of an asset made. @throws AppError rendition_not_possible, storage_limit_reached */
  orderFor(turn: Turn): Prepare {
    return async (assetId) => {
      const known = await turn.sql.rows<{ id: string }>(
        `select id from asset_renditions where asset_id = $1 and state <> 'failed'`,
        [assetId],
      )
      const { _id: id } = await this.#renditions.order(turn, assetId, { preset: 'live' })
      return { id, isNew: known.every((one) => one.id !== id) }
    }
  }

  /** The files with what has gone wrong in making them, and whether the others are all there. */
  async look(turn: Turn, items: readonly BroadcastItem[]): Promise<{ items: BroadcastItem[]; isReady: boolean }> {
    const ids = items.flatMap(({ prepared, renditionId }) => (prepared && renditionId ? [renditionId] : []))
    if (ids.length === 0) return { items: [...items], isReady: true }
    const rows = await turn.sql.rows<{ id: string; state: string; error: string | null }>(
      'select id, state, error from asset_renditions where id = any($1)',
      [ids],
    )
    const found = new Map(rows.map((row) => [row.id, row]))
    const looked = items.map((item) => {
      if (item.prepared === undefined || item.error !== undefined) return item
      const rendition = found.get(item.renditionId ?? '')
      if (rendition === undefined) return { ...item, error: 'What was made of it for the broadcast was deleted.' }
      if (rendition.state !== 'failed') return item
      return { ...item, error: `It could not be made into what live platforms take: ${rendition.error}` }
    })
    const isReady = looked.every(
      ({ error, prepared, renditionId }) =>
        prepared === undefined || error !== undefined || found.get(renditionId ?? '')?.state === 'ready',
    )
    return { items: looked, isReady }
  }

  /** Stops making what was ordered for a broadcast that does not come, unless another one waits for it. */
  async cancel(turn: Turn, { id, items }: BroadcastRow): Promise<void> {
    for (const { assetId, prepared, renditionId } of items) {
      if (prepared !== 'ordered' || renditionId === null) continue
      const others = await broadcastsAwaiting(turn.sql, turn.workspaceId, renditionId)
      const [pending] = await turn.sql.rows(
        `select 1 as one from asset_renditions where id = $1 and state = 'pending'`,
        [renditionId],
      )
      if (pending === undefined || others.some((other) => other.id !== id)) continue
      await this.#renditions.remove(turn, assetId, renditionId)
    }
  }
}
