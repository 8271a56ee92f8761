import { analytics } from './analytics.ts'
import { platform, type AccountContext, type LiveCapabilities } from '../platform.ts'
import { appOf, oauth } from './oauth.ts'
import { options } from './options.ts'
import { profileOf } from './profile.ts'
import { publishing } from './publishing.ts'
import { reader } from './replies.ts'
import { refusals } from './refusals.ts'
import { rules } from './rules.ts'
import { serverOf } from './server.ts'

/** Mastodon, and servers that implement its client API. */
export const mastodon = platform({
  key: 'mastodon',
  title: 'Mastodon',
  defaults: { apiUrl: 'https://mastodon.social', authUrl: 'https://mastodon.social' },
  oauth,
  options,
  publishing,
  analytics,
  refusals,
  rules,
  reader,
  profile: (context) => profileOf(context, context.credential),
  revoke: async (context) => {
    const { credential, http, signal } = context
    const server = serverOf(context, credential.server ?? '')
    const app = await appOf(context, server, String(credential['redirectUri'] ?? ''))
    await http.send({
      method: 'POST',
      url: `${server.url}/oauth/revoke`,
      form: { client_id: app.clientId, client_secret: app.clientSecret, token: credential.accessToken },
      secrets: [app.clientSecret, credential.accessToken ?? ''],
      userHost: server.userHost,
      signal,
      // A token that the server does not recognize is already revoked.
      expect: [403, 404],
    })
  },
  capabilities,
})

interface Instance {
  readonly configuration?: {
    readonly statuses?: { readonly max_characters?: number; readonly max_media_attachments?: number }
    readonly media_attachments?: {
      readonly image_size_limit?: number
      readonly image_matrix_limit?: number
      readonly video_size_limit?: number
      readonly description_limit?: number
    }
    readonly polls?: {
      readonly max_options?: number
      readonly max_characters_per_option?: number
      /** Seconds. */
      readonly min_expiration?: number
      readonly max_expiration?: number
    }
  }
  readonly version?: string
}

/** The limits of the account's server (`/api/v2/instance`). */
async function capabilities(context: AccountContext): Promise<LiveCapabilities> {
  const server = serverOf(context, context.credential.server ?? '')
  const { json } = await context.http.send({
    url: `${server.url}/api/v2/instance`,
    // Without a token, the budget in the reply would be that of our address.
    headers: { Authorization: `Bearer ${context.credential.accessToken}` },
    userHost: server.userHost,
    signal: context.signal,
  })
  const { configuration = {}, version } = json as Instance
  const { media_attachments: media = {}, polls = {}, statuses = {} } = configuration
  const { max_expiration: longest, min_expiration: shortest } = polls
  const limits = {
    'text.max': statuses.max_characters,
    'comment.max': statuses.max_characters,
    'media.max': statuses.max_media_attachments,
    'image.max': statuses.max_media_attachments,
    'image.maxBytes': media.image_size_limit,
    'image.maxPixels': media.image_matrix_limit,
    'video.maxBytes': media.video_size_limit,
    'alt.max': media.description_limit,
    'poll.maxOptions': polls.max_options,
    'poll.optionMax': polls.max_characters_per_option,
    'poll.minMinutes': shortest === undefined ? undefined : Math.ceil(shortest / 60),
    'poll.maxMinutes': longest === undefined ? undefined : Math.floor(longest / 60),
  }
  const known = Object.entries(limits).flatMap(([id, value]) => (typeof value === 'number' ? [[id, value]] : []))
  return {
    limits: Object.fromEntries(known) as Record<string, number>,
    blocked: {},
    details: { ...(version !== undefined && { version }) },
  }
}
