import type { Clock } from '../../../../core/clock.ts'
import { NotFound } from '../../../../core/errors.ts'
import { AppError } from '../../../../core/error.ts'
import type { Turn } from '../../../../core/turn.ts'
import { saveVersion, type TargetStatus, loadPost, type LoadedPost, type TargetRow } from '../../posts/index.ts'
import { scheduled, startBy, timesOf } from '../planning.ts'
import { postMoved } from './events.ts'
import type { MovedTime } from './watch.ts'

/** States in which the time of a target is still to come. */
const OPEN: readonly TargetStatus[] = ['draft', 'in_review', 'ready', 'scheduled', 'failed', 'cancelled']

export interface MoveInput {
  readonly postId: string
  readonly moved: readonly MovedTime[]
  /** Of tzdata. */
  readonly version: string
}

/** Moves the times of posts after a change of the rules of their zones, in turns. */
export class TimeMover {
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Moves what still has the time that was read. Does nothing if it was moved or changed meanwhile. */
  async move(turn: Turn, { moved, postId, version }: MoveInput): Promise<void> {
    const before = await found(turn, postId)
    if (before === undefined) return
    const at = new Date(this.#clock.now()).toISOString()
    const own = moved.find(({ targetId }) => targetId === null)
    const isOwn = own !== undefined && hasTime(before.post, own)
    const { lateMinutes } = before.post
    const done = new Set<MovedTime>(isOwn ? [own] : [])
    const targets = before.targets.map((target) => {
      const wanted = moved.find(({ targetId }) => targetId === target.id)
      if (wanted === undefined || !OPEN.includes(target.status) || !hasTime(target, wanted)) return target
      done.add(wanted)
      return movedTarget(turn, target, { time: wanted.time, lateMinutes, at })
    })
    if (done.size === 0) return
    const post = { ...before.post, ...(isOwn && timesOf(own.time)) }
    await saveVersion(turn, before, { post, targets }, { kind: 'zone_changed', authorId: null, now: this.#clock.now() })
    const accounts = new Map(before.targets.map(({ accountId, id }) => [id, accountId]))
    turn.emit(postMoved, {
      postId,
      tzdataVersion: version,
      times: [...done].map(({ from, targetId, time }) => ({
        accountId: targetId === null ? null : (accounts.get(targetId) ?? null),
        localTime: time.localTime,
        timezone: time.timeZone,
        from,
        to: time.scheduledAt,
      })),
    })
  }
}

function hasTime(
  { localTime, scheduledAt, timeZone }: Pick<TargetRow, 'localTime' | 'scheduledAt' | 'timeZone'>,
  { from, time }: MovedTime,
): boolean {
  return scheduledAt === from && localTime === time.localTime && timeZone === time.timeZone
}

/** A scheduled target gets a new job. What holds it stays. */
function movedTarget(turn: Turn, target: TargetRow, planned: Parameters<typeof scheduled>[2]): TargetRow {
  const { problem } = target
  if (target.status === 'scheduled') return { ...scheduled(turn, target, planned), problem }
  const end = target.startBy === null ? null : startBy(planned.time, planned.lateMinutes)
  return { ...target, ...timesOf(planned.time), startBy: end, updatedAt: planned.at }
}

async function found(turn: Turn, id: string): Promise<LoadedPost | undefined> {
  try {
    return await loadPost(turn.sql, id)
  } catch (error) {
    if (error instanceof AppError && error.code === NotFound().code) return undefined
    throw error
  }
}
