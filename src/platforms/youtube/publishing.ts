import { PlatformError } from '../error-kinds.ts'
import { isSameText } from '../fingerprint.ts'
import type { AccountContext } from '../platform.ts'
import type {
  Insights,
  PublishContext,
  Publishing,
  PublishPart,
  PublishState,
  Reconciled,
  RemotePost,
  StepResult,
} from '../publishing.ts'
import { call, list, refusal, TITLE } from './api.ts'
import { addToPlaylist } from './playlists.ts'
import { openSession, sendPiece, sessionState, PIECE_BYTES } from './upload.ts'

/** `session`, one `upload` per piece, of which the last publishes, `thumbnail`, `process`, `playlist`. Comments: `comment`. */
interface State extends PublishState {
  readonly step: 'session' | 'upload' | 'thumbnail' | 'process' | 'playlist' | 'comment'
  /** The address of the upload, which makes at most one video. */
  readonly session?: string
  /** Bytes that YouTube has received. */
  readonly offset: number
  readonly video?: string
  /** Why YouTube refused the thumbnail. The video is published without it. */
  readonly thumbnailRefused?: string
  readonly polls: number
}

interface Video {
  readonly id: string
  readonly snippet?: Readonly<Record<string, unknown>>
  readonly status?: {
    readonly uploadStatus?: string
    readonly failureReason?: string
    readonly rejectionReason?: string
  }
  readonly statistics?: Readonly<Record<string, string | undefined>>
}

interface Upload {
  readonly snippet?: {
    readonly title?: string
    readonly publishedAt?: string
    readonly resourceId?: { readonly videoId?: string }
  }
}

interface Thread {
  readonly id: string
  readonly snippet?: {
    readonly topLevelComment?: {
      readonly snippet?: {
        readonly textOriginal?: string
        readonly publishedAt?: string
        readonly authorChannelId?: { readonly value?: string }
      }
    }
  }
}

const POLL_MS = 10_000
/** A video is visible before it is processed. Long ones take hours, so waiting ends after five minutes. */
const MAX_POLLS = 30
const CLOCK_SKEW_MS = 120_000
const DEFAULT_CATEGORY = '22'

/** Publishing to YouTube (developers.google.com/youtube/v3/guides/using_resumable_upload_protocol, 2026-11). */
export const publishing: Publishing = {
  repeatable: false,
  start: ({ role }): State => ({ step: role === 'comment' ? 'comment' : 'session', offset: 0, polls: 0 }),
  // Sessions last for a week.
  preparation: { lifeMs: 24 * 3_600_000 },
  commits: (state) => state.step === 'comment' || (state.step === 'upload' && state['isLast'] === true),
  step: (context, part, state) => {
    if (part.role === 'reply') throw refusal('unsupported', 'thread', 'YouTube has no threads.')
    const known = state as State
    if (known.step === 'comment') return comment(context, part)
    if (known.step === 'session') return start(context, part)
    if (known.step === 'upload') return upload(context, part, known)
    if (known.step === 'playlist') return intoPlaylist(context, part, known)
    return known.step === 'thumbnail' ? setThumbnail(context, part, known) : awaitProcessing(context, part, known)
  },
  reconcile: async (context, part, state) => {
    if (state.step === 'comment') return findComment(context, part)
    const { session } = state as State
    if (session === undefined) return { kind: 'absent' }
    const found = await sessionState(context, session, sizeOf(part))
    if (found.kind === 'finished') return { kind: 'published', post: postOf(found.video) }
    if (found.kind === 'open') return { kind: 'absent' }
    const id = await findUpload(context, part)
    return id === undefined ? { kind: 'absent' } : { kind: 'published', post: postOf(id) }
  },
  remove: async (context, { id, ids }) => {
    const resource = ids?.['video'] === undefined ? 'videos' : 'comments'
    await call(context, `/youtube/v3/${resource}`, { method: 'DELETE', query: { id }, expect: [404] })
  },
  edits: ['text', 'title', 'tags'],
  edit,
  insights: async (context, { id }) => {
    const [video] = await list(context, 'videos', { part: 'statistics', id })
    const { statistics = {} } = (video ?? {}) as Video
    return insightsOf(statistics)
  },
}

/** YouTube leaves out likes and comments that the channel hides. */
export function insightsOf(statistics: Readonly<Record<string, string | undefined>>): Insights {
  const { commentCount, likeCount, viewCount } = statistics
  return {
    views: Number(viewCount ?? 0),
    ...(likeCount !== undefined && { likes: Number(likeCount) }),
    ...(commentCount !== undefined && { comments: Number(commentCount) }),
  }
}

function videoOf({ media }: PublishPart) {
  return media.find(({ kind }) => kind === 'video')
}

function sizeOf(part: PublishPart): number {
  return videoOf(part)?.bytes ?? 0
}

function uploading(part: PublishPart, session: string, offset: number): State {
  const isLast = offset + PIECE_BYTES >= sizeOf(part)
  return { step: 'upload', session, offset, polls: 0, isLast }
}

async function start(context: PublishContext, part: PublishPart): Promise<StepResult> {
  const video = videoOf(part)
  if (video === undefined) throw refusal('validation', 'video_required', 'A post at YouTube needs a video.')
  const images = part.media.filter(({ kind }) => kind === 'image').length
  if (images > 1 || part.media.length > images + 1) {
    throw refusal('validation', 'one_video', 'A post at YouTube has one video, and one image as its thumbnail.')
  }
  if (part.title === undefined || part.title.trim() === '') {
    throw refusal('validation', 'title_required', 'A video at YouTube needs a title.')
  }
  const {
    categoryId = DEFAULT_CATEGORY,
    defaultLanguage,
    notifySubscribers,
    playlistId: _later,
    ...status
  } = part.options
  const session = await openSession(context, video, notifySubscribers as boolean | undefined, {
    snippet: {
      title: part.title,
      description: part.text,
      categoryId,
      ...(part.tags && { tags: part.tags }),
      ...(defaultLanguage !== undefined && { defaultLanguage }),
    },
    status: { privacyStatus: 'public', selfDeclaredMadeForKids: false, ...status },
  })
  return { kind: 'next', state: uploading(part, session, 0) }
}

async function upload(context: PublishContext, part: PublishPart, state: State): Promise<StepResult> {
  const { offset, session = '' } = state
  const video = videoOf(part)
  if (video === undefined) throw refusal('validation', 'video_required', 'A post at YouTube needs a video.')
  const sent = await sendPiece(context, video, session, offset)
  if (sent.kind === 'open') return { kind: 'next', state: uploading(part, session, sent.offset) }
  // Sessions end after a week. One that has ended may have made the video before.
  const id = sent.kind === 'finished' ? sent.video : await findUpload(context, part)
  if (id === undefined) return { kind: 'next', state: { step: 'session', offset: 0, polls: 0 } }
  const hasThumbnail = part.media.some(({ kind }) => kind === 'image')
  return { kind: 'next', state: { step: hasThumbnail ? 'thumbnail' : 'process', video: id, offset, polls: 0 } }
}

async function setThumbnail(context: PublishContext, part: PublishPart, state: State): Promise<StepResult> {
  const image = part.media.find(({ kind }) => kind === 'image')
  const next = { ...state, step: 'process' } as const
  if (image === undefined) return { kind: 'next', state: next }
  try {
    await call(context, '/upload/youtube/v3/thumbnails/set', {
      method: 'POST',
      query: { videoId: state.video, uploadType: 'media' },
      headers: { 'Content-Type': image.type },
      body: await context.media.read(image.id, 0, image.bytes),
    })
  } catch (error) {
    // The video is public already, so a refused thumbnail does not make the publication a failure.
    if (!(error instanceof PlatformError) || error.retry !== 'never') throw error
    return { kind: 'next', state: { ...next, thumbnailRefused: error.detail ?? error.message } }
  }
  return { kind: 'next', state: next }
}

async function awaitProcessing(context: PublishContext, { options }: PublishPart, state: State): Promise<StepResult> {
  const { polls, thumbnailRefused, video: id = '' } = state
  const [video] = await list(context, 'videos', { part: 'status', id })
  const { failureReason, rejectionReason, uploadStatus } = (video as Video | undefined)?.status ?? {}
  if (uploadStatus === 'failed' || uploadStatus === 'rejected')
    throw failure(uploadStatus, rejectionReason ?? failureReason)
  if (uploadStatus === 'uploaded' && polls < MAX_POLLS) {
    return { kind: 'next', state: { ...state, polls: polls + 1 }, waitMs: POLL_MS }
  }
  if (options['playlistId'] !== undefined) return { kind: 'next', state: { ...state, step: 'playlist' } }
  return { kind: 'published', post: postOf(id, { thumbnailRefused }) }
}

/** The video is public already, so a refused playlist does not make the publication a failure. */
async function intoPlaylist(context: PublishContext, part: PublishPart, state: State): Promise<StepResult> {
  const { thumbnailRefused, video: id = '' } = state
  const playlistRefused = await addToPlaylist(context, String(part.options['playlistId']), id)
  return { kind: 'published', post: postOf(id, { thumbnailRefused, playlistRefused }) }
}

function failure(uploadStatus: string, reason = 'unknown'): PlatformError {
  const isAccount = reason === 'uploaderAccountClosed' || reason === 'uploaderAccountSuspended'
  const rejected = reason === 'duplicate' ? 'duplicate_content' : isAccount ? 'account_restricted' : 'policy_rejected'
  return new PlatformError(uploadStatus === 'failed' ? 'media_processing' : rejected, TITLE, {
    code: reason,
    detail: `YouTube did not accept the video: ${reason}`,
    mayHaveHappened: false,
  })
}

async function comment(context: PublishContext, { parent, text }: PublishPart): Promise<StepResult> {
  const video = parent?.id ?? ''
  const { json } = await call(context, '/youtube/v3/commentThreads', {
    method: 'POST',
    query: { part: 'snippet' },
    json: { snippet: { videoId: video, topLevelComment: { snippet: { textOriginal: text } } } },
  })
  return { kind: 'published', post: commentOf((json as Thread).id, video) }
}

async function findComment(context: AccountContext, { createdAt, parent, text }: PublishPart): Promise<Reconciled> {
  const videoId = parent?.id ?? ''
  const threads = await list(context, 'commentThreads', { part: 'snippet', videoId, order: 'time', maxResults: 100 })
  const found = (threads as readonly Thread[]).find(({ snippet }) => {
    const { authorChannelId, publishedAt = '', textOriginal = '' } = snippet?.topLevelComment?.snippet ?? {}
    return (
      authorChannelId?.value === context.remoteId && isRecent(publishedAt, createdAt) && isSameText(text, textOriginal)
    )
  })
  return found === undefined ? { kind: 'absent' } : { kind: 'published', post: commentOf(found.id, videoId) }
}

/** Looks for the video among the newest uploads of the channel. */
async function findUpload(
  context: AccountContext,
  { createdAt, title = '' }: PublishPart,
): Promise<string | undefined> {
  // The playlist of a channel’s uploads has the id of the channel with another prefix.
  const playlistId = context.remoteId.replace(/^UC/, 'UU')
  const items = (await list(context, 'playlistItems', {
    part: 'snippet',
    playlistId,
    maxResults: 50,
  })) as readonly Upload[]
  return items.find(
    ({ snippet }) => snippet?.title?.trim() === title.trim() && isRecent(snippet.publishedAt ?? '', createdAt),
  )?.snippet?.resourceId?.videoId
}

/** Replaces title, description and tags. An update removes what it does not name, so the rest is read first. */
async function edit(context: AccountContext, post: RemotePost, part: PublishPart): Promise<RemotePost> {
  const { id, ids } = post
  if (ids?.['video'] !== undefined) {
    const snippet = { textOriginal: part.text }
    await call(context, '/youtube/v3/comments', { method: 'PUT', query: { part: 'snippet' }, json: { id, snippet } })
    return post
  }
  const [video] = await list(context, 'videos', { part: 'snippet', id })
  if (video === undefined) throw refusal('unsupported', 'videoNotFound', 'The video does not exist.')
  const { categoryId, defaultLanguage, tags, title } = (video as Video).snippet ?? {}
  await call(context, '/youtube/v3/videos', {
    method: 'PUT',
    query: { part: 'snippet' },
    json: {
      id,
      snippet: {
        categoryId,
        defaultLanguage,
        title: part.title ?? title,
        description: part.text,
        tags: part.tags ?? tags,
      },
    },
  })
  return post
}

function isRecent(at: string, createdAt: number): boolean {
  return Date.parse(at) >= createdAt - CLOCK_SKEW_MS
}

/** @param refused what YouTube refused of a video that it has published, with its reasons */
export function postOf(id: string, refused: Readonly<Record<string, string | undefined>> = {}): RemotePost {
  const ids = Object.fromEntries(
    Object.entries(refused).flatMap(([name, reason]) => (reason === undefined ? [] : [[name, reason]])),
  ) as Record<string, string>
  const url = `https://www.youtube.com/watch?v=${id}`
  if (Object.keys(ids).length === 0) return { id, url }
  const { playlistRefused, thumbnailRefused } = ids
  const reasons = [
    ...(thumbnailRefused === undefined ? [] : [`YouTube refused the thumbnail: ${thumbnailRefused}`]),
    ...(playlistRefused === undefined ? [] : [`YouTube did not add the video to the playlist: ${playlistRefused}`]),
  ]
  const note = { code: 'partly_refused', message: reasons.join(' '), nextStep: 'Do it at YouTube, if you can.' }
  return { id, url, ids, note }
}

function commentOf(id: string, video: string): RemotePost {
  return { id, url: `https://www.youtube.com/watch?v=${video}&lc=${id}`, ids: { video } }
}
