import type { AccountContext, ChildAccount, Credential } from '../platform.ts'
import { call } from './graph.ts'
import { PAGE_FIELDS, pageOf, profileOfNode, type GraphNode } from './profile.ts'

interface ManagedPage extends GraphNode {
  readonly access_token?: string
  readonly tasks?: readonly string[]
}

interface PageList {
  readonly data: readonly ManagedPage[]
  readonly paging?: { readonly next?: string; readonly cursors?: { readonly after?: string } }
}

/** More pages of the list than anybody has, so that a wrong cursor cannot loop forever. */
const MAX_CALLS = 50

/**
 * The pages that a login manages. Each has its own token, which does not expire (developers.facebook.com, User
 * accounts, 2026-11). @throws PlatformError
 */
export async function pages(context: AccountContext): Promise<readonly ChildAccount[]> {
  if (pageOf(context.credential) !== undefined) return []
  const found: ManagedPage[] = []
  let after: string | undefined
  for (let count = 0; count < MAX_CALLS; count += 1) {
    const { data, paging } = (await call(context, 'me/accounts', {
      query: { fields: `${PAGE_FIELDS},tasks,access_token`, limit: 100, after },
    })) as PageList
    found.push(...data)
    after = paging?.cursors?.after
    if (paging?.next === undefined || after === undefined) break
  }
  return found.map((page) => childOf(page, context.credential))
}

function childOf(page: ManagedPage, { scopes }: Credential): ChildAccount {
  const { access_token: accessToken } = page
  return {
    profile: profileOfNode(page),
    credential: {
      ...(accessToken !== undefined && { accessToken }),
      ...(scopes !== undefined && { scopes }),
      page: page.id,
    },
    blocked: blockedReason(page, scopes),
  }
}

function blockedReason({ access_token: token, tasks = [] }: ManagedPage, scopes: readonly string[] | undefined) {
  if (!tasks.includes('CREATE_CONTENT')) {
    return 'Your role on this page does not include creating content. Ask an administrator of the page for it.'
  }
  if (scopes?.includes('pages_manage_posts') === false) {
    return 'You did not allow Crier to publish to pages. Connect again and allow it.'
  }
  return token === undefined ? 'Facebook gives no access to this page.' : null
}
