import type { AccountFigures, Audience, ContentPage, ListedContent } from '../../../../platforms/analytics.ts'
import { PlatformError } from '../../../../platforms/error-kinds.ts'
import type { AccountContext, Platform } from '../../../../platforms/platform.ts'
import type { Insights, RemotePost } from '../../../../platforms/publishing.ts'

/** Pages of the import of older content in one reading. */
const PAGES = 4
/** Posts that are asked for one by one in one reading. */
const SINGLE = 30

/** A post that is due, beside those that the platform lists. */
export interface DueContent {
  readonly id: string
  readonly remote: RemotePost
}

/** What a reading asks for. */
export interface ReadingPlan {
  /** Where the import of older content continues. Null: at the beginning. Undefined: it has ended. */
  readonly importFrom: string | null | undefined
  readonly due: readonly DueContent[]
  readonly withAudience: boolean
}

/** What one reading of an account found. */
export interface Reading {
  readonly account: AccountFigures
  readonly listed: readonly ListedContent[]
  readonly single: readonly { readonly contentId: string; readonly insights: Insights }[]
  /** Posts that the platform no longer has, with its words. */
  readonly gone: readonly { readonly contentId: string; readonly reason: string }[]
  readonly audience: Audience
  /** Where the import continues; null when it has ended; undefined if nothing was imported. */
  readonly importCursor: string | null | undefined
  /** Why the reading ended early. What was read before stays. */
  readonly error: PlatformError | undefined
}

/** Reads an account at its platform, with as few calls as its API allows. @throws PlatformError auth_expired */
export async function readAccount(
  { analytics, publishing }: Pick<Platform, 'analytics' | 'publishing'>,
  context: AccountContext,
  { due, importFrom, withAudience }: ReadingPlan,
): Promise<Reading> {
  const found = {
    account: {} as AccountFigures,
    listed: [] as ListedContent[],
    single: [] as Reading['single'][number][],
    gone: [] as Reading['gone'][number][],
    audience: {} as Audience,
    importCursor: undefined as string | null | undefined,
  }
  try {
    if (analytics.readAccount !== undefined) found.account = await analytics.readAccount(context)
    if (analytics.listContent !== undefined) {
      const { importCursor, items } = await listed(analytics.listContent, context, importFrom)
      found.listed = items
      found.importCursor = importCursor
    }
    if (withAudience && analytics.readAudience !== undefined) found.audience = await analytics.readAudience(context)
    const known = new Map(found.listed.map(({ insights, post }) => [post.id, insights]))
    const open = due.filter(({ remote }) =>
      analytics.contentFigures.some((name) => known.get(remote.id)?.[name] === undefined),
    )
    for (const { id, remote } of publishing?.insights === undefined ? [] : open.slice(0, SINGLE)) {
      try {
        found.single.push({ contentId: id, insights: await publishing!.insights!(context, remote) })
      } catch (error) {
        if (!(error instanceof PlatformError) || error.kind !== 'unsupported') throw error
        found.gone.push({ contentId: id, reason: error.detail ?? error.message })
      }
    }
  } catch (error) {
    if (!(error instanceof PlatformError) || error.kind === 'auth_expired') throw error
    return { ...found, error }
  }
  return { ...found, error: undefined }
}

/** The newest page, and the next pages of the import. */
async function listed(
  list: (context: AccountContext, cursor?: string) => Promise<ContentPage>,
  context: AccountContext,
  importFrom: string | null | undefined,
): Promise<{ items: ListedContent[]; importCursor: string | null | undefined }> {
  const newest = await list(context)
  const items = [...newest.items]
  if (importFrom === undefined) return { items, importCursor: undefined }
  let cursor = importFrom ?? newest.next
  for (let page = 1; page < PAGES && cursor !== null; page += 1) {
    const older = await list(context, cursor)
    items.push(...older.items)
    cursor = older.next
  }
  return { items, importCursor: cursor }
}
