import type { AccountContext, Profile } from '../platform.ts'
import { send, query } from './xrpc.ts'

interface Session {
  readonly did: string
  readonly handle: string
}

interface ProfileRecord {
  readonly value?: {
    readonly displayName?: string
    readonly avatar?: { readonly ref?: { readonly $link?: string } }
  }
}

/** The account, by its PDS alone, because not every PDS can reach an app view. @throws PlatformError */
export async function profileOf(context: AccountContext): Promise<Profile> {
  const { did, handle } = await query<Session>(context, 'com.atproto.server.getSession')
  const reply = await send(context, 'com.atproto.repo.getRecord', {
    query: { repo: did, collection: 'app.bsky.actor.profile', rkey: 'self' },
    // An account without a profile record.
    expect: [400, 404],
  })
  const { value = {} } = (reply.json ?? {}) as ProfileRecord
  const avatar = value.avatar?.ref?.$link
  const name = value.displayName?.trim() ?? ''
  return {
    remoteId: did,
    name: name === '' ? handle : name,
    handle,
    avatarUrl:
      avatar === undefined
        ? null
        : `${context.credential.server}/xrpc/com.atproto.sync.getBlob?did=${did}&cid=${encodeURIComponent(avatar)}`,
    url: `https://bsky.app/profile/${did}`,
    kind: 'person',
  }
}
