import type { Clock } from '../../src/core/clock.ts'
import type { FakeReply, FakeRequest } from '../fake.ts'
import { breachOf, mediaFacts } from '../media-facts.ts'
import { partsOf } from '../multipart.ts'

export interface Board {
  readonly id: string
  readonly owner: string
  readonly name: string
  readonly privacy: string
}

export interface Pin {
  readonly id: string
  readonly owner: string
  readonly board: string
  title: string | null
  description: string | null
  link: string | null
  readonly altText: string | null
  readonly media: readonly string[]
  readonly at: number
}

interface Media {
  readonly id: string
  readonly owner: string
  readonly signature: string
  readonly until: number
  status: 'registered' | 'processing' | 'succeeded' | 'failed'
  type: string
  /** How often it is still processing. */
  pending: number
}

export interface PinsState {
  readonly boards: Board[]
  readonly pins: Pin[]
  readonly media: Record<string, Media>
  /** Whether the app has trial access, which cannot publish. */
  trial: boolean
  next: number
}

const HOUR_MS = 3_600_000
const VIDEO_BYTES = 2_000_000_000
const POLLS = 2
/** Seconds of a video (help.pinterest.com, Review Pinterest product specs, 2026-11). */
const VIDEO_SECONDS = [4, 900] as const
const VIDEO_TYPES = new Set(['video/mp4', 'video/quicktime'])
const IMAGE_BYTES = 20_000_000
const IMAGE_EXTENSIONS = new Set(['jpg', 'jpeg', 'png', 'webp', 'gif'])
const BASE_ID = 549_755_885_000n

export function fault(status: number, code: number, message: string): FakeReply {
  return { status, body: { code, message } }
}

/** Boards, Pins and the upload of videos (developers.pinterest.com/docs/api/v5, 2026-11). */
export class Pins {
  readonly #state: PinsState
  readonly #clock: Clock

  constructor(state: PinsState, clock: Clock) {
    this.#state = state
    this.#clock = clock
  }

  nextId(): string {
    return String(BASE_ID + BigInt((this.#state.next += 1)))
  }

  createBoard({ body }: FakeRequest, owner: string): FakeReply {
    const { name = '', privacy = 'PUBLIC' } = body as { name?: string; privacy?: string }
    if (name.trim() === '' || name.length > 50) return fault(400, 1, 'Invalid board name.')
    if (!['PUBLIC', 'PROTECTED', 'SECRET'].includes(privacy)) return fault(400, 1, 'Invalid privacy.')
    const isTaken = this.#state.boards.some((board) => board.owner === owner && board.name === name)
    if (isTaken) return fault(400, 58, 'You already have a board with this name.')
    const board = { id: this.nextId(), owner, name, privacy }
    this.#state.boards.push(board)
    return { status: 201, body: boardView(board) }
  }

  boards({ query }: FakeRequest, owner: string): FakeReply {
    const own = this.#state.boards.filter((board) => board.owner === owner)
    return pageOf(own.map(boardView), query)
  }

  pinsOf({ query }: FakeRequest, id: string, account: string): FakeReply {
    const board = this.#state.boards.find((one) => one.id === id)
    if (board === undefined) return fault(404, 40, 'Board not found.')
    if (board.owner !== account) return fault(403, 7, 'Not authorized to access board or Pin.')
    const pins = this.#state.pins.filter((pin) => pin.board === id).toReversed()
    return pageOf(pins.map(pinView), query)
  }

  register({ base }: FakeRequest, owner: string): FakeReply {
    const id = this.nextId()
    const signature = `sig${id}`
    const until = this.#clock.now() + HOUR_MS
    this.#state.media[id] = { id, owner, signature, until, status: 'registered', type: '', pending: POLLS }
    const parameters = {
      'Content-Type': 'multipart/form-data',
      key: `uploads/${id}`,
      policy: 'sandbox',
      'x-amz-algorithm': 'AWS4-HMAC-SHA256',
      'x-amz-signature': signature,
    }
    const body = { media_id: id, media_type: 'video', upload_url: `${base}/s3-upload/`, upload_parameters: parameters }
    return { status: 201, body }
  }

  /** The form of S3, whose file comes last. */
  store({ bytes, headers }: FakeRequest): FakeReply {
    const parts = partsOf(headers['content-type'], bytes)
    const value = (name: string) => parts.find((part) => part.name === name)?.bytes.toString('utf8')
    const media = this.#state.media[value('key')?.replace('uploads/', '') ?? '']
    if (media === undefined) return { status: 400, body: '<Error><Code>InvalidArgument</Code></Error>' }
    if (value('x-amz-signature') !== media.signature || media.until <= this.#clock.now()) {
      return { status: 403, body: '<Error><Code>AccessDenied</Code></Error>' }
    }
    const file = parts.at(-1)
    if (file?.name !== 'file') return { status: 400, body: '<Error><Code>InvalidArgument</Code></Error>' }
    if (file.bytes.length > VIDEO_BYTES) return { status: 400, body: '<Error><Code>EntityTooLarge</Code></Error>' }
    media.type = file.type ?? ''
    const isRight = breachOf(mediaFacts(file.bytes), { seconds: VIDEO_SECONDS }) === undefined
    media.status = isRight && VIDEO_TYPES.has(media.type) ? 'processing' : 'failed'
    return { status: 204 }
  }

  mediaView(id: string, account: string): FakeReply {
    const media = this.#state.media[id]
    if (media?.owner !== account) return fault(404, 2_781, 'Media not found.')
    if (media.status === 'processing') {
      if (media.pending <= 0) media.status = 'succeeded'
      media.pending -= 1
    }
    return { status: 200, body: { media_id: id, media_type: 'video', status: media.status } }
  }

  create({ body }: FakeRequest, owner: string): FakeReply {
    if (this.#state.trial) {
      const message =
        'Apps with Trial access may not create Pins in production https://api.pinterest.com - use API Sandbox https://api-sandbox.pinterest.com instead.'
      return fault(403, 29, message)
    }
    const given = body as Record<string, string | null | undefined>
    const board = this.#state.boards.find(({ id }) => id === given['board_id'])
    if (board === undefined) return fault(404, 40, 'Board not found.')
    if (board.owner !== owner) return fault(403, 7, 'Not authorized to access board or Pin.')
    const problem = problemOf(given)
    if (problem !== undefined) return problem
    const media = this.#source((body['media_source'] ?? {}) as Record<string, unknown>, owner)
    if (!Array.isArray(media)) return media
    const pin: Pin = {
      id: this.nextId(),
      owner,
      board: board.id,
      title: given['title'] ?? null,
      description: given['description'] ?? null,
      link: given['link'] ?? null,
      altText: given['alt_text'] ?? null,
      media,
      at: this.#clock.now(),
    }
    this.#state.pins.push(pin)
    return { status: 201, body: pinView(pin) }
  }

  ofPin({ body, method, query }: FakeRequest, id: string, account: string): FakeReply {
    const pin = this.#state.pins.find((one) => one.id === id)
    if (pin === undefined) return fault(404, 50, 'Pin not found.')
    if (pin.owner !== account) return fault(403, 7, 'Not authorized to access board or Pin.')
    if (method === 'DELETE') {
      this.#state.pins.splice(this.#state.pins.indexOf(pin), 1)
      return { status: 204 }
    }
    if (method === 'PATCH') {
      const given = body as Record<string, string | null | undefined>
      const problem = problemOf(given)
      if (problem !== undefined) return problem
      const { description = pin.description, link = pin.link, title = pin.title } = given
      Object.assign(pin, { description, link, title })
    }
    const lifetime = { impression: 0, pin_click: 0, clickthrough: 0, reaction: 0, comment: 0, save: 0 }
    const metrics = query.get('pin_metrics') === 'true' ? { pin_metrics: { lifetime_metrics: lifetime } } : {}
    return { status: 200, body: { ...pinView(pin), ...metrics } }
  }

  /** The files of a source, or why it is refused. */
  #source(source: Record<string, unknown>, owner: string): string[] | FakeReply {
    const { items = [], media_id: mediaId, source_type: type, url } = source
    if (type === 'image_url') {
      return typeof url === 'string' ? (imageFault(url) ?? [url]) : fault(400, 1, 'Invalid image URL.')
    }
    if (type === 'multiple_image_urls') {
      const urls = (items as { url?: string }[]).map((item) => item.url ?? '')
      if (urls.length < 2 || urls.length > 5) return fault(400, 1, 'items must have 2 to 5 images.')
      return urls.map(imageFault).find((problem) => problem !== undefined) ?? urls
    }
    if (type !== 'video_id') return fault(400, 1, 'Invalid media_source.')
    const media = this.#state.media[String(mediaId)]
    if (media?.owner !== owner || media.status !== 'succeeded') return fault(400, 1, 'The video is not ready.')
    if (source['cover_image_url'] === undefined && source['cover_image_key_frame_time'] === undefined) {
      return fault(400, 1, 'A cover image is required for video Pins.')
    }
    return [media.type]
  }
}

/** Fakes fetch nothing. The URL states the size of the image, and its extension states the type. */
function imageFault(url: string): FakeReply | undefined {
  if (!URL.canParse(url)) return fault(400, 1, 'Invalid image URL.')
  const { pathname, searchParams } = new URL(url)
  const extension = /\.(\w+)$/.exec(pathname)?.[1]
  if (extension !== undefined && !IMAGE_EXTENSIONS.has(extension))
    return fault(400, 235, 'We could not fetch the image.')
  return Number(searchParams.get('bytes') ?? 0) > IMAGE_BYTES ? fault(400, 235, 'The image is too large.') : undefined
}

function problemOf(given: Readonly<Record<string, string | null | undefined>>): FakeReply | undefined {
  const most = { title: 100, description: 800, link: 2_048, alt_text: 500 }
  for (const [name, limit] of Object.entries(most)) {
    if (Array.from(given[name] ?? '').length > limit)
      return fault(400, 1, `${name} is longer than ${limit} characters.`)
  }
  const link = given['link'] ?? ''
  return link === '' || URL.canParse(link) ? undefined : fault(400, 1, 'Invalid link.')
}

function pageOf(all: readonly unknown[], query: URLSearchParams): FakeReply {
  const size = Number(query.get('page_size') ?? 25)
  if (!(size >= 1 && size <= 250)) return fault(400, 1, 'page_size is out of range.')
  const start = Number(query.get('bookmark') ?? 0)
  const next = start + size
  return { status: 200, body: { items: all.slice(start, next), bookmark: next < all.length ? String(next) : null } }
}

function boardView({ id, name, privacy }: Board) {
  return { id, name, privacy }
}

function pinView({ altText, at, board, description, id, link, title }: Pin) {
  // The time is in UTC, but does not say so.
  const createdAt = new Date(at).toISOString()
  return { id, board_id: board, title, description, link, alt_text: altText, created_at: createdAt, is_owner: true }
}
