import { randomBytes } from 'node:crypto'
import type { Clock } from '../../src/core/clock.ts'
import type { FakeReply, FakeRequest } from '../fake.ts'
import { breachOf, mediaFacts, type MediaBounds } from '../media-facts.ts'
import { relatedPartsOf } from '../multipart.ts'

export interface Video {
  readonly id: string
  readonly channel: string
  title: string
  description: string
  tags: readonly string[]
  categoryId: string
  readonly privacyStatus: string
  readonly madeForKids: boolean
  readonly type: string
  readonly at: number
  thumbnail: string | null
  /** Set by tests. */
  views?: number
  uploadStatus: 'uploaded' | 'processed' | 'failed' | 'rejected'
  rejectionReason: string | null
  /** How often it is still processed. */
  pending: number
}

/** A resumable upload. */
interface Session {
  readonly channel: string
  readonly size: number
  readonly type: string
  readonly metadata: Metadata
  readonly until: number
  received: number
  video: string | null
  /** Why YouTube cannot take the video, in its terms. */
  fault: string | null
}

interface Metadata {
  readonly snippet?: Snippet
  readonly status?: { readonly privacyStatus?: string; readonly selfDeclaredMadeForKids?: boolean }
}

interface Snippet {
  readonly title?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly categoryId?: string
}

export interface VideosState {
  readonly videos: Video[]
  readonly sessions: Record<string, Session>
  /** Whether Google has audited the app. */
  audited: boolean
  /** Whether channels have verified a phone number, which thumbnails and long videos need. */
  phoneVerified: boolean
  /** Videos of one channel in 24 hours. */
  channelLimit: number
  /** Why the next video is rejected while it is processed. */
  rejectNext: string | null
}

const DAY_MS = 86_400_000
const WEEK_MS = 7 * DAY_MS
const UNIT = 262_144
const MAX_BYTES = 256_000_000_000
const THUMBNAIL_BYTES = 52_428_800
const INSERTS_A_DAY = 100
const POLLS = 2
/** support.google.com, Supported YouTube file formats, 2026-11. */
const FORMATS = ['mp4', 'quicktime', 'webm', 'mpeg', 'matroska', 'x-matroska', 'x-msvideo', 'x-ms-wmv', 'x-flv', '3gpp']
const VIDEO: MediaBounds = { types: FORMATS.map((one) => `video/${one}`) }
/** Seconds of a video, with and without a verified phone number (support.google.com, 2026-11). */
const LONGEST = 43_200
const LONGEST_UNVERIFIED = 900
/** Pacific Standard Time. */
const PACIFIC_MS = 8 * 3_600_000
/** Reasons for which a video fails. For the others it is rejected. */
const FAILURES = ['codec', 'invalidFile']
const PRIVACY = new Set(['public', 'unlisted', 'private'])

/** An error in Google’s form. */
export function fault(status: number, reason: string, message: string, domain = 'youtube.video'): FakeReply {
  const errors = [{ message, domain, reason }]
  return { status, body: { error: { code: status, message, errors } } }
}

/** The values of a parameter, which clients repeat or separate by commas. */
export function listed(query: URLSearchParams, name: string): string[] {
  return query.getAll(name).flatMap((value) => value.split(','))
}

/** Resumable uploads and thumbnails (developers.google.com/youtube/v3, 2026-11). */
export class Videos {
  readonly #state: VideosState
  readonly #clock: Clock

  constructor(state: VideosState, clock: Clock) {
    this.#state = state
    this.#clock = clock
  }

  find(id: string | null): Video | undefined {
    return this.#state.videos.find((video) => video.id === id)
  }

  /** Opens a session, or takes the whole video with its metadata in one request, as small clients send it. */
  upload(request: FakeRequest, channel: string): FakeReply {
    const { base, body, headers, query } = request
    const uploadType = query.get('uploadType')
    if (uploadType === 'multipart') return this.#uploadWhole(request, channel)
    if (uploadType !== 'resumable') return fault(400, 'badRequest', 'uploadType must be resumable', 'global')
    const metadata = body as Metadata
    const size = Number(headers['x-upload-content-length'])
    const type = String(headers['x-upload-content-type'] ?? '')
    const refused = this.#refusal(metadata, { type, size }, channel)
    if (refused !== undefined) return refused
    const id = randomBytes(24).toString('base64url')
    const until = this.#clock.now() + WEEK_MS
    this.#state.sessions[id] = { channel, size, type, metadata, until, received: 0, video: null, fault: null }
    const url = `${base}/upload/youtube/v3/videos?uploadType=resumable&part=snippet,status&upload_id=${id}`
    return { status: 200, headers: { Location: url } }
  }

  /** developers.google.com/youtube/v3/guides, multipart upload of Google APIs: JSON, then the file (2026-11). */
  #uploadWhole({ bytes, headers, query }: FakeRequest, channel: string): FakeReply {
    const [json, file, ...more] = relatedPartsOf(headers['content-type'], bytes)
    if (json === undefined || file === undefined || more.length > 0) {
      return fault(400, 'badContent', 'A multipart upload has metadata and one file.', 'global')
    }
    let metadata: Metadata
    try {
      metadata = JSON.parse(json.bytes.toString('utf8')) as Metadata
    } catch {
      return fault(400, 'parseError', 'The metadata is not JSON.', 'global')
    }
    const type = file.type ?? ''
    const refused = this.#refusal(metadata, { type, size: file.bytes.length }, channel)
    if (refused !== undefined) return refused
    const video = this.#add({ channel, metadata, type, fault: this.#faultOf(file.bytes) })
    return { status: 200, body: this.view(video, listed(query, 'part')) }
  }

  #refusal(metadata: Metadata, { size, type }: { type: string; size: number }, channel: string): FakeReply | undefined {
    if (!type.startsWith('video/') && type !== 'application/octet-stream') {
      return fault(400, 'badContent', `Media type '${type}' is not supported.`, 'global')
    }
    if (!(size > 0 && size <= MAX_BYTES)) return fault(400, 'mediaBodyRequired', 'The request has no video.')
    const problem = problemOf(metadata.snippet ?? {}) ?? this.#overLimit(channel)
    if (problem !== undefined) return problem
    if (!PRIVACY.has(metadata.status?.privacyStatus ?? 'public')) {
      return fault(400, 'invalidVideoMetadata', 'The privacy status is invalid.')
    }
    return undefined
  }

  /** Why YouTube cannot take a file, by its beginning. */
  #faultOf(bytes: Buffer): string | null {
    const most = this.#state.phoneVerified ? LONGEST : LONGEST_UNVERIFIED
    const found = breachOf(mediaFacts(bytes), { ...VIDEO, seconds: [0, most] })
    return found === undefined ? null : found === 'seconds' ? 'length' : 'invalidFile'
  }

  /** Receives a piece of a video, or a query for the position of the upload. */
  put({ bytes, headers, query }: FakeRequest): FakeReply {
    const session = this.#state.sessions[query.get('upload_id') ?? '']
    if (session === undefined || session.until <= this.#clock.now()) return { status: 404 }
    const [, from, to, total] = /^bytes (?:\*|(\d+)-(\d+))\/(\d+)$/.exec(headers['content-range'] ?? '') ?? []
    if (Number(total) !== session.size) return fault(400, 'badRequest', 'Content-Range is invalid', 'global')
    if (session.video !== null)
      return { status: 200, body: this.view(this.find(session.video)!, ['snippet', 'status']) }
    if (from === undefined) return incomplete(session)
    const end = Number(to) + 1
    if (Number(from) !== session.received || bytes.length !== end - session.received) {
      return fault(400, 'badRequest', 'The piece does not continue the upload', 'global')
    }
    if (end < session.size && bytes.length % UNIT !== 0) {
      return fault(400, 'badRequest', 'Pieces must be multiples of 256 KB', 'global')
    }
    if (Number(from) === 0) session.fault = this.#faultOf(bytes)
    session.received = end
    if (end < session.size) return incomplete(session)
    const video = this.#add(session)
    session.video = video.id
    return { status: 200, body: this.view(video, ['snippet', 'status']) }
  }

  thumbnail({ bytes, headers, query }: FakeRequest, channel: string): FakeReply {
    const video = this.find(query.get('videoId'))
    if (video === undefined) return fault(404, 'videoNotFound', 'The video cannot be found.')
    if (video.channel !== channel || !this.#state.phoneVerified) {
      return fault(
        403,
        'forbidden',
        'The authenticated user doesn’t have permissions to upload and set custom video thumbnails.',
        'youtube.thumbnail',
      )
    }
    const type = headers['content-type'] ?? ''
    if (type !== 'image/jpeg' && type !== 'image/png') return fault(400, 'invalidImage', 'The image is invalid.')
    if (bytes.length > THUMBNAIL_BYTES) return fault(400, 'mediaBodyTooLarge', 'The image is too large.')
    video.thumbnail = type
    return { status: 200, body: { kind: 'youtube#thumbnailSetResponse', items: [] } }
  }

  update({ body }: FakeRequest, channel: string): FakeReply {
    const video = this.find((body['id'] as string | undefined) ?? null)
    if (video === undefined) return fault(404, 'videoNotFound', 'The video cannot be found.')
    if (video.channel !== channel) return fault(403, 'forbidden', 'The video is not the channel’s.')
    const snippet = (body['snippet'] ?? {}) as Snippet
    if (snippet.categoryId === undefined) return fault(400, 'invalidCategoryId', 'The category is required.')
    const problem = problemOf(snippet)
    if (problem !== undefined) return problem
    Object.assign(video, {
      title: snippet.title,
      description: snippet.description ?? '',
      tags: snippet.tags ?? [],
      categoryId: snippet.categoryId,
    })
    return { status: 200, body: this.view(video, ['snippet']) }
  }

  remove(id: string | null, channel: string): FakeReply {
    const video = this.find(id)
    if (video === undefined) return fault(404, 'videoNotFound', 'The video cannot be found.')
    if (video.channel !== channel) return fault(403, 'forbidden', 'The video is not the channel’s.')
    this.#state.videos.splice(this.#state.videos.indexOf(video), 1)
    return { status: 204 }
  }

  /** The resource of a video. Asking for its status lets time pass. */
  view(video: Video, parts: readonly string[]) {
    const { at, categoryId, channel, description, id, madeForKids, privacyStatus, tags, title } = video
    const publishedAt = new Date(at).toISOString()
    const snippet = { publishedAt, channelId: channel, title, description, tags, categoryId }
    const { rejectionReason, uploadStatus } = video
    const status = {
      uploadStatus,
      privacyStatus,
      madeForKids,
      ...(uploadStatus === 'rejected' && { rejectionReason }),
      ...(uploadStatus === 'failed' && { failureReason: rejectionReason }),
    }
    const statistics = { viewCount: String(video.views ?? 0), likeCount: '0', commentCount: '0' }
    const all: Readonly<Record<string, unknown>> = { snippet, status, statistics }
    return { kind: 'youtube#video', id, ...Object.fromEntries(parts.map((part) => [part, all[part]])) }
  }

  process(video: Video): void {
    if (video.uploadStatus !== 'uploaded') return
    if (video.pending > 0) video.pending -= 1
    else if (video.rejectionReason === null) video.uploadStatus = 'processed'
    else video.uploadStatus = FAILURES.includes(video.rejectionReason) ? 'failed' : 'rejected'
  }

  #add({ channel, fault: reason, metadata, type }: Pick<Session, 'channel' | 'fault' | 'metadata' | 'type'>): Video {
    const { snippet = {}, status = {} } = metadata
    const video: Video = {
      id: randomBytes(8).toString('base64url'),
      channel,
      title: snippet.title ?? 'unknown',
      description: snippet.description ?? '',
      tags: snippet.tags ?? [],
      categoryId: snippet.categoryId ?? '22',
      privacyStatus: this.#state.audited ? (status.privacyStatus ?? 'public') : 'private',
      madeForKids: status.selfDeclaredMadeForKids === true,
      type,
      at: this.#clock.now(),
      thumbnail: null,
      uploadStatus: 'uploaded',
      rejectionReason: reason ?? this.#state.rejectNext,
      pending: POLLS,
    }
    this.#state.rejectNext = null
    this.#state.videos.push(video)
    return video
  }

  #overLimit(channel: string): FakeReply | undefined {
    const now = this.#clock.now()
    const midnight = now - ((now - PACIFIC_MS) % DAY_MS)
    if (this.#state.videos.filter(({ at }) => at >= midnight).length >= INSERTS_A_DAY) {
      return fault(
        403,
        'quotaExceeded',
        'The request cannot be completed because you have exceeded your quota.',
        'youtube.quota',
      )
    }
    const own = this.#state.videos.filter((video) => video.channel === channel && video.at > now - DAY_MS)
    return own.length < this.#state.channelLimit
      ? undefined
      : fault(400, 'uploadLimitExceeded', 'The user has exceeded the number of videos they may upload.')
  }
}

function incomplete({ received }: Session): FakeReply {
  return { status: 308, headers: received === 0 ? {} : { Range: `bytes=0-${received - 1}` } }
}

function problemOf({ categoryId = '22', description = '', tags = [], title = '' }: Snippet): FakeReply | undefined {
  if (title.trim() === '' || Array.from(title).length > 100 || /[<>]/.test(title)) {
    return fault(400, 'invalidTitle', 'The request metadata specifies an invalid or empty video title.')
  }
  if (Buffer.byteLength(description) > 5_000 || /[<>]/.test(description)) {
    return fault(400, 'invalidDescription', 'The request metadata specifies an invalid video description.')
  }
  // A comma between two tags counts, and so do quotes around a tag with a space.
  const length = tags.reduce((sum, tag) => sum + tag.length + (tag.includes(' ') ? 2 : 0), Math.max(0, tags.length - 1))
  if (length > 500 || tags.some((tag) => /[<>]/.test(tag))) {
    return fault(400, 'invalidTags', 'The request metadata specifies invalid video keywords.')
  }
  return /^\d{1,3}$/.test(categoryId) ? undefined : fault(400, 'invalidCategoryId', 'The category is invalid.')
}
