import type { Analytics } from '../analytics.ts'
import { call, list } from './api.ts'
import { insightsOf, postOf } from './publishing.ts'

interface Channel {
  readonly statistics?: {
    readonly subscriberCount?: string
    readonly hiddenSubscriberCount?: boolean
    readonly videoCount?: string
  }
}

interface Uploads {
  readonly items?: readonly { readonly snippet: { readonly resourceId: { readonly videoId: string } } }[]
  readonly nextPageToken?: string
}

interface Video {
  readonly id: string
  readonly snippet?: {
    readonly title?: string
    readonly publishedAt?: string
    readonly thumbnails?: { readonly medium?: { readonly url?: string } }
  }
  readonly statistics?: Readonly<Record<string, string>>
}

const PAGE = 50

/** Figures of the Data API (developers.google.com/youtube/v3/docs/channels, /videos, 2026-11). A reading costs 3 units. */
export const analytics: Analytics = {
  accountFigures: ['followers', 'contentCount'],
  contentFigures: ['views', 'likes', 'comments'],
  audience: [],
  missing: {
    audience:
      'The YouTube Data API does not report who watches. The YouTube Analytics API would need another permission.',
  },
  readAccount: async (context) => {
    const [channel] = (await list(context, 'channels', { part: 'statistics', mine: true })) as readonly Channel[]
    const { hiddenSubscriberCount, subscriberCount, videoCount } = channel?.statistics ?? {}
    return {
      ...(subscriberCount !== undefined && hiddenSubscriberCount !== true && { followers: Number(subscriberCount) }),
      ...(videoCount !== undefined && { contentCount: Number(videoCount) }),
    }
  },
  listContent: async (context, cursor) => {
    // The playlist of a channel’s uploads has the id of the channel with another prefix.
    const playlistId = context.remoteId.replace(/^UC/, 'UU')
    const query = { part: 'snippet', playlistId, maxResults: PAGE, pageToken: cursor }
    const { items = [], nextPageToken } = (await call(context, '/youtube/v3/playlistItems', { query })).json as Uploads
    if (items.length === 0) return { items: [], next: null }
    const id = items.map(({ snippet }) => snippet.resourceId.videoId).join(',')
    const videos = (await list(context, 'videos', { part: 'snippet,statistics', id })) as readonly Video[]
    return {
      items: videos.map(({ id: video, snippet = {}, statistics = {} }) => ({
        post: postOf(video),
        publishedAt: snippet.publishedAt ?? '',
        text: snippet.title ?? '',
        pictureUrl: snippet.thumbnails?.medium?.url,
        insights: insightsOf(statistics),
      })),
      next: nextPageToken ?? null,
    }
  },
}
