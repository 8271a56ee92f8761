import { choicesIn } from '../choices.ts'
import { PlatformError } from '../error-kinds.ts'
import type { AccountContext, LiveCapabilities, Profile } from '../platform.ts'
import { list, TITLE } from './api.ts'
import { playlistsOf } from './playlists.ts'

interface Channel {
  readonly id: string
  readonly snippet?: {
    readonly title?: string
    /** With a leading @ for channels that have chosen a handle. */
    readonly customUrl?: string
    readonly thumbnails?: { readonly default?: { readonly url?: string } }
  }
  readonly status?: {
    readonly privacyStatus?: string
    readonly longUploadsStatus?: 'allowed' | 'eligible' | 'disallowed' | 'longUploadsUnspecified'
    readonly madeForKids?: boolean
  }
}

/** Channels that have not verified a phone number (support.google.com/youtube/answer/71673, 2026-11). */
const SHORT_SECONDS = 900

/** The channel of a token. @throws PlatformError account_restricted when there is none */
export async function profileOf(context: AccountContext): Promise<Profile> {
  const { id, snippet = {} } = await channelOf(context, 'snippet')
  const handle = snippet.customUrl?.replace(/^@/, '') ?? null
  return {
    remoteId: id,
    name: snippet.title ?? handle ?? id,
    handle,
    avatarUrl: snippet.thumbnails?.default?.url ?? null,
    url: `https://www.youtube.com/channel/${id}`,
    kind: 'channel',
  }
}

/** What the channel can upload. The API does not report the quota, nor whether Google has audited the app. */
export async function capabilities(context: AccountContext): Promise<LiveCapabilities> {
  const { status = {} } = await channelOf(context, 'snippet,status')
  const { longUploadsStatus } = status
  const isShort = longUploadsStatus === 'eligible' || longUploadsStatus === 'disallowed'
  return {
    limits: isShort ? { 'video.maxSeconds': SHORT_SECONDS } : {},
    blocked: isShort
      ? {
          longVideos:
            longUploadsStatus === 'eligible'
              ? 'Videos over 15 minutes need a verified phone number: https://www.youtube.com/verify'
              : 'YouTube does not allow this channel to upload videos over 15 minutes.',
        }
      : {},
    choices: await choicesIn(context, 'playlistId', playlistsOf),
    details: {
      ...status,
      appAudit:
        'Videos that come through an app that Google has not audited stay private, whatever privacyStatus says. The operator can ask for the audit: https://support.google.com/youtube/contact/yt_api_form',
    },
  }
}

async function channelOf(context: AccountContext, part: string): Promise<Channel> {
  const [channel] = await list(context, 'channels', { part, mine: true })
  if (channel === undefined) {
    throw new PlatformError('account_restricted', TITLE, {
      code: 'no_channel',
      detail:
        'This Google account has no channel. Create one at https://www.youtube.com/create_channel, then connect again.',
      mayHaveHappened: false,
    })
  }
  return channel as Channel
}
