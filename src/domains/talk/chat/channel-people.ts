import type { Channels } from '../../../core/ports.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import type { Coordination } from '../../../coordination/coordination.ts'

const NOTICE = 'channel-people'

/** Who is in which private channels and direct conversations, for whoever must know outside of turns. */
export class ChannelPeople implements Channels {
  readonly #sql: Sql
  readonly #coordination: Coordination

  constructor(sql: Sql, coordination: Coordination) {
    this.#sql = sql
    this.#coordination = coordination
  }

  async of(workspaceId: string, userIds: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const rows = await this.#sql.rows<{ user_id: string; channels: string[] }>(
      `select user_id, array_agg(channel_id::text) as channels from channel_members
       where workspace_id = $1 and user_id = any($2) group by user_id`,
      [workspaceId, userIds],
    )
    return new Map(rows.map((row) => [row.user_id, row.channels]))
  }

  async isPublic(workspaceId: string, channelId: string): Promise<boolean> {
    const row = await this.#sql.row('select id from channels where workspace_id = $1 and id = $2 and not private', [
      workspaceId,
      channelId,
    ])
    return row !== undefined
  }

  /** Says to every node, once the turn is committed, that people have come into or left channels. */
  changed(turn: Turn): void {
    const { workspaceId } = turn
    turn.afterCommit(() => this.changedIn(workspaceId))
  }

  /** Says to every node that people may have come into or left channels of a workspace. */
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
