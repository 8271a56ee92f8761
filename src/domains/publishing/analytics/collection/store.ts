import { uuidv7 } from '../../../../tools/id.ts'
import type { Sql, Transaction } from '../../../../core/sql.ts'
import type { Turn } from '../../../../core/turn.ts'
import { anyOf } from '../../../../db/condition.ts'
import type { ListedContent } from '../../../../platforms/analytics.ts'
import type { Insights } from '../../../../platforms/publishing.ts'
import { publishedTargets } from '../../posts/index.ts'
import type { JustPublished } from '../../publication/index.ts'
import { accountsOf } from '../../../social/accounts/index.ts'
import { CONTENT_FIGURES } from '../figures.ts'
import type { NewSample } from '../storage/recorder.ts'
import { analyticsContent, type AnalyticsAccountRow, type AnalyticsContentRow, type SampleSource } from '../tables.ts'
import { nextForContent } from './rhythm.ts'

/** Characters of a post that its record keeps. */
const MAX_TEXT = 500
/** Targets that one reading adds. */
const MAX_TARGETS = 2_000

type Watched = Pick<AnalyticsAccountRow, 'accountId' | 'workspaceId' | 'platform' | 'startedAt'>
export type ContentFacts = Pick<AnalyticsContentRow, 'id' | 'remoteId' | 'publishedAt' | 'deletedAt'>

const FACTS = ['id', 'remoteId', 'publishedAt', 'deletedAt', 'targetId'] as const

/** Adds records of posts that Crier has published since a time. Records of imported posts become those of the posts. */
export async function addPublished(tx: Transaction, account: Watched, since: string, now: number): Promise<void> {
  const { accountId } = account
  const targets = await publishedTargets.rows(tx, { accountId, since, limit: MAX_TARGETS })
  const known = await recordsOf(
    tx,
    accountId,
    targets.flatMap(({ remote }) => remote?.id ?? []),
  )
  for (const { id: targetId, postId, publishedAt, remote, remoteDeletedAt, text, url } of targets) {
    if (remote === null || publishedAt === null) continue
    const record = known.get(remote.id)
    if (record !== undefined) {
      if (record.targetId !== targetId) {
        await analyticsContent.update(tx, { id: record.id }, { origin: 'crier', postId, targetId, remote })
      }
      continue
    }
    if (remoteDeletedAt !== null) continue
    const listed = { post: remote, publishedAt, text: text ?? '', insights: {} }
    await insertRecord(tx, account, { ...listed, url: url ?? remote.url, pictureId: null }, { postId, targetId }, now)
  }
}

/** Adds records of posts that Crier has just published, so that reports count them before their figures are known. */
export async function addJustPublished(turn: Turn, published: readonly JustPublished[], now: number): Promise<void> {
  const rows = published.flatMap(
    ({ first: { part, remote }, target: { accountId, id, platform, postId, publishedAt, url } }) => {
      // A user who settled it may not know the id.
      if (accountId === null || remote === null || remote.id === '' || publishedAt === null) return []
      const listed = { post: remote, publishedAt, text: part.text ?? '', url: url ?? remote.url, pictureId: null }
      return [recordRow({ accountId, platform, workspaceId: turn.workspaceId }, listed, { postId, targetId: id }, now)]
    },
  )
  if (rows.length === 0) return
  // An account can be removed while it publishes.
  const accounts = new Set((await accountsOf(turn.sql, turn.workspaceId)).map((account) => account.id))
  const kept = rows.filter(({ accountId }) => accounts.has(accountId))
  await analyticsContent.insertAll(turn.sql, kept, { ignoreConflict: true })
}

/** Adds records of posts that the platform lists and Crier does not know. @returns all records by their remote ids */
export async function addListed(
  tx: Transaction,
  account: Watched,
  items: readonly ListedContent[],
  { now, pictures }: { readonly now: number; readonly pictures: ReadonlyMap<string, string> },
): Promise<ReadonlyMap<string, ContentFacts>> {
  const ids = items.map(({ post }) => post.id)
  const known = await recordsOf(tx, account.accountId, ids)
  const fresh = items.filter(({ post, publishedAt }) => !known.has(post.id) && !Number.isNaN(Date.parse(publishedAt)))
  for (const item of fresh) {
    const pictureId = pictures.get(item.post.id) ?? null
    await insertRecord(tx, account, { ...item, url: item.post.url, pictureId }, null, now)
  }
  return fresh.length === 0 ? known : recordsOf(tx, account.accountId, ids)
}

async function recordsOf(sql: Sql, accountId: string, remoteIds: readonly string[]) {
  if (remoteIds.length === 0) return new Map<string, ContentFacts & { readonly targetId: string | null }>()
  const rows = await analyticsContent.find(sql, { accountId, remoteId: anyOf(remoteIds) }, { columns: FACTS })
  return new Map(rows.map((row) => [row.remoteId, row]))
}

type Listed = Omit<ListedContent, 'insights'> & { readonly url: string | null; readonly pictureId: string | null }
type OfTarget = { readonly postId: string; readonly targetId: string } | null

async function insertRecord(
  tx: Transaction,
  account: Watched,
  listed: Listed,
  target: OfTarget,
  now: number,
): Promise<void> {
  await analyticsContent.insert(tx, recordRow(account, listed, target, now), { ignoreConflict: true })
}

function recordRow(
  { accountId, platform, workspaceId }: Omit<Watched, 'startedAt'>,
  { pictureId, post, publishedAt, text, url }: Listed,
  target: OfTarget,
  now: number,
) {
  const at = new Date(now).toISOString()
  return {
    id: uuidv7(now),
    workspaceId,
    accountId,
    platform,
    remoteId: post.id,
    remote: post,
    origin: target === null ? ('elsewhere' as const) : ('crier' as const),
    postId: target?.postId ?? null,
    targetId: target?.targetId ?? null,
    text: Array.from(text).slice(0, MAX_TEXT).join(''),
    url,
    pictureId,
    publishedAt: new Date(publishedAt).toISOString(),
    // Due at once, even if the post is old: its current figures are worth one call.
    nextAt: at,
    createdAt: at,
    updatedAt: at,
  }
}

/** The samples of one reply about a post. */
export function samplesOf(
  { id, publishedAt }: ContentFacts,
  insights: Insights,
  { at, source, startedAt }: { readonly at: number; readonly source: SampleSource; readonly startedAt: number },
): NewSample[] {
  // The figures of a post that was published after the watch began started at zero.
  const fromZero = Date.parse(publishedAt) >= startedAt
  return CONTENT_FIGURES.flatMap((figure) => {
    const value = insights[figure]
    return value === undefined ? [] : [{ contentId: id, figure, at, value, source, fromZero }]
  })
}

/** When a post is asked for next. */
export function nextAtOf({ publishedAt }: Pick<ContentFacts, 'publishedAt'>, now: number): string | null {
  const next = nextForContent(Date.parse(publishedAt), now)
  return next === undefined ? null : new Date(next).toISOString()
}
