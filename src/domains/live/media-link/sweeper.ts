import type { Clock } from '../../../core/clock.ts'
import type { Logger } from '../../../core/log.ts'
import type { Sql } from '../../../core/sql.ts'
import type { AnySystemTurn, TurnRunner } from '../../../core/system-turn.ts'
import type { MediaDirectory } from '../media-nodes/index.ts'
import { expireStream, loseIngest } from '../streams/index.ts'

const EVERY_MS = 1_000
/** Streams taken up in one round. */
const MOST = 200

export interface SweeperOptions {
  readonly sql: Sql
  readonly clock: Clock
  readonly turns: TurnRunner
  readonly media: MediaDirectory
  readonly log: Logger
}

interface Due {
  readonly id: string
  readonly workspace_id: string
  readonly ingest_node: string
}

/**
 * Acts on what time brings, from what the database says, so that no restart loses it: ends streams whose publisher did
 * not come back, and notes publishers whose media node is gone. Any number of nodes may sweep: the turn decides.
 */
export class Sweeper {
  readonly #options: SweeperOptions
  readonly #timer: NodeJS.Timeout
  #running: Promise<void> | undefined
  #failing = false

  constructor(options: SweeperOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.sweep(), EVERY_MS)
    this.#timer.unref()
  }

  /** One round. Never rejects: what failed is tried again in the next one. */
  sweep(): Promise<void> {
    this.#running ??= this.#round()
    return this.#running
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  async #round(): Promise<void> {
    try {
      await this.#sweep()
      this.#failing = false
    } catch (error) {
      if (!this.#failing) this.#options.log.warn({ error }, 'streams could not be swept; trying again every second')
      this.#failing = true
    } finally {
      this.#running = undefined
    }
  }

  async #sweep(): Promise<void> {
    const { clock, media, sql } = this.#options
    const now = clock.now()
    const expired = await sql.rows<Due>(
      `select id, workspace_id from streams
       where status = 'interrupted' and status_since + hold_seconds * interval '1 second' <= $1
       order by status_since limit ${MOST}`,
      [new Date(now)],
    )
    await this.#each(expired, expireStream, (due) => ({ streamId: due.id, now }))
    if (!(await media.isSure())) return
    const lost = await sql.rows<Due>(
      `select id, workspace_id, ingest_node from streams where ingest_node is not null and ingest_node <> all($1)
       union all
       select id, workspace_id, media_node from streams s
       where status = 'interrupted' and ingest_node is null and media_node <> all($1) and exists
         (select from stream_destinations d where d.stream_id = s.id and d.status in ('live', 'congested'))
       limit ${MOST}`,
      [media.present()],
    )
    await this.#each(lost, loseIngest, (due) => ({
      streamId: due.id,
      nodeId: due.ingest_node,
      at: new Date(now).toISOString(),
    }))
  }

  async #each(rows: readonly Due[], turn: AnySystemTurn, input: (due: Due) => unknown): Promise<void> {
    await Promise.all(rows.map((due) => this.#options.turns.system(due.workspace_id, turn, input(due))))
  }
}
