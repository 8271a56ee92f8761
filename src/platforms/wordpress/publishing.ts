import { PlatformError } from '../error-kinds.ts'
import { isSameText, textOfHtml } from '../fingerprint.ts'
import { multipart } from '../http/multipart.ts'
import type { AccountContext } from '../platform.ts'
import type { PublishContext, Publishing, PublishPart, PublishState, RemotePost, StepResult } from '../publishing.ts'
import { call, send } from './api.ts'
import {
  decoded,
  escapeText,
  isImage,
  mediaBlocks,
  mediaBlocksOf,
  plainText,
  textBlocks,
  titleFrom,
  type Uploaded,
} from './blocks.ts'
import { fileName } from './files.ts'
import { uploadError } from './replies.ts'
import { TITLE } from './site.ts'
import { shortKey, slugFor } from './slug.ts'

/**
 * Looks for the post, uploads one file per step, creates one tag per step, then creates the post. WordPress does not
 * recognize a repeated call. So each item has a slug that is derived from the key of the part, and is looked up before
 * it is created.
 */
interface State extends PublishState {
  readonly step: 'find' | 'upload' | 'tag' | 'publish'
  readonly slug: string
  readonly media: readonly Uploaded[]
  /** Ids of the tags. */
  readonly tags: readonly number[]
}

interface Post {
  readonly id: number
  readonly link: string
  readonly slug: string
  readonly status: string
}

interface EditablePost extends Post {
  readonly title: { readonly raw: string }
  readonly content: { readonly raw: string }
}

interface Comment {
  readonly id: number
  readonly link: string
  readonly date_gmt: string
  readonly content: { readonly rendered: string }
}

interface Attachment {
  readonly id: number
  readonly source_url: string
}

const UPLOAD_TIMEOUT_MS = 300_000
/** Themes show posts of these formats without a title. */
const UNTITLED: readonly unknown[] = ['aside', 'chat', 'link', 'quote', 'status']
/** Every status in which a post can be, also in the trash. */
const STATUSES = 'publish,future,draft,pending,private,trash'
const POST_FIELDS = 'id,link,slug,status'
const COMMENT_FIELDS = 'id,link,date_gmt,content'
const LISTED_COMMENTS = 100
/** The clock of the site may be this much behind ours, in milliseconds. */
const CLOCK_SKEW_MS = 300_000

/** Publishing to WordPress (developer.wordpress.org/rest-api/reference, 2026-11; read in WordPress 6.1). */
export const publishing: Publishing = {
  repeatable: false,
  start: ({ key, options, role, text, title }): State => {
    if (role === 'reply') {
      throw new PlatformError('unsupported', TITLE, {
        code: 'thread',
        detail: 'A site has no threads. Publish one longer post.',
        mayHaveHappened: false,
      })
    }
    const words = [options['slug'], title, text].map((one) => (typeof one === 'string' ? one.trim() : ''))
    return { step: 'find', slug: slugFor(words.find((one) => one !== '') ?? '', key), media: [], tags: [] }
  },
  // Uploads stay.
  preparation: { lifeMs: 24 * 3_600_000 },
  commits: ({ step }) => step === 'publish',
  step: async (context, part, state) => {
    const known = state as State
    if (known.step === 'upload') return upload(context, part, known)
    if (known.step === 'tag') return createTag(context, part, known)
    if (known.step === 'publish') return publish(context, part, known)
    const post = await find(context, part, known)
    return post === undefined ? next(part, known) : { kind: 'published', post }
  },
  reconcile: async (context, part, state) => {
    const post = await find(context, part, state as State)
    return post === undefined ? { kind: 'absent' } : { kind: 'published', post }
  },
  remove: async (context, post) => {
    // As in WordPress itself, the post goes to the trash, where the site keeps it for 30 days. 410: it is there already.
    const { json, status } = await send(context, routeOf(post), { method: 'DELETE', expect: [404, 410, 501] })
    const { code } = (json ?? {}) as { readonly code?: string }
    if (status !== 501) return
    // The site has no trash.
    if (code !== 'rest_trash_not_supported')
      throw new PlatformError('server_error', TITLE, { code, httpStatus: status })
    await send(context, routeOf(post), { method: 'DELETE', query: { force: true }, expect: [404, 410] })
  },
  edits: ['text', 'title', 'link'],
  edit,
  insights: async (context, post) => {
    if (isComment(post)) return {}
    const { headers } = await send(context, '/wp/v2/comments', { query: { post: post.id, per_page: 1, _fields: 'id' } })
    const total = Number(headers['x-wp-total'])
    return Number.isFinite(total) ? { comments: total } : {}
  },
}

/** The step that follows the completed ones. */
function next({ media, role, tags = [] }: PublishPart, done: State): StepResult {
  const isPost = role === 'post'
  const isUploading = isPost && done.media.length < media.length
  const isTagging = isPost && done.tags.length < namesOf(tags).length
  return {
    kind: 'next',
    state: { ...done, step: isUploading ? 'upload' : isTagging ? 'tag' : 'publish' } satisfies State,
  }
}

/** The post or comment of a part, if it exists. */
async function find(context: AccountContext, part: PublishPart, { slug }: State): Promise<RemotePost | undefined> {
  if (part.role === 'comment') return findComment(context, part)
  const [found] = await call<readonly Post[]>(context, '/wp/v2/posts', {
    // WordPress changes the slug of a post in the trash, to free the original slug.
    query: { slug: `${slug},${slug}__trashed`, status: STATUSES, context: 'edit', _fields: POST_FIELDS },
  })
  return found === undefined ? undefined : remoteOf(found)
}

/** Comments have no slug. The comment is found by its user, its post and its text. */
async function findComment(context: AccountContext, part: PublishPart): Promise<RemotePost | undefined> {
  const { createdAt, parent, text } = part
  const author = context.remoteId.split('/').at(-1)
  const query = {
    post: parent?.id,
    author,
    per_page: LISTED_COMMENTS,
    orderby: 'date',
    order: 'desc',
    _fields: COMMENT_FIELDS,
  }
  const comments = await call<readonly Comment[]>(context, '/wp/v2/comments', { query })
  const found = comments.find(
    ({ content, date_gmt: at }) =>
      isSameText(withoutEmoji(text), withoutEmoji(textOfHtml(decoded(content.rendered)))) &&
      Date.parse(`${at}Z`) >= createdAt - CLOCK_SKEW_MS,
  )
  return found === undefined ? undefined : remoteComment(found)
}

/** WordPress shows `:)` as an emoji. */
function withoutEmoji(text: string): string {
  return text.replaceAll(/\p{Extended_Pictographic}/gu, '')
}

async function upload(context: PublishContext, part: PublishPart, state: State): Promise<StepResult> {
  const index = state.media.length
  const file = part.media[index]
  if (file === undefined) return next(part, state)
  const slug = `${shortKey(part.key)}-file-${index + 1}`
  const query = { slug, context: 'edit', _fields: 'id,source_url' }
  const [known] = await call<readonly Attachment[]>(context, '/wp/v2/media', { query })
  const stored = known ?? (await sendFile(context, part, { file, slug }))
  return next(part, { ...state, media: [...state.media, { id: stored.id, url: stored.source_url }] })
}

async function sendFile(
  context: PublishContext,
  { title }: PublishPart,
  { file, slug }: { readonly file: PublishPart['media'][number]; readonly slug: string },
): Promise<Attachment> {
  const { altText, bytes, id, type } = file
  const fields = { slug, title: escapeText(altText ?? title ?? file.name), alt_text: altText }
  // As a form, which PHP writes to the disk. It would hold a plain body in memory.
  const form = multipart(fields, [
    { field: 'file', filename: fileName(file), type, body: await context.media.read(id, 0, bytes) },
  ])
  try {
    return await call<Attachment>(context, '/wp/v2/media', {
      method: 'POST',
      ...form,
      query: { _fields: 'id,source_url' },
      timeoutMs: UPLOAD_TIMEOUT_MS,
    })
  } catch (error) {
    throw uploadError(error, bytes)
  }
}

/** Tags without duplicates. WordPress ignores the case of tags. */
function namesOf(tags: readonly string[]): readonly string[] {
  const names = new Map<string, string>()
  for (const tag of tags) {
    const name = tag.trim().replace(/^#/, '')
    if (name !== '' && !names.has(name.toLowerCase())) names.set(name.toLowerCase(), name)
  }
  return [...names.values()]
}

async function createTag(context: PublishContext, part: PublishPart, state: State): Promise<StepResult> {
  const name = namesOf(part.tags ?? [])[state.tags.length]
  if (name === undefined) return next(part, state)
  const { json, status } = await send(context, '/wp/v2/tags', {
    method: 'POST',
    json: { name: escapeText(name) },
    query: { _fields: 'id' },
    expect: [400],
  })
  const { code, data, id, message } = json as TagReply
  // A tag that exists is refused, with its id.
  const known = status === 400 ? data?.term_id : id
  if (known === undefined || (status === 400 && code !== 'term_exists')) {
    throw new PlatformError('validation', TITLE, { code, detail: `The tag “${name}”: ${message}`, httpStatus: status })
  }
  return next(part, { ...state, tags: [...state.tags, known] })
}

interface TagReply {
  readonly id?: number
  readonly code?: string
  readonly message?: string
  readonly data?: { readonly term_id?: number }
}

async function publish(context: PublishContext, part: PublishPart, state: State): Promise<StepResult> {
  if (part.role === 'comment') {
    const comment = await call<Comment>(context, '/wp/v2/comments', {
      method: 'POST',
      json: { post: Number(part.parent?.id), content: escapeText(part.text) },
      query: { _fields: COMMENT_FIELDS },
    })
    return { kind: 'published', post: remoteComment(comment) }
  }
  const post = await call<Post>(context, '/wp/v2/posts', {
    method: 'POST',
    json: bodyOf(part, state),
    query: { _fields: POST_FIELDS },
  })
  return { kind: 'published', post: remoteOf(post) }
}

/** The fields of a new post. */
function bodyOf({ link, media, options, text, title = '' }: PublishPart, { media: uploaded, slug, tags }: State) {
  const { categories, featured_image: featured = 'first', slug: _words, status = 'publish', ...others } = options
  const first = featured === 'none' ? -1 : media.findIndex(isImage)
  const shown = (_: unknown, index: number) => featured !== 'only' || index !== first
  const blocks = [textBlocks(text, link), mediaBlocks(media.filter(shown), uploaded.filter(shown))]
  const heading = title.trim() !== '' || UNTITLED.includes(options['format']) ? title : titleFrom(text)
  return {
    ...others,
    slug,
    status,
    title: escapeText(heading),
    content: blocks.filter((one) => one !== '').join('\n\n'),
    ...(Array.isArray(categories) && { categories: categories.map(Number) }),
    ...(tags.length > 0 && { tags }),
    ...(first >= 0 && { featured_media: uploaded[first]?.id }),
    ...(typeof options['excerpt'] === 'string' && { excerpt: escapeText(options['excerpt']) }),
  }
}

/** Replaces the text, and the title where there is one. The files stay as they are. */
async function edit(context: AccountContext, post: RemotePost, part: PublishPart): Promise<RemotePost> {
  const route = routeOf(post)
  if (isComment(post)) {
    const query = { _fields: COMMENT_FIELDS }
    return remoteComment(
      await call<Comment>(context, route, { method: 'POST', json: { content: escapeText(part.text) }, query }),
    )
  }
  const old = await call<EditablePost>(context, route, {
    query: { context: 'edit', _fields: `${POST_FIELDS},title,content` },
  })
  const blocks = [textBlocks(part.text, part.link), mediaBlocksOf(old.content.raw)].filter((one) => one !== '')
  // A title that was the beginning of the text stays the beginning of the text.
  const wasText = old.title.raw !== '' && old.title.raw === escapeText(titleFrom(plainText(old.content.raw)))
  const title = part.title ?? (wasText ? titleFrom(part.text) : undefined)
  const json = { content: blocks.join('\n\n'), ...(title !== undefined && { title: escapeText(title) }) }
  return remoteOf(await call<Post>(context, route, { method: 'POST', json, query: { _fields: POST_FIELDS } }))
}

function isComment({ ids }: RemotePost): boolean {
  return ids?.['type'] === 'comment'
}

function routeOf(post: RemotePost): string {
  return `/wp/v2/${isComment(post) ? 'comments' : 'posts'}/${post.id}`
}

/** A draft has no address that others can open. */
function remoteOf({ id, link, status }: Post): RemotePost {
  return { id: String(id), url: status === 'publish' || status === 'private' ? link : null }
}

function remoteComment({ id, link }: Comment): RemotePost {
  return { id: String(id), url: link, ids: { type: 'comment' } }
}
