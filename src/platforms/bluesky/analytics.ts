import type { Analytics } from '../analytics.ts'
import { insightsOf, postOf, type PostView } from './publishing.ts'
import { didOf, query } from './xrpc.ts'

interface Profile {
  readonly followersCount?: number
  readonly followsCount?: number
  readonly postsCount?: number
}

interface Feed {
  readonly cursor?: string
  readonly feed: readonly {
    readonly post: PostView & {
      readonly uri: string
      readonly cid: string
      readonly record?: { readonly text?: string; readonly createdAt?: string }
      readonly indexedAt: string
      /** Views of pictures and of a video. */
      readonly embed?: { readonly images?: readonly { readonly thumb: string }[]; readonly thumbnail?: string }
    }
    /** Set for reposts and pinned posts. */
    readonly reason?: { readonly $type?: string }
  }[]
}

const PAGE = 50

/** Figures of the AppView (docs.bsky.app, app.bsky.actor.getProfile and app.bsky.feed.getAuthorFeed, 2026-11). */
export const analytics: Analytics = {
  accountFigures: ['followers', 'following', 'contentCount'],
  contentFigures: ['likes', 'comments', 'shares', 'saves'],
  audience: [],
  missing: { audience: 'Bluesky does not report who follows an account in groups.' },
  readAccount: async (context) => {
    const profile = await query<Profile>(context, 'app.bsky.actor.getProfile', { actor: didOf(context) })
    const { followersCount, followsCount, postsCount } = profile
    return {
      ...(followersCount !== undefined && { followers: followersCount }),
      ...(followsCount !== undefined && { following: followsCount }),
      ...(postsCount !== undefined && { contentCount: postsCount }),
    }
  },
  listContent: async (context, cursor) => {
    const { cursor: next, feed } = await query<Feed>(context, 'app.bsky.feed.getAuthorFeed', {
      actor: didOf(context),
      limit: PAGE,
      filter: 'posts_no_replies',
      cursor,
    })
    return {
      items: feed
        .filter(({ reason }) => reason === undefined)
        .map(({ post }) => ({
          post: postOf(post),
          // The author's client writes `createdAt`, which can be wrong. The server writes `indexedAt`.
          publishedAt: post.indexedAt,
          text: post.record?.text ?? '',
          pictureUrl: post.embed?.images?.[0]?.thumb ?? post.embed?.thumbnail,
          insights: insightsOf(post),
        })),
      next: next ?? null,
    }
  },
}
