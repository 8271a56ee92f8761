import { DAY, type Clock } from '../../../core/clock.ts'
import { NotFound } from '../../../core/errors.ts'
import { sha256 } from '../../../tools/id.ts'
import type { Memberships } from '../../../core/ports.ts'
import { RawBody, type Reply } from '../../../core/reply.ts'
import { Slices } from '../../../core/slices.ts'
import type { Sql } from '../../../core/sql.ts'
import { findNames, timeZoneOf } from '../../workspace/workspaces/index.ts'
import { feedPosts } from '../posts/index.ts'
import { ICS, writeFeed } from './feed.ts'
import type { FeedLinks } from './links.ts'

/** How far back the calendar goes. */
const PAST_MS = 30 * DAY

interface Needs {
  readonly sql: Sql
  readonly clock: Clock
  readonly links: FeedLinks
  readonly members: Pick<Memberships, 'find'>
  readonly publicUrl: string
}

/** Answers calendar programs. */
export class FeedReader {
  readonly #needs: Needs

  constructor(needs: Needs) {
    this.#needs = needs
  }

  /**
   * The posts that the member of a link may see now.
   * @throws AppError not_found, equally for a link that never was, was revoked, or whose member may see no posts
   */
  async read(given: string): Promise<Reply<200, RawBody>> {
    const { clock, links, members, publicUrl, sql } = this.#needs
    const link = await links.find(given.replace(/\.ics$/, ''))
    if (link === undefined) throw NotFound()
    const { userId, workspaceId } = link
    const member = await members.find(workspaceId, userId)
    if (member?.scopes.has('posts:read') !== true) throw NotFound()
    const name = (await findNames(sql, [workspaceId])).get(workspaceId)
    if (name === undefined) throw NotFound()
    const from = new Date(clock.now() - PAST_MS).toISOString()
    const calendar = { name, timezone: await timeZoneOf(sql, workspaceId), host: new URL(publicUrl).hostname }
    const text = await writeFeed(calendar, await feedPosts(sql, workspaceId, from), new Slices())
    const caching = { etag: sha256(text).slice(0, 32), control: 'private, no-cache' }
    return { status: 200, body: new RawBody(ICS, text, caching), headers: { 'X-Robots-Tag': 'noindex, nofollow' } }
  }
}
