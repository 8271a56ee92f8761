import { json, type FakeReply } from '../fake.ts'
import { partsOf } from '../multipart.ts'
import type { PostRequest } from './posts.ts'
import {
  can,
  failure,
  invalidParam,
  nextId,
  picked,
  plainOf,
  sanitized,
  textOf,
  uniqueSlug,
  type FakeAttachment,
  type FakeComment,
  type FakeUser,
} from './state.ts'

/** Media and comments (developer.wordpress.org/rest-api/reference/media, /comments, 2026-11). */

/** The endings of file names that WordPress takes (wp_get_mime_types()). */
const ENDINGS =
  /\.(?:jpe?g|jpe|gif|png|bmp|tiff?|webp|ico|heic|asf|wmv|avi|flv|mov|qt|mpe?g|mp4|m4v|ogv|webm|mkv|3gp|txt|csv|rtf|pdf|docx?|xlsx?|pptx?|odt|zip)$/i
/** Bytes of the content of a comment (wp_get_comment_fields_max_lengths()). */
const COMMENT_BYTES = 65_525
/** Between two comments of a user without the right to moderate (wp_throttle_comment_flood()). */
const FLOOD_MS = 15_000

export function listMedia({ request: { base, query }, state }: PostRequest): FakeReply {
  const slugs = query.get('slug')?.split(',').map(sanitized)
  const found = state.attachments.filter(({ slug }) => slugs?.includes(slug) ?? true)
  return json(
    200,
    found.map((one) => picked(mediaView(base, one), query.get('_fields'))),
  )
}

export function upload({ request, state, user }: PostRequest): FakeReply {
  const { base, bytes, headers, query } = request
  if (user === undefined || !can(user, 'upload_files')) {
    return failure(user ? 403 : 401, 'rest_cannot_create', 'Sorry, you are not allowed to upload media on this site.')
  }
  const parts = partsOf(headers['content-type'], bytes)
  const field = (name: string) =>
    parts.find((part) => part.name === name && part.filename === null)?.bytes.toString('utf8')
  const file = parts.find(({ filename }) => filename !== null)
  if (file === undefined) return failure(400, 'rest_upload_no_data', 'No data supplied.')
  if (file.bytes.length === 0)
    return failure(500, 'rest_upload_unknown_error', 'File is empty. Please upload something more substantial.')
  const name = (file.filename ?? '').replaceAll(/[^\w.-]+/g, '-')
  if (!ENDINGS.test(name)) {
    return failure(500, 'rest_upload_unknown_error', 'Sorry, you are not allowed to upload this file type.')
  }
  const attachment: FakeAttachment = {
    id: nextId(state),
    author: user.id,
    slug: uniqueSlug(sanitized(field('slug') ?? name), [...state.attachments, ...state.posts]),
    type: file.type ?? '',
    file: name,
    title: field('title') ?? name,
    altText: field('alt_text') ?? '',
    bytes: file.bytes.length,
  }
  state.attachments.push(attachment)
  return json(201, picked(mediaView(base, attachment), query.get('_fields')))
}

function mediaView(base: string, { altText, author, file, id, slug, title, type }: FakeAttachment) {
  return {
    id,
    slug,
    status: 'inherit',
    author,
    title: { raw: title, rendered: title },
    alt_text: altText,
    media_type: type.startsWith('image/') ? 'image' : 'file',
    mime_type: type,
    source_url: `${base}/wp-content/uploads/${id}/${file}`,
  }
}

export function listComments({ request: { base, query }, state, user }: PostRequest): FakeReply {
  const post = query.get('post')
  const author = query.get('author')
  if (author !== null && (user === undefined || !can(user, 'edit_posts'))) {
    return failure(user ? 403 : 401, 'rest_forbidden_param', 'Query parameter not permitted: author')
  }
  const found = state.comments.filter(
    (one) =>
      one.status === 'approved' &&
      [null, String(one.post)].includes(post) &&
      [null, String(one.author)].includes(author),
  )
  const most = Number(query.get('per_page') ?? 10)
  return json(
    200,
    found
      .toReversed()
      .slice(0, most)
      .map((one) => picked(commentView(base, one), query.get('_fields'))),
    { 'X-WP-Total': String(found.length) },
  )
}

export function createComment({ now, request, state, user }: PostRequest): FakeReply {
  const { base, body, query } = request
  if (user === undefined) return failure(401, 'rest_comment_login_required', 'Sorry, you must be logged in to comment.')
  const post = state.posts.find(({ id }) => id === body['post'])
  if (post === undefined)
    return failure(
      403,
      'rest_comment_invalid_post_id',
      'Sorry, you are not allowed to create this comment without a post.',
    )
  if (post.status === 'draft')
    return failure(403, 'rest_comment_draft_post', 'Sorry, you are not allowed to create a comment on this post.')
  if (post.status === 'trash')
    return failure(403, 'rest_comment_trash_post', 'Sorry, you are not allowed to create a comment on this post.')
  if (post.commentStatus !== 'open')
    return failure(403, 'rest_comment_closed', 'Sorry, comments are closed for this item.')
  const content = textOf(body['content'])
  if (content.trim() === '') return failure(400, 'rest_comment_content_invalid', 'Invalid comment content.')
  if (Buffer.byteLength(content) > COMMENT_BYTES) {
    return failure(400, 'comment_content_column_length', '<strong>Error:</strong> Your comment is too long.')
  }
  const problem = repetitionOf(state.comments, { user, post: post.id, content, now })
  if (problem !== undefined) return problem
  const comment: FakeComment = {
    id: nextId(state),
    post: post.id,
    author: user.id,
    at: now,
    content,
    status: 'approved',
  }
  state.comments.push(comment)
  return json(201, picked(commentView(base, comment), query.get('_fields')))
}

interface NewComment {
  readonly user: FakeUser
  readonly post: number
  readonly content: string
  readonly now: number
}

function repetitionOf(
  comments: readonly FakeComment[],
  { content, now, post, user }: NewComment,
): FakeReply | undefined {
  const own = comments.filter(({ author }) => author === user.id)
  if (own.some((one) => one.post === post && one.content === content && one.status !== 'trash')) {
    return failure(409, 'comment_duplicate', 'Duplicate comment detected; it looks as though you’ve already said that!')
  }
  const isFlood = !can(user, 'moderate_comments') && own.some(({ at }) => now - at < FLOOD_MS)
  return isFlood ? failure(400, 'comment_flood', 'You are posting comments too quickly. Slow down.') : undefined
}

export function oneComment({ request, state, user }: PostRequest, id: number): FakeReply {
  const { base, body, method, query } = request
  const comment = state.comments.find((one) => one.id === id)
  if (comment === undefined) return failure(404, 'rest_comment_invalid_id', 'Invalid comment ID.')
  if (method === 'GET') return json(200, picked(commentView(base, comment), query.get('_fields')))
  const post = state.posts.find((one) => one.id === comment.post)
  if (user === undefined || (post?.author !== user.id && !can(user, 'moderate_comments'))) {
    return failure(user ? 403 : 401, 'rest_cannot_edit', 'Sorry, you are not allowed to edit this comment.')
  }
  if (method === 'DELETE') {
    if (comment.status === 'trash') return failure(410, 'rest_already_trashed', 'The comment has already been trashed.')
    comment.status = 'trash'
  } else {
    const content = textOf(body['content'], comment.content)
    if (content.trim() === '') return invalidParam('content', 'Invalid comment content.')
    comment.content = content
  }
  return json(200, picked(commentView(base, comment), query.get('_fields')))
}

function commentView(base: string, { at, author, content, id, post, status }: FakeComment) {
  return {
    id,
    post,
    author,
    date_gmt: new Date(at).toISOString().slice(0, 19),
    content: { rendered: rendered(content) },
    link: `${base}/?p=${post}#comment-${id}`,
    status,
    text: plainOf(content),
  }
}

/** A comment as readers see it (wptexturize, convert_smilies, wpautop). */
function rendered(content: string): string {
  const text = content.replaceAll("'", '&#8217;').replaceAll(' -- ', ' &#8212; ').replaceAll(':)', '🙂')
  return `<p>${text.replaceAll('\n', '<br />\n')}</p>\n`
}
