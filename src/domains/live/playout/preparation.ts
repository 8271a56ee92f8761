import { playableRenditions, usableRenditions, type RenditionRequests } from '../../media/assets/index.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Prepare } from './choice.ts'
import { broadcastsAwaiting, preparedRenditions } from './store.ts'
import type { BroadcastItem, BroadcastRow } from './tables.ts'

/** Converts files that not all platforms can play. Each gets a rendition that all platforms can play. */
export class Preparation {
  readonly #renditions: RenditionRequests

  constructor(renditions: RenditionRequests) {
    this.#renditions = renditions
  }

  /** Finds or orders the rendition of an asset. @throws AppError rendition_not_possible, storage_limit_reached */
  orderFor(turn: Turn): Prepare {
    return async (assetId) => {
      const known = await usableRenditions(turn.sql, assetId)
      const { _id: id } = await this.#renditions.create(turn, assetId, { preset: 'live' })
      return { id, isNew: !known.has(id) }
    }
  }

  /** The files, with errors where a conversion failed, and whether all others are ready. */
  async look(turn: Turn, items: readonly BroadcastItem[]): Promise<{ items: BroadcastItem[]; isReady: boolean }> {
    const ids = preparedRenditions(items)
    if (ids.length === 0) return { items: [...items], isReady: true }
    const found = await playableRenditions(turn.sql, turn.workspaceId, ids)
    const looked = items.map((item) => {
      if (item.prepared === undefined || item.error !== undefined) return item
      const rendition = found.get(item.renditionId ?? '')
      if (rendition === undefined) return { ...item, error: 'The rendition for the broadcast was deleted.' }
      if (rendition.state !== 'failed') return item
      return { ...item, error: `The file could not be converted for live platforms: ${rendition.error}` }
    })
    const isReady = looked.every(
      ({ error, prepared, renditionId }) =>
        prepared === undefined || error !== undefined || found.get(renditionId ?? '')?.state === 'ready',
    )
    return { items: looked, isReady }
  }

  /** Cancels the conversions that were ordered for a broadcast, unless another broadcast waits for them. */
  async cancel(turn: Turn, { id, items }: BroadcastRow): Promise<void> {
    for (const { assetId, prepared, renditionId } of items) {
      if (prepared !== 'ordered' || renditionId === null) continue
      const others = await broadcastsAwaiting(turn.sql, turn.workspaceId, renditionId)
      const rendition = (await playableRenditions(turn.sql, turn.workspaceId, [renditionId])).get(renditionId)
      if (rendition?.state !== 'pending' || others.some((other) => other.id !== id)) continue
      await this.#renditions.remove(turn, assetId, renditionId)
    }
  }
}
