import type { Analytics } from '../analytics.ts'
import { call } from './call.ts'
import { insightsOf, remoteOf, type Post } from './publishing.ts'

interface Counted {
  readonly public_metrics?: {
    readonly followers_count: number
    readonly following_count: number
    readonly tweet_count: number
  }
}

interface Timeline {
  readonly data?: readonly Post[]
  readonly meta?: { readonly next_token?: string }
}

const DAY_MS = 86_400_000
const PAGE = 50

/** Figures of X (docs.x.com, user and post objects, 2026-11). */
export const analytics: Analytics = {
  accountFigures: ['followers', 'following', 'contentCount'],
  contentFigures: ['views', 'likes', 'comments', 'shares', 'saves'],
  audience: [],
  missing: { audience: 'X does not report who follows an account.' },
  // X charges the operator for each post that is read.
  everyMs: DAY_MS,
  readAccount: async (context) => {
    const { data } = await call<{ data: Counted }>(context, '/2/users/me', {
      query: { 'user.fields': 'public_metrics' },
    })
    const { public_metrics: figures } = data
    if (figures === undefined) return {}
    const { followers_count: followers, following_count: following, tweet_count: contentCount } = figures
    return { followers, following, contentCount }
  },
  listContent: async (context, cursor) => {
    const { data = [], meta } = await call<Timeline>(context, `/2/users/${context.remoteId}/tweets`, {
      query: {
        max_results: PAGE,
        exclude: 'retweets,replies',
        'tweet.fields': 'created_at,public_metrics',
        pagination_token: cursor,
      },
    })
    return {
      items: data.map((post) => ({
        post: remoteOf(post.id),
        publishedAt: post.created_at ?? '',
        text: post.text,
        insights: insightsOf(post),
      })),
      next: meta?.next_token ?? null,
    }
  },
}
