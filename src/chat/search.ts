import type { Member } from '../core/caller.ts'
import { pageOf, type PageRequest } from '../core/page.ts'
import type { PageResult } from '../core/reply.ts'
import type { Static } from '../core/schema.ts'
import type { Sql } from '../core/sql.ts'
import { VISIBLE } from './channel-row.ts'
import { MESSAGE_COLUMNS, messageView, type MessageRow } from './message-row.ts'
import type { FoundMessage, SearchQuery } from './schemas.ts'

declare module '../core/services.ts' {
  interface Services {
    readonly chatSearch: ChatSearch
  }
}

type Found = Static<typeof FoundMessage>

const MOST_TERMS = 10
/** Characters of a message around the first find. */
const [BEFORE, AFTER] = [60, 180]

const FIND = `
  select ${MESSAGE_COLUMNS}
  from to_tsquery('simple', $3) q (words)
  join chat_messages m on to_tsvector('simple', m.body) @@ q.words
  join channels c on c.id = m.channel_id
  where c.workspace_id = $1 and ${VISIBLE} and m.deleted_at is null
    and ($4::uuid is null or m.channel_id = $4) and ($5::uuid is null or m.author_id = $5)
    and ($6::timestamptz is null or (m.created_at, m.id) < ($6, $7::uuid))
  order by m.created_at desc, m.id desc limit $8`

/** Full-text search over what somebody may read. */
export class ChatSearch {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  /** Newest first. */
  async find(
    { userId, workspaceId }: Member,
    query: Static<typeof SearchQuery>,
    page: PageRequest,
  ): Promise<PageResult<Found>> {
    const { after, limit } = page
    const terms = termsOf(query.q)
    if (terms.length === 0) return { items: [], limit, nextCursor: null }
    const rows = await this.#sql.rows<MessageRow>(FIND, [
      workspaceId,
      userId,
      tsquery(terms),
      query.channelId ?? null,
      query.from ?? null,
      after?.createdAt ?? null,
      after?.id ?? null,
      limit + 1,
    ])
    return pageOf(
      rows,
      limit,
      (row) => ({ createdAt: row.created_at, id: row.id }),
      (row) => ({ ...messageView(row), snippet: snippetOf(row.body, terms) }),
    )
  }
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
