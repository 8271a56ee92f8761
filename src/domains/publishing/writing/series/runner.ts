import { AppError } from '../../../../core/error.ts'
import type { Clock } from '../../../../core/clock.ts'
import type { Turn } from '../../../../core/turn.ts'
import { anyOf } from '../../../../db/condition.ts'
import { requireStillMember } from '../../../workspace/workspaces/index.ts'
import { posts, type TargetProblem } from '../../posts/index.ts'
import { dueOccurrences, SeriesDates } from './dates.ts'
import { recurringPostUpdated } from './events.ts'
import { makeOccurrences } from './jobs.ts'
import type { OccurrenceMaker } from './maker.ts'
import { notifyFailed, notifyPaused } from './notices.ts'
import { REASONS } from './reasons.ts'
import { postSeries, type SeriesRow } from './tables.ts'
import { summaryOf } from './views.ts'

/** Posts that one turn makes, so that other turns of the workspace do not wait long. */
const MAX_A_TURN = 10

/**
 * Makes the posts of series ahead, in turns. The posts and the mark of how far they are made (`madeUntil`) commit
 * together, and the turns of a workspace run one after the other, so each occurrence is made once, on however many
 * nodes and however often this runs.
 */
export class SeriesRunner {
  readonly #clock: Clock
  readonly #maker: OccurrenceMaker

  constructor(clock: Clock, maker: OccurrenceMaker) {
    this.#clock = clock
    this.#maker = maker
  }

  async run(turn: Turn, id: string): Promise<void> {
    const row = await postSeries.first(turn.sql, { id, status: 'active' })
    if (row === undefined) return
    if (!(await canWrite(turn, row.authorId))) return this.#pause(turn, row)
    const now = this.#clock.now()
    const { due, dueAt } = dueOccurrences(new SeriesDates(row), row.madeUntil, now)
    const passed = due.filter((one) => this.#maker.hasPassed(row, one))
    // Only the last one is a post that waits for a decision; a long outage would make a flood of them.
    const lastPassed = dueAt === now && passed.length === due.length ? undefined : passed.at(-1)
    const known = new Set(
      await knownKeys(
        turn,
        id,
        due.map(({ key }) => key),
      ),
    )
    const problems: TargetProblem[] = []
    let [madeUntil, madeCount, made] = [row.madeUntil, row.madeCount, 0]
    let isMore = dueAt === now
    for (const one of due) {
      const isNeeded = !known.has(one.key) && (one === lastPassed || !passed.includes(one))
      if (isNeeded && made === MAX_A_TURN) {
        isMore = true
        break
      }
      if (isNeeded) {
        const result = await this.#maker.make(turn, row, one, madeCount)
        problems.push(...result.problems)
        made += 1
      }
      madeUntil = one.key
      madeCount += 1
    }
    const hasEnded = dueAt === null && !isMore
    const at = new Date(now).toISOString()
    const missed = passed.filter(({ key }) => !known.has(key))
    const [first, last] = [missed[0], missed.at(-1)]
    const changes = {
      madeUntil,
      madeCount,
      missedCount: row.missedCount + missed.length,
      ...(first !== undefined && last !== undefined && { problem: REASONS.missed(missed.length, first.key, last.key) }),
      ...(hasEnded && { status: 'ended' as const, endedAt: at }),
      dueAt: hasEnded ? null : new Date(isMore ? now : (dueAt ?? now)).toISOString(),
      updatedAt: at,
    }
    await postSeries.update(turn.sql, { id }, changes)
    if (isMore) turn.job(makeOccurrences, { seriesId: id })
    turn.emit(recurringPostUpdated, summaryOf({ ...row, ...changes }))
    if (problems.length > 0) notifyFailed(turn, row, problems)
  }

  /** Pauses the series of a workspace whose author can no longer write posts. */
  async checkAuthors(turn: Turn): Promise<void> {
    const { workspaceId } = turn
    for (const row of await postSeries.find(turn.sql, { workspaceId, status: 'active' })) {
      if (!(await canWrite(turn, row.authorId))) await this.#pause(turn, row)
    }
  }

  async #pause(turn: Turn, row: SeriesRow): Promise<void> {
    const now = this.#clock.now()
    const changes = {
      status: 'paused' as const,
      version: row.version + 1,
      problem: REASONS.noAccess,
      dueAt: null,
      updatedAt: new Date(now).toISOString(),
    }
    await postSeries.update(turn.sql, { id: row.id }, changes)
    turn.emit(recurringPostUpdated, summaryOf({ ...row, ...changes }))
    await notifyPaused(turn, row)
  }
}

/** Whether a user is a member who can write posts. */
async function canWrite(turn: Turn, userId: string): Promise<boolean> {
  try {
    await requireStillMember(turn, userId, 'posts:write')
    return true
  } catch (error) {
    if (error instanceof AppError) return false
    throw error
  }
}

async function knownKeys(turn: Turn, seriesId: string, keys: readonly string[]): Promise<string[]> {
  const rows = await posts.find(
    turn.sql,
    { seriesId, occurrence: anyOf<string | null>(keys) },
    { columns: ['occurrence'] },
  )
  return rows.flatMap(({ occurrence }) => occurrence ?? [])
}
