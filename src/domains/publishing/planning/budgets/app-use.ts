import { sql as raw } from 'kysely'
import { DAY, MINUTE } from '../../../../core/clock.ts'
import { query } from '../../../../db/query.ts'
import {
  type PlanningScope,
  RESERVING,
  reservationsOf,
  type TargetStatus,
  posts,
  postTargets,
} from '../../posts/index.ts'
import type { Counted } from './windows.ts'

/** A reservation of any workspace, as the budget of an app counts it. */
export interface AppUse extends Counted {
  /** Posts, without the parts of their threads and their comments. */
  readonly posts: number
}

/** How many posts other workspaces can schedule while a turn counts without a lock. */
const MAX_AT_ONCE = 5_000

/** An arbitrary number for the advisory lock of turns that come near the limit of an app. */
const LOCK = 7_158_203

interface Loaded {
  readonly uses: Promise<readonly AppUse[]>
  readonly isLocked: boolean
  /** How many reservations the turn had released by then. It counts those of the database no more. */
  readonly releasedCount: number
}

/** By turn, platform and day: what the database had when the turn first asked. */
const loaded = new WeakMap<PlanningScope, Map<string, Loaded>>()

/**
 * What the accounts of all workspaces have reserved at a platform, less than a day around an instant. Workspaces do not
 * share an actor. So turns that come near the limit wait for each other until they commit, and count again.
 * @param allowed by the app
 */
export async function appUses(
  scope: PlanningScope,
  { allowed, at, platform }: { readonly platform: string; readonly at: number; readonly allowed: number },
): Promise<readonly AppUse[]> {
  const days = loadedBy(scope)
  const { releasedCount } = reservationsOf(scope)
  const day = Math.floor(at / DAY)
  const key = `${platform}/${day}`
  const read = async (isLocked: boolean) => {
    const entry: Loaded = { isLocked, releasedCount, uses: readUses(scope, platform, day) }
    days.set(key, entry)
    return entry.uses
  }
  const known = days.get(key)
  const own = ownUses(scope, platform)
  const all = [...(known === undefined ? await read(false) : await known.uses), ...own]
  const isNear = sum(all) + MAX_AT_ONCE > allowed
  const last = days.get(key)
  if (!isNear || (last?.isLocked === true && last.releasedCount === releasedCount)) return all
  // Written by hand: Kysely has no advisory locks.
  await scope.sql.rows('select pg_advisory_xact_lock($1)', [LOCK])
  return [...(await read(true)), ...own]
}

function loadedBy(scope: PlanningScope): Map<string, Loaded> {
  const known = loaded.get(scope)
  if (known !== undefined) return known
  const days = new Map<string, Loaded>()
  loaded.set(scope, days)
  // With a part of the turn, its lock is undone.
  scope.restorable(() => {
    const before = [...days]
    return () => {
      days.clear()
      for (const [key, entry] of before) days.set(key, entry)
    }
  })
  return days
}

/** What the turn itself has reserved. The database may have it or not. */
function ownUses(scope: PlanningScope, platform: string): AppUse[] {
  return [...reservationsOf(scope).changed().values()].flatMap((one) =>
    one === null || one.platform !== platform ? [] : [{ at: one.at, weight: 1 + one.replies, posts: 1 }],
  )
}

async function readUses(scope: PlanningScope, platform: string, day: number): Promise<readonly AppUse[]> {
  const rows = await usesByMinute.rows(scope.sql, {
    platform,
    from: new Date((day - 1) * DAY).toISOString(),
    to: new Date((day + 2) * DAY).toISOString(),
    statuses: RESERVING,
    changed: [...reservationsOf(scope).changed().keys()],
  })
  return rows.map(({ count, minute, weight }) => ({ at: minute * MINUTE, posts: count, weight }))
}

interface Wanted {
  readonly platform: string
  readonly from: string
  readonly to: string
  readonly statuses: readonly TargetStatus[]
  /** Targets of this turn are left out, because the turn may have written them already. */
  readonly changed: readonly string[]
}

const usesByMinute = query({ posts, postTargets }, (db, $: Wanted) =>
  db
    .selectFrom('postTargets as t')
    .innerJoin('posts as p', 'p.id', 't.postId')
    .select((e) => [
      raw<number>`floor(extract(epoch from t.scheduled_at) / 60)::integer`.as('minute'),
      e.fn.countAll<number>().as('count'),
      raw<number>`sum(1 + t.replies)::integer`.as('weight'),
    ])
    .where('t.platform', '=', $.platform)
    .where('t.scheduledAt', '>=', $.from)
    .where('t.scheduledAt', '<', $.to)
    .where('t.status', '=', raw<TargetStatus>`any(${$.statuses}::text[])`)
    .where('p.deletedAt', 'is', null)
    .where('t.id', '<>', raw<string>`all(${$.changed}::uuid[])`)
    .groupBy('minute'),
)

function sum(uses: readonly AppUse[]): number {
  return uses.reduce((total, { weight }) => total + weight, 0)
}
