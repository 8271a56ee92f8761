import type { Sql } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import type { DesiredState } from '../streams/index.ts'
import { streamBroadcasts } from './tables.ts'

/** Files that are to be played, by their keys in the storage. */
export interface DesiredPlayout {
  readonly id: string
  readonly items: readonly { readonly key: string }[]
  readonly loop: boolean
  readonly paused: boolean
  /** How far it was when that was last written. */
  readonly item: number
  readonly ms: number
  readonly cue: number
  /** The node that is to play it. */
  readonly nodeId: string | null
}

/** What a media node has to do with a stream on which files may be played. */
export interface DesiredStateWithPlayout extends DesiredState {
  readonly playout?: DesiredPlayout
}

/** What is played on a stream now. */
export async function desiredPlayout(sql: Sql, streamId: string): Promise<DesiredPlayout | undefined> {
  const row = await streamBroadcasts.first(sql, { streamId, status: anyOf(['playing', 'paused'] as const) })
  if (row === undefined) return undefined
  const { cue, id, item, items, loop, nodeId, positionMs: ms, status } = row
  return { id, items, loop, paused: status === 'paused', item, ms, cue, nodeId }
}
