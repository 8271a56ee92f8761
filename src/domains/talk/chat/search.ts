import { expressionBuilder, sql } from 'kysely'
import type { Member } from '../../../core/caller.ts'
import { escapeHtml } from '../../../tools/html.ts'
import { encodeCursor, pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Searches } from '../../../db/searches.ts'
import { isOneOf, query, values, type Values } from '../../../db/query.ts'
import { visibleTo } from './channel-row.ts'
import { MESSAGE, messageView, type MessageRow } from './message-row.ts'
import type { FoundMessage, SearchQuery } from './schemas.ts'
import { chatTables, type ChatDatabase } from './tables.ts'

type Found = Static<typeof FoundMessage>

const MAX_TERMS = 10
/** Up to this many matches are sorted by time. With more, messages are read newest first instead. */
const MAX_MATCHES = 2_000
/** The maximum number of messages that are read, newest first, for one page. */
const MAX_READ = 5_000
/** Characters of a snippet before and after the first match. */
const [BEFORE, AFTER] = [60, 180]

/**
 * Each of the two ways to search has one plan with a bounded cost. The planner guesses how many messages have a term and
 * may choose another plan, so all other kinds are switched off. Written by hand: settings of the transaction.
 */
const [BY_TERMS, BY_TIME] = ['bitmapscan', 'indexscan'].map((wanted) => {
  const kinds = ['bitmapscan', 'indexscan', 'indexonlyscan', 'seqscan', 'hashjoin', 'mergejoin']
  return `select ${kinds.map((kind) => `set_config('enable_${kind}', '${kind === wanted}', true)`).join(', ')}`
}) as [string, string]

interface Matches {
  readonly workspaceId: string
  readonly terms: readonly string[]
  readonly most: number
}

interface Filters {
  readonly workspaceId: string
  readonly userId: string
  readonly tsquery: string
  readonly channelId?: Values<string> | undefined
  readonly from?: Values<string> | undefined
  readonly createdBefore?: string | undefined
  readonly idBefore?: string | undefined
  readonly limit: number
}

type Database = ChatDatabase & { m: ChatDatabase['chatMessages']; c: ChatDatabase['channels'] }

const e = expressionBuilder<Database, 'm' | 'c'>()

/** Messages with the terms. Each term in the index starts with its workspace. */
const matches = ({ workspaceId, terms, most }: Matches) =>
  e
    .selectFrom('chatMessages as m')
    .select('m.id')
    .where(sql<boolean>`chat_terms(m.workspace_id, m.body) @@ chat_terms_query(${workspaceId}, ${terms})`)
    .limit(most)

/** Message `m` is visible to the caller and matches the query. The index of terms ignores the order of words. */
const fits = ($: Filters) =>
  e.and([
    e('c.workspaceId', '=', $.workspaceId),
    visibleTo($.userId),
    e('m.deletedAt', 'is', null),
    sql<boolean>`to_tsvector('simple', m.body) @@ to_tsquery('simple', ${$.tsquery})`,
    ...($.channelId === undefined ? [] : [isOneOf('m.channelId', $.channelId)]),
    ...($.from === undefined ? [] : [isOneOf('m.authorId', $.from)]),
  ])

/** Message `m` is after the previous page, newest first. */
const isNext = ({ createdBefore, idBefore }: Pick<Filters, 'createdBefore' | 'idBefore'>) =>
  createdBefore === undefined || idBefore === undefined
    ? sql<boolean>`true`
    : sql<boolean>`(m.created_at, m.id) < (${createdBefore}::timestamptz, ${idBefore}::uuid)`

const countMatches = query(chatTables, (db, $: Matches) =>
  db.selectFrom(matches($).as('matches')).select((all) => all.fn.countAll<number>().as('count')),
)

/** For few matches: finds and sorts them all. `offset 0` keeps the planner from joining in another order. */
const findMatches = query(chatTables, (db, $: Matches & Filters) =>
  db
    .with(
      (cte) => cte('matches').materialized(),
      () => matches($),
    )
    .selectFrom('matches')
    .innerJoinLateral(
      (from) =>
        from
          .selectFrom('chatMessages as one')
          .selectAll()
          .whereRef('one.id', '=', 'matches.id')
          .offset(from.lit(0))
          .as('m'),
      (join) => join.onTrue(),
    )
    .innerJoin('channels as c', 'c.id', 'm.channelId')
    .select(MESSAGE)
    .where(fits($))
    .where(isNext($))
    .orderBy('m.createdAt', 'desc')
    .orderBy('m.id', 'desc')
    .limit($.limit),
)

interface Reading {
  readonly workspaceId: string
  readonly createdBefore?: string | undefined
  readonly idBefore?: string | undefined
}

const newest = ($: Reading) =>
  e
    .selectFrom('chatMessages as m')
    .where('m.workspaceId', '=', $.workspaceId)
    .where(isNext($))
    .orderBy('m.createdAt', 'desc')
    .orderBy('m.id', 'desc')

/** For many matches: reads messages, newest first, until there are enough. */
const readNewest = query(chatTables, (db, $: Filters & { most: number }) =>
  db
    .selectFrom(newest($).selectAll().limit($.most).as('m'))
    .innerJoin('channels as c', 'c.id', 'm.channelId')
    .select(MESSAGE)
    .where(fits($))
    .orderBy('m.createdAt', 'desc')
    .orderBy('m.id', 'desc')
    .limit($.limit),
)

/** The last message that `readNewest` has read; none when it reached the oldest one. */
const findLastRead = query(chatTables, (db, $: Reading & { offset: number }) =>
  db
    .selectFrom(newest($).select(['m.createdAt', 'm.id']).offset($.offset).limit(e.lit(1)).as('last'))
    .select(['last.createdAt', 'last.id']),
)

/**
 * Full-text search over the messages that a member may read. The cost of a page is bounded, regardless of the size of
 * this and other workspaces. A page of a search for frequent words may be short. Its cursor is where to continue.
 */
export class ChatSearch {
  readonly #searches: Searches

  constructor(searches: Searches) {
    this.#searches = searches
  }

  /** Newest first. @throws AppError search_too_broad, overloaded */
  async find(member: Member, asked: Static<typeof SearchQuery>, page: PageRequest): Promise<PageResult<Found>> {
    const terms = termsOf(asked.q)
    if (terms.length === 0) return { items: [], limit: page.limit, nextCursor: null }
    const { lastRead, rows } = await this.#searches.run(member.workspaceId, (tx) =>
      findRows(tx, member, asked, page, terms),
    )
    const found = pageOf(
      rows,
      page.limit,
      ({ createdAt, id }) => ({ createdAt, id }),
      (row) => ({ ...messageView(row), snippet: snippetOf(row.body, terms) }),
    )
    if (found.nextCursor !== null || lastRead === undefined) return found
    return { ...found, nextCursor: encodeCursor(lastRead) }
  }
}

interface FoundRows {
  readonly rows: readonly MessageRow[]
  /** Where the search stopped, if it read as many messages as it may. */
  readonly lastRead?: Pick<MessageRow, 'createdAt' | 'id'> | undefined
}

async function findRows(
  database: Sql,
  { userId, workspaceId }: Member,
  { channelId, from }: Static<typeof SearchQuery>,
  { after, limit }: PageRequest,
  terms: readonly string[],
): Promise<FoundRows> {
  await database.rows(BY_TERMS)
  const reading = { workspaceId, createdBefore: after?.createdAt, idBefore: after?.id }
  const filters = {
    ...reading,
    userId,
    tsquery: tsquery(terms),
    channelId: values(channelId),
    from: values(from),
    limit: limit + 1,
  }
  const matched = await countMatches.row(database, { workspaceId, terms, most: MAX_MATCHES + 1 })
  if ((matched?.count ?? 0) <= MAX_MATCHES) {
    return { rows: await findMatches.rows(database, { ...filters, terms, most: MAX_MATCHES }) }
  }
  await database.rows(BY_TIME)
  const rows = await readNewest.rows(database, { ...filters, most: MAX_READ })
  if (rows.length > limit) return { rows }
  return { rows, lastRead: await findLastRead.row(database, { ...reading, offset: MAX_READ - 1 }) }
}

function termsOf(text: string): string[] {
  const terms = text.toLowerCase().split(/\s+/)
  return terms.filter((term) => /[\p{L}\p{N}]/u.test(term)).slice(0, MAX_TERMS)
}

/** All terms, the last one as a prefix. They are quoted, so that they cannot contain query syntax. */
function tsquery(terms: readonly string[]): string {
  const quoted = terms.map((term) => `'${term.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`)
  return `${quoted.join(' & ')}:*`
}

/** The text around the first match as HTML, with matches in <mark>. */
export function snippetOf(body: string, terms: readonly string[]): string {
  const found = new RegExp(`(?<![\\p{L}\\p{N}])(?:${terms.map(pattern).join('|')})[\\p{L}\\p{N}]*`, 'giu')
  const first = Math.max(0, body.search(found))
  const start = first <= BEFORE ? 0 : first - BEFORE
  const shown = body.slice(start, first + AFTER)
  let html = start > 0 ? '…' : ''
  let end = 0
  for (const match of shown.matchAll(found)) {
    html += `${escapeHtml(shown.slice(end, match.index))}<mark>${escapeHtml(match[0])}</mark>`
    end = match.index + match[0].length
  }
  return html + escapeHtml(shown.slice(end)) + (first + AFTER < body.length ? '…' : '')
}

const pattern = (term: string) => term.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)
