import type { Member } from '../../../core/caller.ts'
import { encodeCursor, pageOf, type PageRequest } from '../../../core/page.ts'
import type { PageResult } from '../../../core/reply.ts'
import type { Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Searches } from '../../../db/searches.ts'
import { VISIBLE } from './channel-row.ts'
import { MESSAGE_COLUMNS, messageView, type MessageRow } from './message-row.ts'
import type { FoundMessage, SearchQuery } from './schemas.ts'

declare module '../../../core/services.ts' {
  interface Services {
    readonly chatSearch: ChatSearch
  }
}

type Found = Static<typeof FoundMessage>

const MOST_TERMS = 10
/** Messages with the terms that are sorted by time. Where there are more, messages are read in the order of time instead. */
const MOST_MATCHES = 2_000
/** Messages that are read in the order of time for one page. */
const MOST_READ = 5_000
/** Characters of a message around the first find. */
const [BEFORE, AFTER] = [60, 180]

/**
 * The two ways to search have one plan each whose cost is bounded. The planner may prefer others, because its estimates
 * of how many messages have a term are guesses: so the other kinds of plan are switched off.
 */
const [BY_TERMS, BY_TIME] = ['bitmapscan', 'indexscan'].map((wanted) => {
  const kinds = ['bitmapscan', 'indexscan', 'indexonlyscan', 'seqscan', 'hashjoin', 'mergejoin']
  return `select ${kinds.map((kind) => `set_config('enable_${kind}', '${kind === wanted}', true)`).join(', ')}`
}) as [string, string]

/** Messages with the terms, `$1` the workspace. The index of terms has the entries of each workspace apart. */
const MATCHES = (words: string, most: string) => `
  select m.id from chat_messages m
  where chat_terms(m.workspace_id, m.body) @@ chat_terms_query($1, ${words}) limit ${most}`

export const COUNT_MATCHES = `select count(*) as count from (${MATCHES('$2', '$3')}) as matches`

/** A row `m` of messages that the caller may see and that fits. The terms alone do not tell: phrases have an order. */
const FITS = `
  ${VISIBLE} and m.deleted_at is null and to_tsvector('simple', m.body) @@ to_tsquery('simple', $3)
  and ($4::uuid is null or m.channel_id = $4) and ($5::uuid is null or m.author_id = $5)`
const OLDER = `(m.created_at, m.id) < (coalesce($6::timestamptz, 'infinity'), coalesce($7::uuid, '${'f'.repeat(32)}'))`
const NEWEST_FIRST = 'order by m.created_at desc, m.id desc'

/** For few matches: finds them all, and sorts them. `offset 0` keeps the planner from joining in another order. */
export const FIND_MATCHES = `
  with matches as materialized (${MATCHES('$9', '$10')})
  select ${MESSAGE_COLUMNS} from matches
  cross join lateral (select * from chat_messages one where one.id = matches.id offset 0) m
  join channels c on c.id = m.channel_id
  where c.workspace_id = $1 and ${FITS} and ${OLDER} ${NEWEST_FIRST} limit $8`

/** For many matches: reads messages from the newest on until there are enough. */
export const READ_NEWEST = `
  select ${MESSAGE_COLUMNS}
  from (select m.* from chat_messages m where m.workspace_id = $1 and ${OLDER} ${NEWEST_FIRST} limit $9) m
  join channels c on c.id = m.channel_id
  where c.workspace_id = $1 and ${FITS} ${NEWEST_FIRST} limit $8`

/** The last message that `READ_NEWEST` read; none when it came to the oldest one. */
const LAST_READ = `
  select m.created_at, m.id from chat_messages m
  where m.workspace_id = $1 and (m.created_at, m.id) < (coalesce($2::timestamptz, 'infinity'), coalesce($3::uuid, '${'f'.repeat(32)}'))
  ${NEWEST_FIRST} offset $4 limit 1`

/**
 * Full-text search over what somebody may read. The cost of a page has a limit that depends neither on other workspaces
 * nor on how much the workspace has: a page of a search for frequent words may be short, and says where to go on.
 */
export class ChatSearch {
  readonly #searches: Searches

  constructor(searches: Searches) {
    this.#searches = searches
  }

  /** Newest first. @throws AppError search_too_broad, overloaded */
  async find(member: Member, query: Static<typeof SearchQuery>, page: PageRequest): Promise<PageResult<Found>> {
    const terms = termsOf(query.q)
    if (terms.length === 0) return { items: [], limit: page.limit, nextCursor: null }
    const { lastRead, rows } = await this.#searches.run(member.workspaceId, (sql) =>
      findRows(sql, member, query, page, terms),
    )
    const found = pageOf(
      rows,
      page.limit,
      (row) => ({ createdAt: row.created_at, id: row.id }),
      (row) => ({ ...messageView(row), snippet: snippetOf(row.body, terms) }),
    )
    if (found.nextCursor !== null || lastRead === undefined) return found
    return { ...found, nextCursor: encodeCursor({ createdAt: lastRead.created_at, id: lastRead.id }) }
  }
}

/** Where a search stopped that read as much as it may. */
type LastRead = Pick<MessageRow, 'created_at' | 'id'>

async function findRows(
  sql: Sql,
  { userId, workspaceId }: Member,
  query: Static<typeof SearchQuery>,
  { after, limit }: PageRequest,
  terms: readonly string[],
): Promise<{ readonly rows: readonly MessageRow[]; readonly lastRead: LastRead | undefined }> {
  await sql.rows(BY_TERMS)
  const place = [after?.createdAt ?? null, after?.id ?? null]
  const values = [
    workspaceId,
    userId,
    tsquery(terms),
    query.channelId ?? null,
    query.from ?? null,
    ...place,
    limit + 1,
  ] as const
  const matches = await sql.row<{ count: number }>(COUNT_MATCHES, [workspaceId, terms, MOST_MATCHES + 1])
  if ((matches?.count ?? 0) <= MOST_MATCHES) {
    return { rows: await sql.rows<MessageRow>(FIND_MATCHES, [...values, terms, MOST_MATCHES]), lastRead: undefined }
  }
  await sql.rows(BY_TIME)
  const rows = await sql.rows<MessageRow>(READ_NEWEST, [...values, MOST_READ])
  if (rows.length > limit) return { rows, lastRead: undefined }
  return { rows, lastRead: await sql.row<LastRead>(LAST_READ, [workspaceId, ...place, MOST_READ - 1]) }
}

function termsOf(text: string): string[] {
  const terms = text.toLowerCase().split(/\s+/)
  return terms.filter((term) => /[\p{L}\p{N}]/u.test(term)).slice(0, MOST_TERMS)
}

/** Every term, the last one as the beginning of a word. Quoted, so that nothing in them is the syntax of queries. */
function tsquery(terms: readonly string[]): string {
  const quoted = terms.map((term) => `'${term.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`)
  return `${quoted.join(' & ')}:*`
}

/** The text around the first find, escaped for HTML, what was found in <mark>. */
export function snippetOf(body: string, terms: readonly string[]): string {
  const found = new RegExp(`(?<![\\p{L}\\p{N}])(?:${terms.map(pattern).join('|')})[\\p{L}\\p{N}]*`, 'giu')
  const first = Math.max(0, body.search(found))
  const start = first <= BEFORE ? 0 : first - BEFORE
  const shown = body.slice(start, first + AFTER)
  let html = start > 0 ? '…' : ''
  let end = 0
  for (const match of shown.matchAll(found)) {
    html += `${escaped(shown.slice(end, match.index))}<mark>${escaped(match[0])}</mark>`
    end = match.index + match[0].length
  }
  return html + escaped(shown.slice(end)) + (first + AFTER < body.length ? '…' : '')
}

const pattern = (term: string) => term.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? character)
}
