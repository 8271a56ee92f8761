import type { Analytics } from '../analytics.ts'
import { call } from './graph.ts'

interface Account {
  readonly followers_count?: number
  readonly follows_count?: number
  readonly media_count?: number
}

interface MediaPage {
  readonly data: readonly {
    readonly id: string
    readonly caption?: string
    readonly permalink?: string
    readonly timestamp: string
    readonly like_count?: number
    readonly comments_count?: number
  }[]
  readonly paging?: { readonly next?: string; readonly cursors?: { readonly after?: string } }
}

const PAGE = 50
const FIELDS = 'id,caption,permalink,timestamp,like_count,comments_count'

/** Figures of the Instagram API with Instagram Login (developers.facebook.com, IG User and IG Media, 2026-11). */
export const analytics: Analytics = {
  accountFigures: ['followers', 'following', 'contentCount'],
  contentFigures: ['views', 'reach', 'likes', 'comments', 'shares', 'saves'],
  audience: [],
  missing: { audience: 'Crier does not read follower_demographics of Instagram yet.' },
  readAccount: async (context) => {
    const account = (await call(context, 'me', {
      query: { fields: 'followers_count,follows_count,media_count' },
    })) as Account
    const { followers_count: followers, follows_count: following, media_count: contentCount } = account
    return {
      ...(followers !== undefined && { followers }),
      ...(following !== undefined && { following }),
      ...(contentCount !== undefined && { contentCount }),
    }
  },
  listContent: async (context, cursor) => {
    const { data, paging } = (await call(context, 'me/media', {
      query: { fields: FIELDS, limit: PAGE, after: cursor },
    })) as MediaPage
    return {
      items: data.map(({ caption, comments_count: comments, id, like_count: likes, permalink, timestamp }) => ({
        post: { id, url: permalink ?? null },
        publishedAt: new Date(timestamp).toISOString(),
        text: caption ?? '',
        // Instagram leaves out likes that the owner hides.
        insights: { ...(likes !== undefined && { likes }), ...(comments !== undefined && { comments }) },
      })),
      next: paging?.next === undefined ? null : (paging.cursors?.after ?? null),
    }
  },
}
