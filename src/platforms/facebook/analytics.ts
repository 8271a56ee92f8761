import type { Analytics } from '../analytics.ts'
import { PlatformError } from '../error-kinds.ts'
import { call, TITLE } from './graph.ts'
import { pageOf } from './profile.ts'
import type { Figures } from './publishing.ts'

interface PostPage {
  readonly data: readonly (Figures & {
    readonly id: string
    readonly message?: string
    readonly created_time: string
    readonly permalink_url?: string
    readonly full_picture?: string
  })[]
  readonly paging?: { readonly next?: string; readonly cursors?: { readonly after?: string } }
}

const PAGE = 50
const FIELDS =
  'id,message,created_time,permalink_url,full_picture,reactions.summary(total_count).limit(0),comments.summary(total_count).limit(0),shares'

/** Figures of the Graph API (developers.facebook.com, Page and Page Post, v24.0, 2026-11). */
export const analytics: Analytics = {
  accountFigures: ['followers'],
  contentFigures: ['views', 'likes', 'comments', 'shares'],
  audience: [],
  missing: { audience: 'Meta has ended the groups of the followers of a page in the Graph API (v18).' },
  readAccount: async (context) => {
    const page = pageOf(context.credential)
    if (page === undefined) throw new PlatformError('unsupported', TITLE, { detail: 'Only pages have figures.' })
    const { followers_count: followers } = (await call(context, page, {
      query: { fields: 'followers_count' },
    })) as { followers_count?: number }
    return followers === undefined ? {} : { followers }
  },
  listContent: async (context, cursor) => {
    const page = pageOf(context.credential)
    if (page === undefined) return { items: [], next: null }
    const { data, paging } = (await call(context, `${page}/published_posts`, {
      query: { fields: FIELDS, limit: PAGE, after: cursor },
    })) as PostPage
    return {
      items: data.map(
        ({
          comments,
          created_time: at,
          full_picture: pictureUrl,
          id,
          message,
          permalink_url: url,
          reactions,
          shares,
        }) => ({
          post: { id, url: url ?? null },
          publishedAt: new Date(at).toISOString(),
          text: message ?? '',
          pictureUrl,
          insights: {
            likes: reactions?.summary?.total_count ?? 0,
            comments: comments?.summary?.total_count ?? 0,
            // A post that nobody has shared has no `shares`.
            shares: shares?.count ?? 0,
          },
        }),
      ),
      next: paging?.next === undefined ? null : (paging.cursors?.after ?? null),
    }
  },
}
