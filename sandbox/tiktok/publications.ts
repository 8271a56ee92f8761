import { randomBytes } from 'node:crypto'
import type { Clock } from '../../src/core/clock.ts'
import type { FakeReply, FakeRequest } from '../fake.ts'
import { breachOf, mediaFacts, type MediaBounds } from '../media-facts.ts'

export interface Publication {
  readonly id: string
  readonly person: string
  readonly info: PostInfo
  /** The addresses of photos; empty for a video. */
  readonly photos: readonly string[]
  /** Of a video. */
  readonly upload: Upload | null
  /** How often the status is still “processing”. */
  pending: number
  failReason: string | null
  /** Whether it goes to the inbox of the account as a draft. */
  readonly isDraft: boolean
  /** The post, once it is published. */
  post: string | null
}

interface Upload {
  readonly token: string
  readonly size: number
  readonly chunkSize: number
  readonly chunks: number
  readonly until: number
  received: number
  chunk: number
  type: string
}

export interface PostInfo {
  readonly title?: string
  readonly description?: string
  readonly privacy_level?: string
  readonly disable_comment?: boolean
  readonly brand_content_toggle?: boolean
}

export interface Post {
  /** 19 digits, which no JavaScript number holds. */
  readonly id: string
  readonly person: string
  readonly text: string
  readonly media: readonly string[]
  readonly isPublic: boolean
  /** Whether it waits in the inbox of its creator. */
  readonly isDraft?: boolean
  readonly at: number
}

export interface Person {
  readonly openId: string
  readonly username: string
  /** Whether the account is private. A private account cannot make public posts. */
  private: boolean
}

export interface State {
  readonly people: Record<string, Person>
  readonly publications: Record<string, Publication>
  readonly posts: Post[]
  /** Times of calls in the last minute, by account and call. */
  readonly calls: Record<string, number[]>
  /** Whether TikTok has audited the app. */
  audited: boolean
  /** Domains that the app has verified; null: all. */
  verifiedDomains: readonly string[] | null
  /** Why the next publication fails while it is processed. */
  failNext: string | null
  next: number
}

const MB = 1_000_000
const MIB = 1_048_576
/** The longest video of every creator of the sandbox, in seconds. */
export const CREATOR_SECONDS = 300
/** developers.tiktok.com, Media transfer guide, 2026-11. */
const VIDEO: MediaBounds = {
  codecs: ['h264', 'hevc', 'vp8', 'vp9'],
  seconds: [3, CREATOR_SECONDS],
  fps: [23, 60],
  width: [360, Infinity],
  height: [360, Infinity],
}
/** Reasons of failures by what is wrong (Get Post Status, 2026-11). */
const FAIL_REASONS: Readonly<Record<string, string>> = {
  codecs: 'file_format_check_failed',
  seconds: 'duration_check_failed',
  fps: 'frame_rate_check_failed',
}
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MAX_POSTS_A_DAY = 15
/** Drafts of a creator within 24 hours that are not posted (developers.tiktok.com, Upload Video, 2026-11). */
const MAX_PENDING = 5
const POLLS = 2
const VIDEO_TYPES = new Set(['video/mp4', 'video/quicktime', 'video/webm'])

/** A reply of the Content Posting API. */
export function reply(status: number, code: string, message: string, data: unknown = {}): FakeReply {
  const logId = randomBytes(16).toString('hex').toUpperCase()
  return {
    status,
    headers: { 'X-Tt-Logid': logId },
    body: { data, error: { code, message, log_id: logId } },
  }
}

export function ok(data: unknown): FakeReply {
  return reply(200, 'ok', '', data)
}

const invalid = (message: string) => reply(400, 'invalid_params', message)

/** The levels that a creator can choose. */
export function privacyLevels({ audited }: State, person: Person | undefined): string[] {
  if (!audited) return ['SELF_ONLY']
  return person?.private === true
    ? ['FOLLOWER_OF_CREATOR', 'MUTUAL_FOLLOW_FRIENDS', 'SELF_ONLY']
    : ['PUBLIC_TO_EVERYONE', 'MUTUAL_FOLLOW_FRIENDS', 'SELF_ONLY']
}

/** Videos in chunks and photos from addresses (developers.tiktok.com, Content Posting API and Media transfer guide). */
export class Publications {
  readonly #state: State
  readonly #clock: Clock

  constructor(state: State, clock: Clock) {
    this.#state = state
    this.#clock = clock
  }

  initVideo({ base, body, path }: FakeRequest, person: string): FakeReply {
    const info = (body['post_info'] ?? {}) as PostInfo
    const source = (body['source_info'] ?? {}) as Record<string, unknown>
    const isDraft = path.includes('/inbox/')
    const problem = isDraft
      ? this.#draftProblem(person)
      : (this.#problemOf(info, person) ?? tooLong('title', info.title, 2_200))
    if (problem !== undefined) return problem
    if (source['source'] !== 'FILE_UPLOAD') return invalid('source_info.source is not supported by the sandbox')
    const size = Number(source['video_size'])
    const chunkSize = Number(source['chunk_size'])
    const chunks = Number(source['total_chunk_count'])
    if (!(size > 0 && size <= 4_000 * MB)) return invalid('The video size is invalid')
    if (size < 5 * MIB || chunks === 1 ? chunkSize !== size : chunkSize < 5 * MIB)
      return invalid('The chunk size is invalid')
    if (chunks > 1 && chunkSize > 64 * MIB) return invalid('The chunk size is invalid')
    if (chunks === 1 && size > 64 * MIB) return invalid('The chunk size is invalid')
    if (chunks !== Math.floor(size / chunkSize) || chunks > 1_000) return invalid('The total chunk count is invalid')
    const id = `v_${isDraft ? 'inbox' : 'pub'}_file~v2-1.${this.#nextId()}`
    const token = randomBytes(16).toString('hex')
    const until = this.#clock.now() + HOUR_MS
    const upload = { token, size, chunkSize, chunks, until, received: 0, chunk: 0, type: '' }
    this.#add({ id, person, info: isDraft ? {} : info, photos: [], upload, isDraft })
    const url = `${base}/upload/?upload_id=${encodeURIComponent(id)}&upload_token=${token}`
    return ok({ publish_id: id, upload_url: url })
  }

  initPhotos({ body }: FakeRequest, person: string): FakeReply {
    const info = (body['post_info'] ?? {}) as PostInfo
    const source = (body['source_info'] ?? {}) as Record<string, unknown>
    const photos = (source['photo_images'] ?? []) as string[]
    const isDraft = body['post_mode'] === 'MEDIA_UPLOAD'
    const problem =
      (isDraft ? this.#draftProblem(person) : this.#problemOf(info, person)) ??
      tooLong('title', info.title, 90) ??
      tooLong('description', info.description, 4_000)
    if (problem !== undefined) return problem
    if (body['media_type'] !== 'PHOTO') return invalid('media_type must be PHOTO')
    if (!isDraft && body['post_mode'] !== 'DIRECT_POST') return invalid('post_mode is invalid')
    if (source['source'] !== 'PULL_FROM_URL') return invalid('Photos can only be pulled from a URL')
    if (photos.length < 1 || photos.length > 35) return invalid('The number of photos must be 1 to 35')
    const cover = Number(source['photo_cover_index'])
    if (!(cover >= 0 && cover < photos.length)) return invalid('photo_cover_index is out of range')
    const { verifiedDomains } = this.#state
    const isUnverified = (url: string) =>
      verifiedDomains !== null && !verifiedDomains.some((domain) => new URL(url).hostname.endsWith(domain))
    if (photos.some((url) => !URL.canParse(url))) return invalid('A photo URL is invalid')
    if (photos.some(isUnverified)) {
      return reply(403, 'url_ownership_unverified', 'Please review our URL ownership verification rules.')
    }
    const id = `p_${isDraft ? 'inbox' : 'pub'}_url~v2.${this.#nextId()}`
    const publication = this.#add({ id, person, info, photos, upload: null, isDraft })
    const failed = photos.map(photoFault).find((reason) => reason !== null)
    if (failed === undefined) this.#publish(publication)
    else publication.failReason = failed
    return ok({ publish_id: publication.id })
  }

  /** One chunk, in order. */
  put({ bytes, headers, query }: FakeRequest): FakeReply {
    const publication = this.#state.publications[query.get('upload_id') ?? '']
    const upload = publication?.upload
    if (publication === undefined || upload === undefined || upload === null) return { status: 404 }
    if (upload.token !== query.get('upload_token') || upload.until <= this.#clock.now()) return { status: 403 }
    const [, from, to, total] = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(headers['content-range'] ?? '') ?? []
    const type = headers['content-type'] ?? ''
    if (from === undefined || Number(total) !== upload.size || !VIDEO_TYPES.has(type)) return { status: 400 }
    const isLast = upload.chunk === upload.chunks - 1
    const end = isLast ? upload.size : upload.received + upload.chunkSize
    if (upload.chunk >= upload.chunks || Number(from) !== upload.received || Number(to) !== end - 1) {
      return { status: 416 }
    }
    if (bytes.length !== end - upload.received || bytes.length > 128 * MIB) return { status: 400 }
    if (upload.chunk === 0) {
      const fault = breachOf(mediaFacts(bytes), VIDEO)
      if (fault !== undefined) publication.failReason = FAIL_REASONS[fault] ?? 'picture_size_check_failed'
    }
    upload.received = end
    upload.chunk += 1
    upload.type = type
    if (!isLast) return { status: 206, headers: { 'Content-Range': `bytes 0-${end - 1}/${upload.size}` } }
    this.#publish(publication)
    return { status: 201 }
  }

  status(publication: Publication): FakeReply {
    const { failReason, upload } = publication
    if (upload !== null && upload.received < upload.size) {
      return ok({ status: 'PROCESSING_UPLOAD', uploaded_bytes: upload.received })
    }
    if (publication.pending > 0) {
      publication.pending -= 1
      const status = upload === null ? 'PROCESSING_DOWNLOAD' : 'PROCESSING_UPLOAD'
      return ok({ status, ...(upload !== null && { uploaded_bytes: upload.received }) })
    }
    if (failReason !== null) return ok({ status: 'FAILED', fail_reason: failReason })
    const post = this.#state.posts.find(({ id }) => id === publication.post)
    if (post?.isDraft === true) return ok({ status: 'SEND_TO_USER_INBOX' })
    const logId = randomBytes(16).toString('hex')
    const ids = post?.isPublic === true ? `[${post.id}]` : '[]'
    // The id is a number beyond the precision of JavaScript, so the reply is written by hand.
    return {
      status: 200,
      headers: { 'Content-Type': 'application/json' },
      body: `{"data":{"status":"PUBLISH_COMPLETE","publicaly_available_post_id":${ids}},"error":{"code":"ok","message":"","log_id":"${logId}"}}`,
    }
  }

  #add(given: Pick<Publication, 'id' | 'person' | 'info' | 'photos' | 'upload' | 'isDraft'>): Publication {
    return (this.#state.publications[given.id] = { ...given, pending: POLLS, failReason: null, post: null })
  }

  #publish(publication: Publication): void {
    const { failReason, info, isDraft, person, photos, upload } = publication
    if (failReason !== null) return
    if (this.#state.failNext !== null) {
      publication.failReason = this.#state.failNext
      this.#state.failNext = null
      return
    }
    publication.post = `73${String(this.#nextId()).padStart(17, '0')}`
    this.#state.posts.push({
      id: publication.post,
      person,
      text: upload === null ? (info.description ?? '') : (info.title ?? ''),
      media: upload === null ? photos : [upload.type],
      isPublic: !isDraft && info.privacy_level === 'PUBLIC_TO_EVERYONE',
      isDraft,
      at: this.#clock.now(),
    })
  }

  #draftProblem(account: string): FakeReply | undefined {
    const since = this.#clock.now() - DAY_MS
    const waiting = this.#state.posts.filter((one) => one.person === account && one.isDraft === true && one.at > since)
    const message = 'The maximum of pending shares within 24 hours is reached for the current user.'
    return waiting.length < MAX_PENDING ? undefined : reply(403, 'spam_risk_too_many_pending_share', message)
  }

  #problemOf(info: PostInfo, account: string): FakeReply | undefined {
    const person = this.#state.people[account]
    const level = info.privacy_level
    if (level === undefined) return invalid('privacy_level is required')
    if (!this.#state.audited && level !== 'SELF_ONLY') {
      return reply(
        403,
        'unaudited_client_can_only_post_to_private_accounts',
        'Please review our integration guidelines at https://developers.tiktok.com/doc/content-sharing-guidelines/',
      )
    }
    if (!privacyLevels(this.#state, person).includes(level)) {
      return reply(403, 'privacy_level_option_mismatch', 'The privacy level is not one of privacy_level_options.')
    }
    if (info.brand_content_toggle === true && level === 'SELF_ONLY') {
      return invalid('Branded content cannot be private')
    }
    const since = this.#clock.now() - DAY_MS
    const today = this.#state.posts.filter((post) => post.person === account && !post.isDraft && post.at > since)
    return today.length >= MAX_POSTS_A_DAY
      ? reply(403, 'spam_risk_too_many_posts', 'The daily post cap from the API is reached for the current user.')
      : undefined
  }

  #nextId(): number {
    return (this.#state.next += 1)
  }
}

function tooLong(name: string, value: string | undefined, most: number): FakeReply | undefined {
  return (value ?? '').length > most ? invalid(`post_info.${name} is longer than ${most}`) : undefined
}

/** Fakes fetch nothing. The URL states the size of the photo, and its extension states the type. */
function photoFault(address: string): string | null {
  const { pathname, searchParams } = new URL(address)
  if (Number(searchParams.get('bytes') ?? 0) > 20 * MB) return 'picture_size_check_failed'
  const extension = /\.(\w[\w-]*)$/.exec(pathname)?.[1]
  return extension === undefined || ['jpg', 'jpeg', 'webp'].includes(extension) ? null : 'file_format_check_failed'
}
