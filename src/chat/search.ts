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

const WORDS = /[\p{L}\p{N}]+/gu
const MOST_WORDS = 10
// Characters that no text of JSON or HTML needs, and no message can be told by.
const [OPEN, CLOSE] = ['\u0002', '\u0003']

const FIND = `
  select ${MESSAGE_COLUMNS},
    ts_headline('simple', m.body, q.words, 'StartSel=${OPEN}, StopSel=${CLOSE}, MinWords=10, MaxWords=30') as headline
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
    const words = tsquery(query.q)
    if (words === '') return { items: [], limit, nextCursor: null }
    const rows = await this.#sql.rows<MessageRow & { headline: string }>(FIND, [
      workspaceId,
      userId,
      words,
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
      (row) => ({ ...messageView(row), snippet: snippetOf(row.headline) }),
    )
  }
}

/** Every word, the last one as the beginning of a word. Nothing of the syntax of queries comes from outside. */
export function tsquery(text: string): string {
  const words = (text.toLowerCase().match(WORDS) ?? []).slice(0, MOST_WORDS)
  return words.length === 0 ? '' : `${words.map((word) => `'${word}'`).join(' & ')}:*`
}

/** Escaped for HTML, the words found in <mark>. */
export function snippetOf(headline: string): string {
  return headline
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
    .replaceAll(OPEN, '<mark>')
    .replaceAll(CLOSE, '</mark>')
}
