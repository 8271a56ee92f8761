import type { Credential, PlatformContext, Profile } from '../platform.ts'
import { serverOf } from './server.ts'

interface Account {
  readonly id: string
  readonly username: string
  readonly display_name: string
  readonly avatar: string
  readonly url: string
  readonly bot?: boolean
}

/** The account that a token belongs to. @throws PlatformError */
export async function profileOf(context: PlatformContext, credential: Credential): Promise<Profile> {
  const server = serverOf(context, credential.server ?? '')
  const { json } = await context.http.send({
    url: `${server.url}/api/v1/accounts/verify_credentials`,
    headers: { Authorization: `Bearer ${credential.accessToken}` },
    userHost: server.userHost,
    signal: context.signal,
  })
  const { avatar, bot, display_name: name, id, url, username } = json as Account
  const { host } = new URL(server.url)
  return {
    // Ids are unique on one server only.
    remoteId: `${host}/${id}`,
    name: name === '' ? username : name,
    handle: `${username}@${host}`,
    avatarUrl: avatar,
    url,
    kind: bot === true ? 'bot' : 'person',
  }
}
