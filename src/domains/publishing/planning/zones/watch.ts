import { jsonArrayFrom } from 'kysely/helpers/postgres'
import { DAY, type Clock } from '../../../../core/clock.ts'
import type { Logger } from '../../../../core/log.ts'
import type { Sql } from '../../../../core/sql.ts'
import type { TurnRunner } from '../../../../core/system-turn.ts'
import { query } from '../../../../db/query.ts'
import { rederive, type ZoneRules } from '../../calendar/index.ts'
import { posts, postTargets } from '../../posts/index.ts'
import type { PlannedTime } from '../time.ts'
import { zoneChecks } from './tables.ts'
import { moveTimes } from './turns.ts'

/** The row of `zone_checks`. */
const NAME = 'posts'
/** A node with older rules can write a time after the check, while a new version is rolled out. */
const AGAIN_MS = DAY
/** Posts that one statement reads, whether or not they are still to come: to look for those could read all posts. */
const PAGE = 500

/** A time of a post, or of one of its targets, that the rules of its zone have moved. */
export interface MovedTime {
  /** Null for the time of the post itself. */
  readonly targetId: string | null
  /** The instant before. */
  readonly from: string
  readonly time: PlannedTime
}

interface Needs {
  readonly sql: Sql
  readonly clock: Clock
  readonly turns: TurnRunner
  readonly rules: ZoneRules
  /** The version of the rules, such as `2025c`. */
  readonly version: string
}

/**
 * Keeps the instants of posts in step with the rules of their zones. Posts go out at the wall clock that people chose,
 * so a new version of tzdata moves the instant. Only a node with the newest version moves times.
 */
export class ZoneWatch {
  readonly #needs: Needs

  constructor(needs: Needs) {
    this.#needs = needs
  }

  async run(signal: AbortSignal, log: Logger): Promise<void> {
    const { clock, sql, turns, version } = this.#needs
    const known = await zoneChecks.first(sql, { name: NAME })
    const now = clock.now()
    if (known !== undefined && known.version > version) return
    if (known?.version === version && now - Date.parse(known.checkedAt) < AGAIN_MS) return
    let count = 0
    let isComplete = true
    for await (const { moved, postId, workspaceId } of this.#moved(now)) {
      if (signal.aborted) return
      try {
        await turns.system(workspaceId, moveTimes, { postId, moved, version })
        count += 1
      } catch (error) {
        // One workspace whose turns fail must not keep back the others. The next run tries it again.
        isComplete = false
        log.error({ error, postId }, 'the time of a post could not be moved')
      }
    }
    if (count > 0)
      log.warn({ count, version }, 'times of posts were moved, because the rules of their zones have changed')
    if (!isComplete) return
    const checkedAt = new Date(now).toISOString()
    await zoneChecks.upsert(sql, { name: NAME, version, checkedAt }, ['name'])
  }

  /** The posts that are still to come and whose times have moved. */
  async *#moved(now: number): AsyncGenerator<{ postId: string; workspaceId: string; moved: MovedTime[] }> {
    let last = FIRST_ID
    for (;;) {
      const rows = await timesOfPosts.rows(this.#needs.sql, { now: new Date(now).toISOString(), last })
      for (const { at, id: postId, local, targets, workspaceId, zone } of rows) {
        const times: Time[] = [{ target: null, local, zone, at }, ...targets]
        const moved = times.flatMap((time) => this.#movedTime(time, now))
        if (moved.length > 0) yield { postId, workspaceId, moved }
      }
      const end = rows.at(-1)
      if (end === undefined || rows.length < PAGE) return
      last = end.id
    }
  }

  #movedTime({ at, local, target, zone }: Time, now: number): MovedTime[] {
    if (at === null || local === null || zone === null) return []
    const instant = new Date(at)
    if (instant.getTime() <= now) return []
    const derived = rederive({ wallClock: local, timezone: zone, instant }, this.#needs.rules)
    if (derived.moved === null) return []
    const { adjustment, moved } = derived
    const time = { localTime: local, timeZone: zone, scheduledAt: moved.to.toISOString(), adjustment }
    return [{ targetId: target, from: instant.toISOString(), time }]
  }
}

const FIRST_ID = '00000000-0000-0000-0000-000000000000'

interface Time {
  readonly target: string | null
  readonly local: string | null
  readonly zone: string | null
  readonly at: string | null
}

/** A page of all posts, with their targets whose time is after `now`. */
const timesOfPosts = query({ posts, postTargets }, (db, $: { now: string; last: string }) =>
  db
    .selectFrom('posts as p')
    .select((e) => {
      const targets = e
        .selectFrom('postTargets as t')
        .select(['t.id as target', 't.localTime as local', 't.timeZone as zone', 't.scheduledAt as at'])
        .whereRef('t.postId', '=', 'p.id')
        .where('t.scheduledAt', '>', $.now)
      return [
        'p.id',
        'p.workspaceId',
        'p.localTime as local',
        'p.timeZone as zone',
        'p.scheduledAt as at',
        jsonArrayFrom(targets).as('targets'),
      ]
    })
    .where('p.id', '>', $.last)
    .where('p.deletedAt', 'is', null)
    .orderBy('p.id')
    .limit(PAGE),
)
