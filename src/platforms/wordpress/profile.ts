import { choicesIn } from '../choices.ts'
import type { AccountContext, LiveCapabilities, Place, Profile } from '../platform.ts'
import { call, send, type SiteContext } from './api.ts'
import type { SiteIndex } from './site.ts'

/** A user as the REST API shows it to itself (`context=edit`). */
interface User {
  readonly id: number
  readonly name: string
  readonly slug: string
  readonly avatar_urls?: Readonly<Record<string, string>>
  readonly roles?: readonly string[]
  readonly capabilities?: Readonly<Record<string, boolean>>
}

interface Category {
  readonly id: number
  readonly name: string
  readonly link: string
  readonly parent: number
}

const CATEGORIES_PER_PAGE = 100
const MAX_CATEGORY_PAGES = 10

/** The user that a password belongs to, at its site. @throws PlatformError */
export async function profileOf(context: SiteContext): Promise<Profile> {
  const { server = '' } = context.credential
  const user = await call<User>(context, '/wp/v2/users/me', { query: { context: 'edit' } })
  const index = await call<SiteIndex>(context, '/', { query: { _fields: 'name,home' } })
  const { host, pathname } = new URL(server)
  // The address as it is called, because what a site says of itself can be false.
  const site = `${host}${pathname.replace(/\/$/, '')}`
  const name = index.name?.trim() ?? ''
  return {
    remoteId: `${site}/${user.id}`,
    name: name === '' ? user.name : name,
    handle: `${user.slug}@${site}`,
    avatarUrl: user.avatar_urls?.['96'] ?? null,
    url: server,
    kind: 'site',
  }
}

/** What the role of the user allows (developer.wordpress.org, Roles and Capabilities, 2026-11). */
export async function capabilities(context: AccountContext): Promise<LiveCapabilities> {
  const user = await call<User>(context, '/wp/v2/users/me', { query: { context: 'edit' } })
  const may = (capability: string) => user.capabilities?.[capability] === true
  const role = user.roles?.[0] ?? 'none'
  const files = `The role “${role}” may not upload files. An administrator of the site can grant another role.`
  return {
    limits: {},
    choices: await choicesIn(context, 'categories', places),
    blocked: {
      ...(!may('publish_posts') && {
        publish: `The role “${role}” may not publish posts. An administrator of the site can grant the role “author”.`,
      }),
      ...(!may('upload_files') && { image: files, gif: files, video: files, document: files }),
    },
    details: {
      roles: user.roles ?? [],
      mayPublish: may('publish_posts'),
      mayUpload: may('upload_files'),
      mayCreateCategories: may('manage_categories'),
    },
  }
}

/** The categories of the site. */
export async function places(context: AccountContext): Promise<readonly Place[]> {
  const found: Place[] = []
  for (let page = 1; page <= MAX_CATEGORY_PAGES; page += 1) {
    const { headers, json } = await send(context, '/wp/v2/categories', {
      query: { per_page: CATEGORIES_PER_PAGE, page, _fields: 'id,name,link,parent' },
    })
    const categories = (json ?? []) as readonly Category[]
    found.push(...categories.map(({ id, link, name }) => ({ id: String(id), name, kind: 'category', url: link })))
    if (page >= Number(headers['x-wp-totalpages'] ?? 1)) break
  }
  return found
}

/**
 * Deletes the application password at the site.
 * @throws PlatformError
 */
export async function revoke(context: AccountContext): Promise<void> {
  const route = '/wp/v2/users/me/application-passwords'
  // 401: it was deleted already. 404: WordPress 5.6 cannot say which password was used; the user deletes it.
  const { json, status } = await send(context, `${route}/introspect`, { expect: [401, 404] })
  const { uuid } = (json ?? {}) as { readonly uuid?: string }
  if (status !== 200 || uuid === undefined) return
  await send(context, `${route}/${uuid}`, { method: 'DELETE', expect: [401, 404] })
}
