import type { Analytics, Audience, AudienceDimension } from '../analytics.ts'
import { PlatformError } from '../error-kinds.ts'
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
    readonly media_type?: string
    readonly media_url?: string
    readonly thumbnail_url?: string
    readonly like_count?: number
    readonly comments_count?: number
  }[]
  readonly paging?: { readonly next?: string; readonly cursors?: { readonly after?: string } }
}

interface Demographics {
  readonly data?: readonly {
    readonly total_value?: {
      readonly breakdowns?: readonly {
        readonly results?: readonly { readonly dimension_values: readonly string[]; readonly value: number }[]
      }[]
    }
  }[]
}

const PAGE = 50
const DIMENSIONS = ['country', 'city', 'age', 'gender'] as const satisfies readonly AudienceDimension[]
const FIELDS = 'id,caption,permalink,timestamp,media_type,media_url,thumbnail_url,like_count,comments_count'

/** Figures of the Instagram API with Instagram Login (developers.facebook.com, IG User, its Insights, and IG Media, 2026-11). */
export const analytics: Analytics = {
  accountFigures: ['followers', 'following', 'contentCount'],
  contentFigures: ['views', 'reach', 'likes', 'comments', 'shares', 'saves'],
  audience: DIMENSIONS,
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
      items: data.map(
        ({ caption, comments_count: comments, id, like_count: likes, permalink, timestamp, ...media }) => ({
          post: { id, url: permalink ?? null },
          publishedAt: new Date(timestamp).toISOString(),
          text: caption ?? '',
          // `media_url` of a video is the video.
          pictureUrl: media.thumbnail_url ?? (media.media_type === 'VIDEO' ? null : media.media_url),
          // Instagram leaves out likes that the owner hides.
          insights: { ...(likes !== undefined && { likes }), ...(comments !== undefined && { comments }) },
        }),
      ),
      next: paging?.next === undefined ? null : (paging.cursors?.after ?? null),
    }
  }, // The largest 45 groups of each. Accounts with fewer than 100 followers have none.
  readAudience: async (context) => {
    const audience: Audience = {}
    try {
      for (const breakdown of DIMENSIONS) {
        const query = { metric: 'follower_demographics', period: 'lifetime', metric_type: 'total_value', breakdown }
        const { data } = (await call(context, 'me/insights', { query })) as Demographics
        const results = data?.[0]?.total_value?.breakdowns?.[0]?.results ?? []
        const groups = results.map(({ dimension_values: [group = ''], value: count }) => ({ group, count }))
        if (groups.length > 0) audience[breakdown] = groups
      }
    } catch (error) {
      // Without the permission the other figures are still read.
      if (!(error instanceof PlatformError) || error.kind !== 'scope_missing') throw error
    }
    return audience
  },
}
