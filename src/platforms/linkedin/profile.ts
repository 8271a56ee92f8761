import type { AccountContext, ChildAccount, LiveCapabilities, Profile } from '../platform.ts'
import { call, isOrganization } from './api.ts'

interface UserInfo {
  readonly sub: string
  readonly name?: string
  readonly picture?: string
}

interface Organization {
  readonly id: number | string
  readonly localizedName?: string
  readonly vanityName?: string
}

interface Acl {
  readonly role: string
  readonly state?: string
  readonly organization?: string
  /** The name of the field before version 202301. */
  readonly organizationTarget?: string
}

/** The member, or the organization of a child account. @throws PlatformError */
export async function profileOf(context: AccountContext): Promise<Profile> {
  if (isOrganization(context.remoteId)) {
    const { json } = await call(context, `/rest/organizations/${idOf(context.remoteId)}`)
    return organizationProfile(json as Organization)
  }
  const { json } = await call(context, '/v2/userinfo')
  const { name, picture = null, sub } = json as UserInfo
  return {
    remoteId: `urn:li:person:${sub}`,
    name: name ?? sub,
    handle: null,
    avatarUrl: picture,
    url: null,
    kind: 'person',
  }
}

/** The organizations in which the member has a role. Only administrators can publish and read everything. */
export async function childrenOf(context: AccountContext): Promise<readonly ChildAccount[]> {
  const acls = await aclsOf(context)
  const ids = [...new Set(acls.map(organizationOf))].filter((id) => id !== '')
  if (ids.length === 0) return []
  const { json } = await call(context, `/rest/organizationsLookup?ids=List(${ids.join(',')})`, { restli: 'BATCH_GET' })
  const { results = {} } = json as { results?: Readonly<Record<string, Organization>> }
  return ids.flatMap((id) => {
    const organization = results[id]
    if (organization === undefined) return []
    const roles = acls.filter((acl) => organizationOf(acl) === id)
    const isAdmin = roles.some(isActiveAdmin)
    const held = roles.map(({ role }) => role.toLowerCase().replaceAll('_', ' ')).join(', ')
    return [
      {
        profile: organizationProfile(organization),
        // LinkedIn has no tokens of organizations.
        credential: null,
        blocked: isAdmin ? null : `Your role is ${held}. Ask for the role of super admin of this page.`,
      },
    ]
  })
}

/** What LinkedIn refuses to this account. There is no call that reports limits. */
export async function capabilities(context: AccountContext): Promise<LiveCapabilities> {
  if (!isOrganization(context.remoteId)) {
    return {
      limits: {},
      blocked: {
        insights: 'LinkedIn reports figures for organizations only.',
        reconcile: 'LinkedIn does not list the posts of members, so a post whose reply was lost stays unconfirmed.',
      },
      details: {},
    }
  }
  const id = idOf(context.remoteId)
  const roles = (await aclsOf(context)).filter((acl) => organizationOf(acl) === id)
  return {
    limits: {},
    blocked: roles.some(isActiveAdmin)
      ? {}
      : { publish: 'You no longer administer this page at LinkedIn. Ask for the role of super admin.' },
    details: { roles: roles.map(({ role }) => role) },
  }
}

async function aclsOf(context: AccountContext): Promise<readonly Acl[]> {
  const { json } = await call(context, '/rest/organizationAcls?q=roleAssignee&count=100', { restli: 'FINDER' })
  return (json as { elements?: readonly Acl[] }).elements ?? []
}

function isActiveAdmin({ role, state = 'APPROVED' }: Acl): boolean {
  return role === 'ADMINISTRATOR' && state === 'APPROVED'
}

function organizationOf({ organization, organizationTarget }: Acl): string {
  return idOf(organization ?? organizationTarget ?? '')
}

/** The last part of a URN. */
function idOf(urn: string): string {
  return urn.split(':').at(-1) ?? ''
}

function organizationProfile({ id, localizedName, vanityName }: Organization): Profile {
  return {
    remoteId: `urn:li:organization:${id}`,
    name: localizedName ?? vanityName ?? String(id),
    handle: vanityName ?? null,
    avatarUrl: null,
    url: `https://www.linkedin.com/company/${vanityName ?? id}`,
    kind: 'organization',
  }
}
