import { PlatformError } from '../error-kinds.ts'
import { isSameText } from '../fingerprint.ts'
import type { AccountContext } from '../platform.ts'
import type {
  PublishContext,
  Publishing,
  PublishPart,
  PublishState,
  Reconciled,
  RemotePost,
  StepResult,
} from '../publishing.ts'
import { call, TITLE } from './api.ts'
import { kindOfCode } from './replies.ts'

/**
 * A video: `init`, one `upload` per chunk, `status` until TikTok has processed it. The last chunk publishes. Photos:
 * `init`, which publishes, and `status`.
 */
interface State extends PublishState {
  readonly step: 'init' | 'upload' | 'status'
  readonly media: 'video' | 'photos'
  /** TikTok’s id of the publication, which tells its outcome. */
  readonly publishId?: string
  readonly uploadUrl?: string
  readonly chunkSize: number
  readonly chunks: number
  /** The next chunk. */
  readonly chunk: number
}

interface Status {
  readonly status?: string
  readonly fail_reason?: string
  /** Bytes that TikTok has received. */
  readonly uploaded_bytes?: number
}

interface Video {
  readonly id: string
  readonly title?: string
  readonly video_description?: string
  readonly create_time: number
  readonly share_url?: string
  readonly view_count?: number
  readonly like_count?: number
  readonly comment_count?: number
  readonly share_count?: number
}

/** Chunks have 5 to 64 MB, and the last one up to 128 MB (developers.tiktok.com, Media transfer guide, 2026-11). */
const CHUNK_BYTES = 10_485_760
const POLL_MS = 5_000
const UPLOAD_TIMEOUT_MS = 300_000
const CLOCK_SKEW_MS = 120_000
/** The reply to a chunk that the session does not expect, or whose session has ended. */
const SESSION_STATUSES = [403, 404, 416]

/** Publishing to TikTok (developers.tiktok.com, Content Posting API, 2026-11). */
export const publishing: Publishing = {
  repeatable: false,
  start: ({ media }): State => {
    const bytes = media[0]?.bytes ?? 0
    const chunks = Math.max(1, Math.floor(bytes / CHUNK_BYTES))
    return {
      step: 'init',
      media: media[0]?.kind === 'video' ? 'video' : 'photos',
      chunkSize: chunks === 1 ? bytes : CHUNK_BYTES,
      chunks,
      chunk: 0,
    }
  },
  // Upload URLs last for an hour.
  preparation: { lifeMs: 50 * 60_000 },
  commits: (state) => {
    const { chunk, chunks, media, step } = state as State
    return media === 'photos' ? step === 'init' : step === 'upload' && chunk === chunks - 1
  },
  step: (context, part, state) => {
    const known = state as State
    if (known.step === 'init') return init(context, part, known)
    return known.step === 'upload' ? upload(context, part, known) : awaitOutcome(context, known)
  },
  reconcile: async (context, part, state) => {
    const known = state as State
    return known.publishId === undefined ? findPhotos(context, part) : findPublication(context, part, known)
  },
  insights: async (context, { id }) => {
    const { data } = await call(context, '/v2/video/query/', {
      query: { fields: 'id,view_count,like_count,comment_count,share_count' },
      json: { filters: { video_ids: [id] } },
    })
    const video = (data as { videos?: readonly Video[] }).videos?.[0]
    return video === undefined
      ? {}
      : {
          views: video.view_count ?? 0,
          likes: video.like_count ?? 0,
          comments: video.comment_count ?? 0,
          shares: video.share_count ?? 0,
        }
  },
}

async function init(context: PublishContext, part: PublishPart, state: State): Promise<StepResult> {
  const { media, options, role, text, title } = part
  if (role !== 'post') throw refusal('unsupported', role, 'TikTok has no replies and comments by its API.')
  if (media.length === 0) throw refusal('validation', 'media_required', 'A post at TikTok needs a video or photos.')
  if (state.media === 'video' && media.length > 1) {
    throw refusal('validation', 'one_video', 'A post at TikTok has one video, or only photos.')
  }
  const isDraft = options['mode'] === 'draft'
  if (!isDraft && options['privacy_level'] === undefined) {
    throw refusal('validation', 'privacy_level', 'Choose who can see the post: TikTok requires it.')
  }
  const { mode: _mode, photo_cover_index: cover = 0, ...rest } = options
  if (state.media === 'video') {
    // A draft of a video has no text and no settings: the creator adds them in the app.
    const path = isDraft ? '/v2/post/publish/inbox/video/init/' : '/v2/post/publish/video/init/'
    const { data } = await call(context, path, {
      json: {
        ...(!isDraft && { post_info: { title: text, ...rest } }),
        source_info: {
          source: 'FILE_UPLOAD',
          video_size: media[0]?.bytes,
          chunk_size: state.chunkSize,
          total_chunk_count: state.chunks,
        },
      },
    })
    const { publish_id: publishId, upload_url: uploadUrl } = data as { publish_id: string; upload_url: string }
    return { kind: 'next', state: { ...state, step: 'upload', publishId, uploadUrl, chunk: 0 } }
  }
  const urls = await Promise.all(media.map(({ id }) => context.media.publicUrl(id)))
  const { data } = await call(context, '/v2/post/publish/content/init/', {
    json: {
      media_type: 'PHOTO',
      post_mode: isDraft ? 'MEDIA_UPLOAD' : 'DIRECT_POST',
      post_info: { ...(title !== undefined && { title }), description: text, ...(!isDraft && rest) },
      source_info: { source: 'PULL_FROM_URL', photo_images: urls, photo_cover_index: cover },
    },
  })
  return {
    kind: 'next',
    state: { ...state, step: 'status', publishId: (data as { publish_id: string }).publish_id },
    waitMs: POLL_MS,
  }
}

/** Sends one chunk. The last one also has the bytes that remain. */
async function upload(context: PublishContext, part: PublishPart, state: State): Promise<StepResult> {
  const { chunk, chunks, chunkSize, uploadUrl = '' } = state
  const { bytes = 0, id = '', type = '' } = part.media[0] ?? {}
  const start = chunk * chunkSize
  const end = chunk === chunks - 1 ? bytes : start + chunkSize
  const reply = await context.http.send({
    method: 'PUT',
    url: uploadUrl,
    headers: { 'Content-Type': type, 'Content-Range': `bytes ${start}-${end - 1}/${bytes}` },
    body: await context.media.read(id, start, end),
    // The query authorizes the upload.
    secrets: [...new URL(uploadUrl).searchParams.values()],
    timeoutMs: UPLOAD_TIMEOUT_MS,
    expect: SESSION_STATUSES,
    signal: context.signal,
  })
  if (SESSION_STATUSES.includes(reply.status)) return resume(context, state)
  const isLast = chunk === chunks - 1
  return { kind: 'next', state: isLast ? { ...state, step: 'status' } : { ...state, chunk: chunk + 1 } }
}

/** Continues after a chunk that the session refused: where TikTok is, or with a new session. */
async function resume(context: PublishContext, state: State): Promise<StepResult> {
  const { status } = await statusOf(context, state)
  const { uploaded_bytes: received = 0 } = status
  const next = Math.floor(received / state.chunkSize)
  if (status.status === 'PROCESSING_UPLOAD' && next < state.chunks) {
    // The session is over when TikTok expects the chunk that it has refused.
    return { kind: 'next', state: next === state.chunk ? { ...state, step: 'init' } : { ...state, chunk: next } }
  }
  return { kind: 'next', state: { ...state, step: 'status' } }
}

async function awaitOutcome(context: PublishContext, state: State): Promise<StepResult> {
  const { status, text } = await statusOf(context, state)
  if (status.status === 'FAILED') throw failure(status.fail_reason ?? 'unknown')
  const post = deliveredPost(context, state, status, text)
  return post === undefined ? { kind: 'next', state, waitMs: POLL_MS } : { kind: 'published', post }
}

async function statusOf(context: AccountContext, { publishId }: State) {
  const { data, text } = await call(context, '/v2/post/publish/status/fetch/', {
    json: { publish_id: publishId },
  })
  return { status: data as Status, text }
}

/**
 * The post, or the draft in the inbox of the account. A draft counts as delivered, because only its creator can post it
 * (developers.tiktok.com, Get Post Status, 2026-11).
 * @returns undefined while TikTok processes it
 */
function deliveredPost(
  context: AccountContext,
  state: State,
  { status }: Status,
  text: string,
): RemotePost | undefined {
  if (status === 'PUBLISH_COMPLETE') return postOf(context, state, text)
  if (status !== 'SEND_TO_USER_INBOX') return undefined
  const { publishId = '' } = state
  return {
    id: publishId,
    url: null,
    ids: { publishId },
    note: {
      code: 'in_inbox',
      message: 'TikTok has put it into the inbox of the account as a draft.',
      nextStep: 'Open the notification in TikTok, complete the draft, and post it.',
    },
  }
}

/**
 * Only public posts have an id, after their moderation. Others are known by the id of the publication.
 * @param text the reply: ids are numbers that JavaScript would round
 */
function postOf({ credential }: AccountContext, { media, publishId = '' }: State, text: string): RemotePost {
  const id = /"public(?:al|l)y_available_post_id"\s*:\s*\[\s*"?(\d+)/.exec(text)?.[1]
  const username = typeof credential['username'] === 'string' ? credential['username'] : ''
  const kind = media === 'video' ? 'video' : 'photo'
  return {
    id: id ?? publishId,
    url: id === undefined ? null : `https://www.tiktok.com/@${username}/${kind}/${id}`,
    ids: { publishId },
  }
}

/**
 * A publication whose bytes TikTok does not all have, or that failed, counts as absent: its session continues, so the
 * step cannot publish twice.
 */
async function findPublication(context: AccountContext, { media }: PublishPart, state: State): Promise<Reconciled> {
  const { status, text } = await statusOf(context, state)
  const post = deliveredPost(context, state, status, text)
  if (post !== undefined) return { kind: 'published', post }
  const isReceived = (status.uploaded_bytes ?? 0) >= (media[0]?.bytes ?? 0)
  return status.status === 'PROCESSING_UPLOAD' && isReceived ? { kind: 'pending' } : { kind: 'absent' }
}

/** Looks for photos when the reply to `init` was lost, so the `publish_id` is unknown. */
async function findPhotos(context: AccountContext, part: PublishPart): Promise<Reconciled> {
  if (part.options['mode'] === 'draft') {
    return { kind: 'unknown', reason: 'TikTok does not list the drafts in the inbox of an account.' }
  }
  const { data } = await call(context, '/v2/video/list/', {
    query: { fields: 'id,title,video_description,create_time,share_url' },
    json: { max_count: 20 },
  })
  // Photos without a text cannot be told apart.
  const found = (data as { videos?: readonly Video[] }).videos?.find(
    ({ create_time: at, title = '', video_description: text = title }) =>
      part.text.trim() !== '' && at * 1_000 >= part.createdAt - CLOCK_SKEW_MS && isSameText(part.text, text),
  )
  if (found !== undefined) {
    return { kind: 'published', post: { id: found.id, url: found.share_url ?? null } }
  }
  return { kind: 'unknown', reason: 'TikTok lists public posts only, and only after their moderation.' }
}

function failure(reason: string): PlatformError {
  return new PlatformError(kindOfCode(reason) ?? 'unknown', TITLE, {
    code: reason,
    detail: `TikTok did not publish: ${reason}`,
    mayHaveHappened: false,
  })
}

function refusal(kind: 'unsupported' | 'validation', code: string, detail: string): PlatformError {
  return new PlatformError(kind, TITLE, { code, detail, mayHaveHappened: false })
}
