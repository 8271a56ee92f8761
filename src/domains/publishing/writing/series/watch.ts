import type { Clock } from '../../../../core/clock.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { TurnRunner } from '../../../../core/system-turn.ts'
import { atMost } from '../../../../db/condition.ts'
import { postSeries } from './tables.ts'
import { makeOccurrencesTurn } from './turns.ts'

const BATCH = 200

/** Finds the series whose posts are due to be made. Their turns decide what is made, so a second run does no harm. */
export class SeriesWatch {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #turns: TurnRunner

  constructor(sql: Sql, clock: Clock, turns: TurnRunner) {
    this.#sql = sql
    this.#clock = clock
    this.#turns = turns
  }

  async run(signal: AbortSignal, log: Logger): Promise<void> {
    const failed = new Set<string>()
    for (;;) {
      const now = new Date(this.#clock.now()).toISOString()
      const due = await postSeries.find(
        this.#sql,
        { status: 'active', dueAt: atMost<string | null>(now) },
        { columns: ['id', 'workspaceId'], orderBy: ['dueAt asc'], limit: BATCH + failed.size },
      )
      const open = due.filter(({ id }) => !failed.has(id))
      if (open.length === 0) return
      for (const { id: seriesId, workspaceId } of open) {
        if (signal.aborted) return
        try {
          await this.#turns.system(workspaceId, makeOccurrencesTurn, { seriesId })
        } catch (error) {
          // One series whose turns fail must not keep back the others. It is tried again in the next run.
          failed.add(seriesId)
          log.error({ error, seriesId }, 'the posts of a series could not be made')
        }
      }
    }
  }
}
