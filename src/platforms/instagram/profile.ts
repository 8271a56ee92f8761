import type { GraphContext } from '../meta/graph.ts'
import type { Profile } from '../platform.ts'
import { call } from './graph.ts'

interface Account {
  /** The id of the professional account, which the paths of calls contain. `id` depends on the app. */
  readonly user_id: string | number
  readonly username: string
  readonly name?: string
  readonly account_type?: string
  readonly profile_picture_url?: string
}

/** The account of a token. @throws PlatformError */
export async function profileOf(context: GraphContext): Promise<Profile> {
  const fields = 'user_id,username,name,account_type,profile_picture_url'
  const {
    account_type: type,
    name,
    profile_picture_url: avatar,
    user_id: id,
    username,
  } = (await call(context, 'me', {
    query: { fields },
  })) as Account
  return {
    remoteId: String(id),
    name: name === undefined || name === '' ? username : name,
    handle: username,
    avatarUrl: avatar ?? null,
    url: `https://www.instagram.com/${username}/`,
    kind: kindOf(type ?? ''),
  }
}

/** `BUSINESS`, `MEDIA_CREATOR` or `PERSONAL`. */
function kindOf(type: string): string {
  const kind = type.toLowerCase()
  return kind === 'media_creator' ? 'creator' : kind === '' ? 'business' : kind
}
