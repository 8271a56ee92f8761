import type { Analytics } from '../analytics.ts'
import { textOfHtml } from '../fingerprint.ts'
import { call, insightsOf, postOf, type Status } from './publishing.ts'

interface Account {
  readonly followers_count?: number
  readonly following_count?: number
  readonly statuses_count?: number
}

const PAGE = 40

/** Figures of Mastodon (docs.joinmastodon.org/entities/Account, /methods/accounts, 2026-11). */
export const analytics: Analytics = {
  accountFigures: ['followers', 'following', 'contentCount'],
  contentFigures: ['likes', 'shares', 'comments'],
  audience: [],
  missing: { audience: 'Mastodon does not report who follows an account.' },
  readAccount: async (context) => {
    const account = (await call(context, '/api/v1/accounts/verify_credentials')) as Account
    const { followers_count: followers, following_count: following, statuses_count: contentCount } = account
    return {
      ...(followers !== undefined && { followers }),
      ...(following !== undefined && { following }),
      ...(contentCount !== undefined && { contentCount }),
    }
  },
  listContent: async (context, cursor) => {
    const [, id = ''] = context.remoteId.split('/')
    const statuses = (await call(context, `/api/v1/accounts/${id}/statuses`, {
      query: { limit: PAGE, exclude_reblogs: true, max_id: cursor },
    })) as Status[]
    return {
      items: statuses
        .filter((status) => status.in_reply_to_id === null)
        .map((status) => ({
          post: postOf(status),
          publishedAt: status.created_at,
          text: textOfHtml(status.content),
          // Pictures behind a warning are not for reports.
          pictureUrl: status.sensitive === true ? null : status.media_attachments?.[0]?.preview_url,
          insights: insightsOf(status),
        })),
      next: statuses.length < PAGE ? null : (statuses.at(-1)?.id ?? null),
    }
  },
}
