import type { Sql } from '../../../core/sql.ts'
import { anyOf } from '../../../db/condition.ts'
import type { DesiredState } from '../streams/index.ts'
import { streamBroadcasts } from './tables.ts'

/** The files to play, by their keys in the storage. */
export interface DesiredPlayout {
  readonly id: string
  readonly items: readonly { readonly key: string }[]
  readonly loop: boolean
  readonly paused: boolean
  /** The last stored position. */
  readonly item: number
  readonly ms: number
  readonly cue: number
  /** The node that plays it. */
  readonly nodeId: string | null
}

/** The desired state of a stream, with its playout. */
export interface DesiredStateWithPlayout extends DesiredState {
  readonly playout?: DesiredPlayout
}

/** The running or paused playout of a stream. */
export async function desiredPlayout(sql: Sql, streamId: string): Promise<DesiredPlayout | undefined> {
  const row = await streamBroadcasts.first(sql, { streamId, status: anyOf(['playing', 'paused'] as const) })
  if (row === undefined) return undefined
  const { cue, id, item, items, loop, nodeId, positionMs: ms, status } = row
  return { id, items, loop, paused: status === 'paused', item, ms, cue, nodeId }
}
