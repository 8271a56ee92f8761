import type { AccountContext, LiveCapabilities } from '../platform.ts'
import { call } from './api.ts'

interface CreatorInfo {
  readonly creator_username?: string
  readonly creator_nickname?: string
  readonly creator_avatar_url?: string
  readonly privacy_level_options?: readonly string[]
  readonly comment_disabled?: boolean
  readonly duet_disabled?: boolean
  readonly stitch_disabled?: boolean
  readonly max_video_post_duration_sec?: number
}

const PRIVACY_TITLES: Readonly<Record<string, string>> = {
  PUBLIC_TO_EVERYONE: 'Everyone',
  MUTUAL_FOLLOW_FRIENDS: 'Friends',
  FOLLOWER_OF_CREATOR: 'Followers',
  SELF_ONLY: 'Only you',
}

/**
 * What the creator can do now. TikTok requires that this is asked before a post is composed
 * (developers.tiktok.com/doc/content-posting-api-reference-query-creator-info, 2026-11).
 */
export async function capabilities(context: AccountContext): Promise<LiveCapabilities> {
  const reply = await call(context, '/v2/post/publish/creator_info/query/', { json: {} })
  const data = reply.data as CreatorInfo
  const { max_video_post_duration_sec: maxSeconds, privacy_level_options: options = [] } = data
  // Accounts that were connected before Crier made drafts.
  const canDraft = context.credential.scopes?.includes('video.upload') ?? true
  const off = (what: string) => `The creator has turned ${what} off in the settings of TikTok.`
  return {
    limits: maxSeconds === undefined ? {} : { 'video.maxSeconds': maxSeconds },
    blocked: {
      ...(data.comment_disabled === true && { comments: off('comments') }),
      ...(data.duet_disabled === true && { duet: off('duets') }),
      ...(data.stitch_disabled === true && { stitch: off('stitches') }),
      ...(!canDraft && {
        draft: 'TikTok has not allowed drafts for this account. Connect it again and allow uploads.',
      }),
      ...(options.length > 0 &&
        !options.includes('PUBLIC_TO_EVERYONE') && {
          public: 'TikTok does not offer public posts here: the account is private, or TikTok has not audited the app.',
        }),
    },
    choices: { privacy_level: options.map((value) => ({ value, title: PRIVACY_TITLES[value] ?? value })) },
    details: { ...data },
  }
}
