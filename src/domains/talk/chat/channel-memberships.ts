import { sql } from 'kysely'
import type { Channels } from '../../../core/ports.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Coordination } from '../../../coordination/coordination.ts'
import { query } from '../../../db/query.ts'
import { channels, chatTables } from './tables.ts'

const NOTICE = 'channel-memberships'

const channelsByMember = query(chatTables, (db, $: { workspaceId: string; userIds: readonly string[] }) =>
  db
    .selectFrom('channelMembers')
    .select((e) => ['userId', e.fn.agg<string[]>('array_agg', ['channelId']).as('channelIds')])
    .where('workspaceId', '=', $.workspaceId)
    .where('userId', '=', sql<string>`any(${$.userIds})`)
    .groupBy('userId'),
)

/** Reads the members of private channels and direct conversations, outside of turns. */
export class ChannelMemberships implements Channels {
  readonly #sql: Sql
  readonly #coordination: Coordination

  constructor(database: Sql, coordination: Coordination) {
    this.#sql = database
    this.#coordination = coordination
  }

  async of(workspaceId: string, userIds: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const rows = await channelsByMember.rows(this.#sql, { workspaceId, userIds })
    return new Map(rows.map((row) => [row.userId, row.channelIds]))
  }

  async isPublic(workspaceId: string, channelId: string): Promise<boolean> {
    return channels.exists(this.#sql, { workspaceId, id: channelId, private: false })
  }

  /** Notifies every node, after the commit, that members of channels have changed. */
  changed(turn: Turn): void {
    const { workspaceId } = turn
    turn.afterCommit(() => this.changedIn(workspaceId))
  }

  /** Notifies every node that members of a workspace's channels may have changed. */
  changedIn(workspaceId: string): void {
    this.#coordination.publish(NOTICE, workspaceId)
  }

  onChange(listener: (workspaceId: string | undefined) => void): () => void {
    const ends = [
      this.#coordination.subscribe(NOTICE, (workspaceId) => listener(workspaceId as string)),
      this.#coordination.onRecovered(() => listener(undefined)),
    ]
    return () => {
      for (const end of ends) end()
    }
  }
}
