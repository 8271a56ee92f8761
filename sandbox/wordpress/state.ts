import { json, type FakeReply } from '../fake.ts'

/** The state of the fake site, and what its routes share. Nothing here is used by the client. */

export type Role = 'administrator' | 'editor' | 'author' | 'contributor' | 'subscriber'

export interface FakeUser {
  readonly id: number
  readonly login: string
  readonly role: Role
}

export interface FakePassword {
  readonly uuid: string
  readonly user: number
  readonly name: string
  readonly appId: string
  /** Without spaces. A real site stores a hash. */
  readonly password: string
}

export interface FakePost {
  readonly id: number
  readonly author: number
  readonly at: number
  slug: string
  status: string
  title: string
  content: string
  excerpt: string
  format: string
  sticky: boolean
  commentStatus: string
  pingStatus: string
  featured: number
  categories: readonly number[]
  tags: readonly number[]
}

export interface FakeAttachment {
  readonly id: number
  readonly author: number
  readonly slug: string
  readonly type: string
  readonly file: string
  readonly title: string
  readonly altText: string
  readonly bytes: number
}

export interface FakeComment {
  readonly id: number
  readonly post: number
  readonly author: number
  readonly at: number
  content: string
  status: 'approved' | 'trash'
}

export interface FakeTerm {
  readonly id: number
  readonly taxonomy: 'category' | 'post_tag'
  readonly name: string
}

export interface SiteState {
  readonly users: FakeUser[]
  readonly passwords: FakePassword[]
  readonly posts: FakePost[]
  readonly attachments: FakeAttachment[]
  readonly comments: FakeComment[]
  readonly terms: FakeTerm[]
  next: number
}

export function newSite(): SiteState {
  return {
    users: [],
    passwords: [],
    posts: [],
    attachments: [],
    comments: [],
    terms: [
      { id: 1, taxonomy: 'category', name: 'Uncategorized' },
      { id: 2, taxonomy: 'category', name: 'News' },
    ],
    next: 10,
  }
}

export function nextId(state: SiteState): number {
  return (state.next += 1)
}

/** Roles and Capabilities (wordpress.org/documentation, 2026-11). Each role has those of the next one, too. */
const GRANTED: Readonly<Record<Role, readonly string[]>> = {
  administrator: ['manage_options'],
  editor: ['edit_others_posts', 'manage_categories', 'moderate_comments', 'delete_others_posts', 'read_private_posts'],
  author: ['publish_posts', 'upload_files', 'edit_published_posts', 'delete_published_posts'],
  contributor: ['edit_posts', 'delete_posts'],
  subscriber: ['read'],
}
const ROLES = Object.keys(GRANTED) as readonly Role[]

/** The capabilities of a role. */
export function capabilitiesOf(role: Role): readonly string[] {
  return ROLES.slice(ROLES.indexOf(role)).flatMap((one) => GRANTED[one])
}

export function can({ role }: FakeUser, capability: string): boolean {
  return capabilitiesOf(role).includes(capability)
}

/** The user with this name. Its role is in its name: `author_ada`. Others are editors. */
export function userOf(state: SiteState, login: string): FakeUser {
  const known = state.users.find((user) => user.login === login)
  if (known !== undefined) return known
  const role = ROLES.find((one) => login.startsWith(one)) ?? 'editor'
  const user = { id: nextId(state), login, role }
  state.users.push(user)
  return user
}

/** An error of the REST API. */
export function failure(status: number, code: string, message: string, data: object = {}): FakeReply {
  return json(status, { code, message, data: { status, ...data } })
}

/** What WordPress answers when a value is not one of the schema. */
export function invalidParam(name: string, why: string, details: object = {}): FakeReply {
  return failure(400, 'rest_invalid_param', `Invalid parameter(s): ${name}`, { params: { [name]: why }, details })
}

/** The slug of a text: lower-case letters, digits and dashes. Other letters are percent-encoded (sanitize_title). */
export function sanitized(text: string): string {
  const words = text.toLowerCase().replaceAll(/%[0-9a-f]{2}/g, decodePart)
  return encodeURIComponent(
    words
      .replaceAll(/[^\p{L}\p{M}\p{N}_\s-]/gu, '')
      .trim()
      .replaceAll(/[\s-]+/g, '-'),
  )
    .toLowerCase()
    .slice(0, 200)
}

function decodePart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return ''
  }
}

/** A slug that no other entry has. If it is taken, `-2` is added (wp_unique_post_slug). */
export function uniqueSlug(wanted: string, taken: readonly { readonly slug: string }[]): string {
  const isTaken = (slug: string) => taken.some((one) => one.slug === slug)
  if (!isTaken(wanted)) return wanted
  for (let number = 2; ; number += 1) if (!isTaken(`${wanted}-${number}`)) return `${wanted}-${number}`
}

/** The named fields of a reply (`_fields`). */
export function picked(view: object, fields: string | null): object {
  if (fields === null) return view
  const names = fields.split(',').map((name) => name.trim().split('.')[0])
  return Object.fromEntries(Object.entries(view).filter(([name]) => names.includes(name)))
}

export function textOf(value: unknown, fallback = ''): string {
  return typeof value === 'string' ? value : fallback
}

/** The plain text of blocks. */
export function plainOf(html: string): string {
  return html
    .replaceAll(/<!-- wp:(file|gallery|image|video)[\s\S]*?<!-- \/wp:\1 -->/g, '')
    .replaceAll(/<!--[\s\S]*?-->\n?/g, '')
    .replaceAll(/<br ?\/?>/g, '\n')
    .replaceAll('</p>', '\n')
    .replaceAll(/<[^>]+>/g, '')
    .replaceAll(/&#(\d+);/g, (_all, code: string) => String.fromCodePoint(Number(code)))
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
    .trim()
}
