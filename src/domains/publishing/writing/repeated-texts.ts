import { createHash } from 'node:crypto'
import { sql as raw } from 'kysely'
import { HOUR } from '../../../core/clock.ts'
import { Slices } from '../../../core/slices.ts'
import type { Sql } from '../../../core/sql.ts'
import { query } from '../../../db/query.ts'
import {
  bodyFor,
  type PlanningScope,
  markOf,
  RESERVING,
  reservationsOf,
  type PostBody,
  type PostData,
  type PostWarningData,
  type TargetOverride,
  type TargetStatus,
  posts,
  postTargets,
} from '../posts/index.ts'

/** How close two posts with the same text are a mistake rather than a repetition. */
const NEAR_MS = HOUR

/** More posts of an account within an hour are not looked at. No platform takes as many. */
const MAX_NEAR = 1_000

/** A text that an account is to publish at a time. */
export interface WantedText {
  readonly accountId: string
  readonly text: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** A post of the account with the same text at nearly the same time. */
interface Repeated {
  readonly postId: string
  /** ISO 8601. */
  readonly scheduledAt: string
}

interface Wanted {
  /** Accounts of the workspace. An account belongs to one, so that nothing of another one is found. */
  readonly accountIds: readonly string[]
  readonly times: readonly Date[]
  readonly hashes: readonly string[]
  readonly statuses: readonly TargetStatus[]
  /** A post that is not compared with itself. */
  readonly postId?: string
}

/** One statement for all texts. Each finds the few posts of its account around its time with an index, and compares those. */
const sameTexts = query({ posts, postTargets }, (db, $: Wanted) => {
  const found = db
    .selectFrom(
      raw<{ accountId: string; at: string; hash: string; number: number }>`
        unnest(${$.accountIds}::uuid[], ${$.times}::timestamptz[], ${$.hashes}::text[]) with ordinality`.as<'w'>(
        raw`w (account_id, at, hash, number)`,
      ),
    )
    // The limit keeps it a subquery, which reads the posts of one hour and never those of the workspace.
    .crossJoinLateral((e) =>
      e
        .selectFrom('postTargets')
        .select(['postId', 'scheduledAt', 'override'])
        .whereRef('accountId', '=', 'w.accountId')
        .where(raw<boolean>`scheduled_at between w.at - interval '1 hour' and w.at + interval '1 hour'`)
        .where('status', '=', raw<TargetStatus>`any(${$.statuses}::text[])`)
        .where('remoteDeletedAt', 'is', null)
        .orderBy('scheduledAt')
        .limit(raw.lit(MAX_NEAR))
        .as('t'),
    )
    .innerJoin('posts as p', 'p.id', 't.postId')
    .distinctOn('w.number')
    .select([raw<number>`w.number::integer`.as('number'), 't.postId', 't.scheduledAt'])
    .where('p.deletedAt', 'is', null)
    .where(
      raw<boolean>`encode(sha256(convert_to(coalesce(t.override ->> 'content', p.body ->> 'content'), 'UTF8')), 'hex') = w.hash`,
    )
    .orderBy('w.number')
    .orderBy('t.scheduledAt')
  return $.postId === undefined ? found : found.where('p.id', '<>', $.postId)
})

/**
 * Finds texts that their accounts publish already within an hour.
 * @param postId a post that is not compared with itself
 * @returns the posts, by the position of the text
 */
export async function repeatedTexts(
  sql: Sql,
  wanted: readonly WantedText[],
  postId?: string,
): Promise<ReadonlyMap<number, Repeated>> {
  // Pictures without a text are compared by nobody.
  const asked = [...wanted.entries()].filter(([, { text }]) => text.trim() !== '')
  if (asked.length === 0) return new Map()
  const hashes = new Map<string, string>()
  const rows = await sameTexts.rows(sql, {
    accountIds: asked.map(([, { accountId }]) => accountId),
    times: asked.map(([, { at }]) => new Date(at)),
    hashes: asked.map(([, { text }]) => hashOf(text, hashes)),
    statuses: RESERVING,
    ...(postId !== undefined && { postId }),
  })
  return new Map(
    rows.map(({ number, postId: other, scheduledAt }) => [
      asked[number - 1]?.[0] ?? -1,
      { postId: other, scheduledAt: scheduledAt ?? '' },
    ]),
  )
}

/** The texts of a post at the accounts that publish it at a time. */
export function textsOf(
  body: PostBody,
  targets: readonly {
    readonly accountId: string
    readonly override: TargetOverride | null
    readonly scheduledAt: string | null
  }[],
): WantedText[] {
  return targets.flatMap(({ accountId, override, scheduledAt }) =>
    scheduledAt === null ? [] : [{ accountId, text: bodyFor(body, override).content, at: Date.parse(scheduledAt) }],
  )
}

/**
 * The warnings of a new post. The actor knows at which times its accounts have posts, so that the database is asked only if
 * there is another one within the hour.
 */
export async function warningsOfNew(scope: PlanningScope, view: PostData): Promise<PostWarningData[]> {
  const own = new Set(view.targets.map(({ _id }) => markOf(_id)))
  const reservations = reservationsOf(scope)
  const wanted: WantedText[] = []
  for (const { accountId, override, scheduledFor } of view.targets) {
    const text = override?.content ?? view.content
    if (scheduledFor === null || text.trim() === '') continue
    const at = Date.parse(scheduledFor)
    await reservations.load([accountId], at - NEAR_MS, at + NEAR_MS)
    const others = [...reservations.between(accountId, at - NEAR_MS, at + NEAR_MS)].filter(({ mark }) => !own.has(mark))
    if (others.length > 0) wanted.push({ accountId, text, at })
  }
  if (wanted.length === 0) return []
  const found = await repeatedTexts(scope.sql, wanted, view._id)
  return [...found].map(([index, { postId, scheduledAt }]) => {
    return warning({ accountId: wanted[index]?.accountId ?? '', postId, at: scheduledAt })
  })
}

/** A new post of a request with many. */
export interface NewOfMany {
  /** Its number in the request. */
  readonly row: number
  /** Null while nothing is created. */
  readonly postId: string | null
  readonly texts: readonly WantedText[]
}

/** The warnings of many new posts, which are compared with each other too. @returns those of each post, in order */
export async function warningsOfMany(
  sql: Sql,
  many: readonly NewOfMany[],
  slices = new Slices(),
): Promise<readonly (readonly PostWarningData[])[]> {
  const all = many.flatMap(({ texts }, post) => texts.map((text) => ({ ...text, post })))
  const stored = await repeatedTexts(sql, all)
  const warnings: PostWarningData[][] = many.map(() => [])
  const hashes = new Map<string, string>()
  const groups = new Map<string, { at: number; post: number }[]>()
  for (const [index, { accountId, at, post, text }] of all.entries()) {
    const other = stored.get(index)
    if (other !== undefined) {
      warnings[post]?.push(warning({ accountId, postId: other.postId, at: other.scheduledAt }))
    } else if (text.trim() !== '') {
      const key = `${accountId} ${hashOf(text, hashes)}`
      groups.set(key, [...(groups.get(key) ?? []), { at, post }])
    }
    await slices.pause()
  }
  for (const [key, group] of groups) {
    const sorted = group.toSorted((a, b) => a.at - b.at || a.post - b.post)
    for (const [index, { at, post }] of sorted.entries()) {
      const before = sorted[index - 1]
      if (before === undefined || at - before.at > NEAR_MS) continue
      const { postId = null, row = 0 } = many[before.post] ?? {}
      const accountId = key.slice(0, key.indexOf(' '))
      warnings[post]?.push(warning({ accountId, postId, row, at: new Date(before.at).toISOString() }))
    }
  }
  return warnings
}

/** The sentence of a warning, and what the user can do. */
export function repeatedText(at: string, row?: number) {
  const where = row === undefined ? 'The account has a post' : `Row ${row} is a post of this account`
  return {
    message: `${where} with the same text within an hour, at ${at}.`,
    nextStep: 'Change the text or the time, unless it should be published twice.',
  }
}

function warning({
  accountId,
  at,
  postId,
  row,
}: Pick<PostWarningData, 'accountId' | 'postId'> & {
  readonly at: string
  readonly row?: number
}): PostWarningData {
  return { code: 'text_repeated', accountId, postId, ...repeatedText(at, row) }
}

/** Many posts have the same text, which is hashed once. */
function hashOf(text: string, known: Map<string, string>): string {
  const hash = known.get(text) ?? createHash('sha256').update(text).digest('hex')
  known.set(text, hash)
  return hash
}
