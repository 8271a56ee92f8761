import type { AccountContext, LiveCapabilities, PlatformContext, Profile } from '../platform.ts'
import { call } from './call.ts'

interface User {
  readonly id: string
  readonly name: string
  readonly username: string
  readonly profile_image_url?: string
  readonly protected?: boolean
  readonly subscription_type?: 'Basic' | 'Premium' | 'PremiumPlus' | 'None'
  readonly verified_type?: 'blue' | 'business' | 'government' | 'none'
}

/** Length of a post of a subscriber (docs.x.com, Changelog, 2024-08). */
const PREMIUM_TEXT = 25_000
/** Seconds of a video of a subscriber of X Premium (docs.x.com, Media best practices, 2026-10). */
const PREMIUM_VIDEO = 7_500

function me(context: PlatformContext & Pick<AccountContext, 'credential'>, fields: string): Promise<{ data: User }> {
  return call(context, '/2/users/me', { query: { 'user.fields': fields } })
}

/** The user that a token belongs to. @throws PlatformError */
export async function profileOf(context: PlatformContext, credential: AccountContext['credential']): Promise<Profile> {
  const { data } = await me({ ...context, credential }, 'profile_image_url,verified_type')
  const { id, name, profile_image_url: avatar, username, verified_type: type } = data
  return {
    remoteId: id,
    name,
    handle: username,
    avatarUrl: avatar ?? null,
    url: `https://x.com/${username}`,
    kind: type === 'business' || type === 'government' ? type : 'person',
  }
}

/** The limits of the user's subscription. */
export async function capabilities(context: AccountContext): Promise<LiveCapabilities> {
  const { data } = await me(context, 'subscription_type,protected')
  const subscription = data.subscription_type ?? 'None'
  const isPremium = subscription === 'Premium' || subscription === 'PremiumPlus'
  const canAttach = context.credential.scopes?.includes('media.write') ?? true
  return {
    limits: {
      ...(subscription !== 'None' && { 'text.max': PREMIUM_TEXT }),
      ...(isPremium && { 'video.maxSeconds': PREMIUM_VIDEO }),
    },
    blocked: canAttach ? {} : { media: 'The account was connected without the permission to upload media.' },
    details: { subscription, protected: data.protected === true },
  }
}
