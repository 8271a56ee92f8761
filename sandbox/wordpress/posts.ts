import { json, type FakeReply, type FakeRequest } from '../fake.ts'
import {
  can,
  failure,
  invalidParam,
  nextId,
  picked,
  sanitized,
  textOf,
  uniqueSlug,
  type FakePost,
  type FakeUser,
  type SiteState,
} from './state.ts'

/** Posts and terms (developer.wordpress.org/rest-api/reference/posts, /tags, /categories, 2026-11). */

/** Bytes of a TEXT column. */
const TITLE_BYTES = 65_535
const TERM_CHARACTERS = 200
const ENUMS: Readonly<Record<string, readonly string[]>> = {
  status: ['publish', 'future', 'draft', 'pending', 'private'],
  format: ['standard', 'aside', 'chat', 'gallery', 'link', 'image', 'quote', 'status', 'video', 'audio'],
  comment_status: ['open', 'closed'],
  ping_status: ['open', 'closed'],
}

export interface PostRequest {
  readonly state: SiteState
  readonly request: FakeRequest
  readonly user: FakeUser | undefined
  readonly now: number
}

export function listPosts({ request, state, user }: PostRequest): FakeReply {
  const { base, query } = request
  const statuses = (query.get('status') ?? 'publish').split(',')
  if (statuses.some((status) => status !== 'publish') && (user === undefined || !can(user, 'edit_posts'))) {
    const data = { status: user === undefined ? 401 : 403 }
    const detail = { code: 'rest_forbidden_status', message: 'Status is forbidden.', data }
    return invalidParam('status', 'Status is forbidden.', { status: detail })
  }
  const slugs = query.get('slug')?.split(',').map(sanitized)
  const found = state.posts.filter(({ slug, status }) => statuses.includes(status) && (slugs?.includes(slug) ?? true))
  return json(
    200,
    found.toReversed().map((post) => picked(postView(base, post), query.get('_fields'))),
    { 'X-WP-Total': String(found.length), 'X-WP-TotalPages': '1' },
  )
}

export function createPost(call: PostRequest): FakeReply {
  const { now, request, state, user } = call
  const { base, body, query } = request
  const status = textOf(body['status'], 'draft')
  const refusal = refusalOf(call, status)
  if (refusal !== undefined) return refusal
  const fields = fieldsOf(state, body)
  if ([fields.title, fields.content, fields.excerpt].every((text) => text.trim() === '')) {
    return failure(400, 'empty_content', 'Content, title, and excerpt are empty.')
  }
  const post: FakePost = {
    id: nextId(state),
    author: user?.id ?? 0,
    at: now,
    slug: uniqueSlug(sanitized(textOf(body['slug'], fields.title)), state.posts),
    status,
    ...fields,
  }
  state.posts.push(post)
  return json(201, picked(postView(base, post), query.get('_fields')), {
    Location: `${base}/wp-json/wp/v2/posts/${post.id}`,
  })
}

export function onePost(call: PostRequest, id: number): FakeReply {
  const { request, state, user } = call
  const { base, body, method, query } = request
  const index = state.posts.findIndex((one) => one.id === id)
  const post = state.posts[index]
  if (post === undefined) return failure(404, 'rest_post_invalid_id', 'Invalid post ID.')
  const owns = user !== undefined && (post.author === user.id || can(user, 'edit_others_posts'))
  if (method === 'GET') return json(200, picked(postView(base, post), query.get('_fields')))
  if (method === 'DELETE') {
    if (!owns) return failure(user ? 403 : 401, 'rest_cannot_delete', 'Sorry, you are not allowed to delete this post.')
    if (query.get('force') === 'true') {
      state.posts.splice(index, 1)
      return json(200, { deleted: true, previous: postView(base, post) })
    }
    if (post.status === 'trash') return failure(410, 'rest_already_trashed', 'The post has already been deleted.')
    Object.assign(post, { status: 'trash', slug: `${post.slug}__trashed` })
    return json(200, postView(base, post))
  }
  if (!owns) return failure(user ? 403 : 401, 'rest_cannot_edit', 'Sorry, you are not allowed to edit this post.')
  const refusal = refusalOf(call, textOf(body['status'], post.status))
  if (refusal !== undefined) return refusal
  const given = Object.keys(body)
  const names: Readonly<Record<string, string>> = {
    comment_status: 'commentStatus',
    ping_status: 'pingStatus',
    featured_media: 'featured',
  }
  const fields = Object.entries(fieldsOf(state, body)).filter(([name]) =>
    given.some((one) => (names[one] ?? one) === name),
  )
  Object.assign(post, Object.fromEntries(fields))
  return json(200, picked(postView(base, post), query.get('_fields')))
}

/** Why a post cannot be stored. */
function refusalOf({ request: { body }, state, user }: PostRequest, status: string): FakeReply | undefined {
  for (const [name, values] of Object.entries(ENUMS)) {
    const value = body[name]
    if (value !== undefined && !(values as readonly unknown[]).includes(value)) {
      return invalidParam(name, `${name} is not one of ${values.join(', ')}.`)
    }
  }
  const failing = user === undefined ? 401 : 403
  if (user === undefined || !can(user, 'edit_posts')) {
    return failure(failing, 'rest_cannot_create', 'Sorry, you are not allowed to create posts as this user.')
  }
  if (body['sticky'] === true && !can(user, 'publish_posts')) {
    return failure(failing, 'rest_cannot_assign_sticky', 'Sorry, you are not allowed to make posts sticky.')
  }
  if (['publish', 'private', 'future'].includes(status) && !can(user, 'publish_posts')) {
    return failure(failing, 'rest_cannot_publish', 'Sorry, you are not allowed to publish posts in this post type.')
  }
  const featured = Number(body['featured_media'] ?? 0)
  if (featured !== 0 && !state.attachments.some(({ id }) => id === featured)) {
    return failure(400, 'rest_invalid_featured_media', 'Invalid featured media ID.')
  }
  return Buffer.byteLength(textOf(body['title'])) > TITLE_BYTES
    ? failure(500, 'db_insert_error', 'Could not insert post into the database.')
    : undefined
}

function fieldsOf(state: SiteState, body: FakeRequest['body']) {
  const termsOf = (name: string, taxonomy: string) =>
    ((body[name] ?? []) as readonly number[]).filter((id) =>
      state.terms.some((term) => term.id === id && term.taxonomy === taxonomy),
    )
  const categories = termsOf('categories', 'category')
  return {
    title: textOf(body['title']),
    content: textOf(body['content']),
    excerpt: textOf(body['excerpt']),
    format: textOf(body['format'], 'standard'),
    sticky: body['sticky'] === true,
    commentStatus: textOf(body['comment_status'], 'open'),
    pingStatus: textOf(body['ping_status'], 'open'),
    featured: Number(body['featured_media'] ?? 0),
    categories: categories.length > 0 ? categories : [1],
    tags: termsOf('tags', 'post_tag'),
  }
}

/** Categories or tags. */
export function terms({ request, state, user }: PostRequest, taxonomy: 'category' | 'post_tag'): FakeReply {
  const { base, body, method, query } = request
  const view = ({ id, name }: { readonly id: number; readonly name: string }) =>
    picked(
      { id, name, slug: sanitized(name), parent: 0, link: `${base}/${taxonomy}/${sanitized(name)}/` },
      query.get('_fields'),
    )
  const known = state.terms.filter((term) => term.taxonomy === taxonomy)
  if (method === 'GET')
    return json(200, known.map(view), { 'X-WP-Total': String(known.length), 'X-WP-TotalPages': '1' })
  // Users who can assign tags can create them; only editors can create categories.
  if (user === undefined || !can(user, taxonomy === 'category' ? 'manage_categories' : 'edit_posts')) {
    return failure(
      user ? 403 : 401,
      'rest_cannot_create',
      'Sorry, you are not allowed to create terms in this taxonomy.',
    )
  }
  const name = textOf(body['name']).trim()
  if (name === '') return failure(400, 'empty_term_name', 'A name is required for this term.')
  if (Array.from(name).length > TERM_CHARACTERS) {
    return failure(500, 'db_insert_error', 'Could not insert term into the database.')
  }
  const same = known.find((term) => sanitized(term.name) === sanitized(name))
  if (same !== undefined) {
    const message = 'A term with the name provided already exists in this taxonomy.'
    return failure(400, 'term_exists', message, { term_id: same.id })
  }
  const term = { id: nextId(state), taxonomy, name }
  state.terms.push(term)
  return json(201, view(term))
}

export function postView(base: string, post: FakePost) {
  const {
    at,
    author,
    categories,
    commentStatus,
    content,
    excerpt,
    featured,
    format,
    id,
    pingStatus,
    slug,
    status,
    sticky,
    tags,
    title,
  } = post
  return {
    id,
    date_gmt: new Date(at).toISOString().slice(0, 19),
    slug,
    status,
    type: 'post',
    link: status === 'publish' || status === 'private' ? `${base}/${slug}/` : `${base}/?p=${id}`,
    title: { raw: title, rendered: title },
    content: { raw: content, rendered: content, protected: false },
    excerpt: { raw: excerpt, rendered: excerpt, protected: false },
    author,
    featured_media: featured,
    comment_status: commentStatus,
    ping_status: pingStatus,
    sticky,
    format,
    categories,
    tags,
  }
}
