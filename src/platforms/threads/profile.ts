import type { GraphContext } from '../meta/graph.ts'
import type { Profile } from '../platform.ts'
import { call } from './graph.ts'

interface ThreadsProfile {
  readonly id: string
  readonly username: string
  readonly name?: string
  readonly threads_profile_picture_url?: string
}

/** The profile of a token. @throws PlatformError */
export async function profileOf(context: GraphContext): Promise<Profile> {
  const fields = 'id,username,name,threads_profile_picture_url'
  const {
    id,
    name,
    threads_profile_picture_url: avatar,
    username,
  } = (await call(context, 'me', {
    query: { fields },
  })) as ThreadsProfile
  return {
    remoteId: id,
    name: name === undefined || name === '' ? username : name,
    handle: username,
    avatarUrl: avatar ?? null,
    url: `https://www.threads.com/@${username}`,
    kind: 'person',
  }
}
