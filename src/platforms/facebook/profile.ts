import type { GraphContext } from '../meta/graph.ts'
import type { Credential, Profile } from '../platform.ts'
import { call } from './graph.ts'

/** A user or a page, with the fields that Crier reads. */
export interface GraphNode {
  readonly id: string
  readonly name: string
  readonly username?: string
  readonly link?: string
  readonly picture?: { readonly data?: { readonly url?: string } }
}

export const PAGE_FIELDS = 'id,name,username,link,picture{url}'

/** The page that a credential belongs to; undefined for a login. */
export function pageOf({ page }: Credential): string | undefined {
  return typeof page === 'string' ? page : undefined
}

/** The page or login that a credential belongs to. @throws PlatformError */
export async function profileOf(context: GraphContext): Promise<Profile> {
  const page = pageOf(context.credential)
  if (page === undefined) {
    const user = (await call(context, 'me', { query: { fields: 'id,name,picture{url}' } })) as GraphNode
    return { ...profileOfNode(user), kind: 'login' }
  }
  return profileOfNode((await call(context, page, { query: { fields: PAGE_FIELDS } })) as GraphNode)
}

export function profileOfNode({ id, link, name, picture, username }: GraphNode): Profile {
  return {
    remoteId: id,
    name,
    handle: username ?? null,
    avatarUrl: picture?.data?.url ?? null,
    url: link ?? null,
    kind: 'page',
  }
}
