import type { Clock } from '../../src/core/clock.ts'
import { json, type FakeReply, type FakeRequest } from '../fake.ts'
import { breachOf, mediaFacts, type MediaBounds } from '../media-facts.ts'
import { partsOf } from '../multipart.ts'
import { invalid, notFound } from './problems.ts'

/** A file that is being uploaded, or that is ready for a post. */
export interface FakeMedia {
  readonly id: string
  readonly owner: string
  readonly type: string
  readonly category: string
  readonly total: number
  readonly expiresAt: number
  /** Sizes of the pieces by their index. */
  readonly segments: Record<string, number>
  /** `open` takes pieces. The others follow after FINALIZE. */
  phase: 'open' | 'pending' | 'in_progress' | 'succeeded' | 'failed'
  altText: string | null
  /** Why X cannot process the file. */
  fault: string | null
  /** The length of a video. */
  seconds: number
}

const MB = 1_000_000
const GB = 1_000 * MB
/** docs.x.com, Media best practices, 2026-10. How long a video may be depends on the user, and is checked with the post. */
const VIDEO: MediaBounds = {
  codecs: ['h264'],
  seconds: [0.5, Infinity],
  fps: [0, 60],
  width: [32, Infinity],
  height: [32, Infinity],
  ratio: [1 / 3, 3],
}
const PIECE_BYTES = 5 * 1_048_576
const LIFE_SECONDS = 86_400
const CATEGORIES: Readonly<Record<string, { types: RegExp; bytes: number; isAsync: boolean }>> = {
  tweet_image: { types: /^image\/(?:jpeg|png|webp|gif|bmp|pjpeg|tiff)$/, bytes: 5 * MB, isAsync: false },
  tweet_gif: { types: /^image\/gif$/, bytes: 15 * MB, isAsync: true },
  tweet_video: { types: /^video\/(?:mp4|quicktime|webm|mp2t)$/, bytes: 8 * GB, isAsync: true },
}

/** The upload of media in pieces: initialize, append, finalize, status, metadata (docs.x.com/x-api/media, 2026-11). */
export class FakeUploads {
  readonly #files: Record<string, FakeMedia>
  readonly #clock: Clock
  readonly #nextId: () => string

  constructor(files: Record<string, FakeMedia>, clock: Clock, nextId: () => string) {
    this.#files = files
    this.#clock = clock
    this.#nextId = nextId
  }

  /** Answers a request below /2/media; undefined for other paths. */
  handle(request: FakeRequest, owner: string): FakeReply | undefined {
    const { body, method, path, query } = request
    if (method === 'POST' && path === '/2/media/upload/initialize') return this.#initialize(body, owner)
    if (method === 'POST' && path === '/2/media/metadata') return this.#describe(body, owner)
    if (method === 'GET' && path === '/2/media/upload') return this.#status(query, owner)
    const [, id = '', command] = /^\/2\/media\/upload\/(\d+)\/(append|finalize)$/.exec(path) ?? []
    if (method !== 'POST' || command === undefined) return undefined
    const file = this.#find(id, owner)
    if (file === undefined) return invalid('id', 'The media id is unknown or has expired.')
    return command === 'append' ? this.#append(request, file) : this.#finalize(file)
  }

  /** The files with these ids, if all are ready. */
  ready(ids: readonly string[], owner: string): FakeMedia[] | undefined {
    const files = ids.map((id) => this.#find(id, owner))
    return files.every((file) => file?.phase === 'succeeded') ? (files as FakeMedia[]) : undefined
  }

  #find(id: string, owner: string): FakeMedia | undefined {
    const file = this.#files[id]
    return file?.owner === owner && file.expiresAt > this.#clock.now() ? file : undefined
  }

  #initialize(body: FakeRequest['body'], owner: string): FakeReply {
    const category = String(body['media_category'])
    const type = String(body['media_type'])
    const total = Number(body['total_bytes'])
    const known = CATEGORIES[category]
    if (known === undefined) return invalid('media_category', `The category ${category} is not supported.`)
    if (!known.types.test(type)) return invalid('media_type', `The media type ${type} is unsupported for ${category}.`)
    if (!Number.isInteger(total) || total < 1) return invalid('total_bytes', 'The size must be a positive integer.')
    if (total > known.bytes) return invalid('total_bytes', `File size exceeds ${known.bytes} bytes.`)
    const id = this.#nextId()
    this.#files[id] = {
      id,
      owner,
      type,
      category,
      total,
      expiresAt: this.#clock.now() + LIFE_SECONDS * 1_000,
      segments: {},
      phase: 'open',
      altText: null,
      fault: null,
      seconds: 0,
    }
    return json(200, { data: { id, media_key: keyOf(this.#files[id]), expires_after_secs: LIFE_SECONDS } })
  }

  #append(request: FakeRequest, file: FakeMedia): FakeReply {
    const parts = partsOf(request.headers['content-type'], request.bytes)
    const index = parts.find(({ name }) => name === 'segment_index')?.bytes.toString('utf8') ?? ''
    const piece = parts.find(({ name }) => name === 'media')?.bytes
    if (file.phase !== 'open') return invalid('id', 'The upload is already finalized.')
    if (!/^\d{1,3}$/.test(index)) return invalid('segment_index', 'The segment index must be between 0 and 999.')
    if (piece === undefined || piece.length === 0) return invalid('media', 'The piece is empty.')
    if (piece.length > PIECE_BYTES) return invalid('media', 'The piece is larger than 5 MB.')
    file.segments[Number(index)] = piece.length
    if (Number(index) === 0 && file.category === 'tweet_video') {
      const facts = mediaFacts(piece)
      file.fault = breachOf(facts, VIDEO) ?? null
      file.seconds = facts.seconds ?? 0
    }
    return json(200, { data: { expires_at: Math.floor(file.expiresAt / 1_000) } })
  }

  #finalize(file: FakeMedia): FakeReply {
    if (file.phase === 'open') {
      const sizes = Object.values(file.segments)
      const isComplete = sizes.every((_, index) => file.segments[index] !== undefined)
      const size = sizes.reduce((sum, bytes) => sum + bytes, 0)
      if (!isComplete || size !== file.total) {
        return invalid('id', `Segments do not add up: ${size} of ${file.total} bytes were appended.`)
      }
      file.phase = CATEGORIES[file.category]?.isAsync === true ? 'pending' : 'succeeded'
    }
    return json(200, { data: viewOf(file) })
  }

  #status(query: URLSearchParams, owner: string): FakeReply {
    const file = this.#find(query.get('media_id') ?? '', owner)
    if (file === undefined || file.phase === 'open') return notFound('media_id', query.get('media_id') ?? '')
    if (file.phase === 'in_progress') file.phase = file.fault === null ? 'succeeded' : 'failed'
    if (file.phase === 'pending') file.phase = 'in_progress'
    return json(200, { data: viewOf(file) })
  }

  #describe(body: FakeRequest['body'], owner: string): FakeReply {
    const file = this.#find(String(body['id']), owner)
    const { alt_text: alt } = (body['metadata'] ?? {}) as { alt_text?: { text?: unknown } }
    if (file === undefined || file.phase === 'open') return invalid('id', 'The media id is unknown or has expired.')
    if (typeof alt?.text !== 'string' || Array.from(alt.text).length > 1_000) {
      return invalid('metadata.alt_text', 'The description must have at most 1000 characters.')
    }
    file.altText = alt.text
    return json(200, { data: { id: file.id, associated_metadata: { alt_text: alt } } })
  }
}

/** The key under which posts name a file. */
export function keyOf({ category, id }: FakeMedia): string {
  return `${category === 'tweet_video' ? 7 : category === 'tweet_gif' ? 16 : 3}_${id}`
}

function viewOf(file: FakeMedia) {
  const isAsync = CATEGORIES[file.category]?.isAsync === true
  return {
    id: file.id,
    media_key: keyOf(file),
    size: file.total,
    expires_after_secs: LIFE_SECONDS,
    ...(isAsync && {
      processing_info: {
        state: file.phase,
        ...(file.phase === 'failed'
          ? { error: { code: 1, name: 'InvalidMedia', message: `Unsupported video format: ${file.fault}` } }
          : file.phase !== 'succeeded' && { check_after_secs: 1 }),
        progress_percent: file.phase === 'succeeded' ? 100 : 40,
      },
    }),
  }
}
