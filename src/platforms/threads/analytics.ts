import type { Analytics, Audience, AudienceDimension } from '../analytics.ts'
import { PlatformError, type ErrorKind } from '../error-kinds.ts'
import type { AccountContext } from '../platform.ts'
import { call } from './graph.ts'

interface ProfileInsights {
  readonly data?: readonly {
    readonly name: string
    readonly total_value?: {
      readonly value?: number
      readonly breakdowns?: readonly {
        readonly results?: readonly { readonly dimension_values: readonly string[]; readonly value: number }[]
      }[]
    }
  }[]
}

interface ThreadPage {
  readonly data: readonly {
    readonly id: string
    readonly text?: string
    readonly permalink?: string
    readonly timestamp: string
    readonly media_type?: string
    readonly media_url?: string
    readonly thumbnail_url?: string
  }[]
  readonly paging?: { readonly next?: string; readonly cursors?: { readonly after?: string } }
}

const PAGE = 50
const DIMENSIONS = ['country', 'city', 'age', 'gender'] as const satisfies readonly AudienceDimension[]
const FIELDS = 'id,text,permalink,timestamp,media_type,media_url,thumbnail_url'

/** Figures of the Threads API (developers.facebook.com, Threads Insights API and Threads media, 2026-11). */
export const analytics: Analytics = {
  accountFigures: ['followers'],
  contentFigures: ['views', 'likes', 'comments', 'shares'],
  audience: DIMENSIONS,
  readAccount: async (context) => {
    const reply = await unless(['scope_missing'], insights(context, { metric: 'followers_count' }))
    const followers = reply?.data?.find(({ name }) => name === 'followers_count')?.total_value?.value
    return followers === undefined ? {} : { followers }
  },
  // Figures are asked for by post.
  listContent: async (context, cursor) => {
    const { data, paging } = (await call(context, 'me/threads', {
      query: { fields: FIELDS, limit: PAGE, after: cursor },
    })) as ThreadPage
    return {
      items: data
        .filter(({ media_type: type }) => type !== 'REPOST_FACADE')
        .map(({ id, permalink, text, timestamp, ...media }) => ({
          post: { id, url: permalink ?? null },
          publishedAt: new Date(timestamp).toISOString(),
          text: text ?? '',
          // `media_url` of a video is the video.
          pictureUrl: media.thumbnail_url ?? (media.media_type === 'IMAGE' ? media.media_url : null),
          insights: {},
        })),
      next: paging?.next === undefined ? null : (paging.cursors?.after ?? null),
    }
  },
  // Threads takes one breakdown per call.
  readAudience: async (context) => {
    const audience: Audience = {}
    for (const breakdown of DIMENSIONS) {
      // Refused for profiles with fewer than 100 followers, and for those without an Instagram account.
      const query = { metric: 'follower_demographics', breakdown }
      const reply = await unless(['scope_missing', 'validation'], insights(context, query))
      if (reply === undefined) return audience
      const results = reply.data?.[0]?.total_value?.breakdowns?.[0]?.results ?? []
      const groups = results.map(({ dimension_values: [group = ''], value: count }) => ({ group, count }))
      if (groups.length > 0) audience[breakdown] = groups
    }
    return audience
  },
}

async function insights(context: AccountContext, query: Readonly<Record<string, string>>): Promise<ProfileInsights> {
  return (await call(context, `${context.remoteId}/threads_insights`, { query })) as ProfileInsights
}

/** Undefined after an error of one of the kinds, so that the other figures are still read. */
async function unless<Reply>(kinds: readonly ErrorKind[], reply: Promise<Reply>): Promise<Reply | undefined> {
  try {
    return await reply
  } catch (error) {
    if (!(error instanceof PlatformError) || !kinds.includes(error.kind)) throw error
    return undefined
  }
}
