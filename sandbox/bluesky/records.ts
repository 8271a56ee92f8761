import type { Clock } from '../../src/core/clock.ts'
import { json, type FakeReply, type FakeRequest } from '../fake.ts'
import { cidOfBlob, cidOfRecord } from './cid.ts'
import { fault, invalid, textOf, type State } from './state.ts'

const POST = 'app.bsky.feed.post'
const BLOB_BYTES = 100_000_000
const HOUR_POINTS = 5_000
const DAY_POINTS = 35_000
const HOUR_MS = 3_600_000
const RKEY = /^[\w.:~-]{1,512}$/
const TID = /^[2-7a-j][2-7a-z]{12}$/

type Json = Readonly<Record<string, unknown>>

/** The repositories: `com.atproto.repo.*` for `app.bsky.feed.post` and `app.bsky.feed.threadgate`. */
export class FakeRepos {
  readonly #state: State
  readonly #clock: Clock

  constructor(state: State, clock: Clock) {
    this.#state = state
    this.#clock = clock
  }

  /** @param did of the caller */
  handle(method: string, request: FakeRequest, did: string): FakeReply | undefined {
    const { body, query } = request
    if (method === 'uploadBlob') return this.#upload(request, did)
    if (method === 'getRecord') return this.get(query)
    if (method === 'listRecords') return this.list(query)
    const cost = { putRecord: 2, createRecord: 3, deleteRecord: 1 }[method]
    if (cost === undefined) return undefined
    if (body['repo'] !== did && body['repo'] !== this.#state.people[did]?.handle) {
      return fault(400, 'InvalidRequest', 'Could not find repo')
    }
    const limited = this.#spend(did, cost)
    const reply = limited.exhausted
      ? fault(429, 'RateLimitExceeded', 'Rate Limit Exceeded', limited.headers)
      : method === 'deleteRecord'
        ? this.#delete(body, did)
        : this.#write(method, body, did)
    return { ...reply, headers: { ...reply.headers, ...limited.headers } }
  }

  get(query: URLSearchParams): FakeReply {
    const uri = `at://${query.get('repo')}/${query.get('collection')}/${query.get('rkey')}`
    const record = this.#state.records[uri]
    if (record === undefined) return fault(400, 'RecordNotFound', `Could not locate record: ${uri}`)
    return json(200, { uri, cid: record.cid, value: record.value })
  }

  list(query: URLSearchParams): FakeReply {
    const start = `at://${query.get('repo')}/${query.get('collection')}/`
    const records = Object.values(this.#state.records)
      .filter(({ uri }) => uri.startsWith(start))
      .toSorted((a, b) => (a.uri < b.uri ? 1 : -1))
      .slice(0, Number(query.get('limit') ?? 50))
    return json(200, { records: records.map(({ cid, uri, value }) => ({ uri, cid, value })) })
  }

  /** The blob that a file becomes. */
  store(did: string, bytes: Uint8Array, mimeType: string, size = bytes.length): Json {
    const cid = cidOfBlob(bytes)
    this.#state.blobs[`${did} ${cid} ${mimeType}`] = { did, mimeType, size }
    return { $type: 'blob', ref: { $link: cid }, mimeType, size }
  }

  #upload({ bytes, headers }: FakeRequest, did: string): FakeReply {
    const type = headers['content-type'] ?? ''
    if (type === '') return invalid('Request encoding (Content-Type) required but not provided')
    if (bytes.length > BLOB_BYTES) return fault(413, 'PayloadTooLarge', 'request entity too large')
    return json(200, { blob: this.store(did, bytes, type.split(';')[0] ?? type) })
  }

  #write(method: string, body: Json, did: string): FakeReply {
    const collection = textOf(body['collection'])
    const rkey = textOf(body['rkey'])
    const record = body['record'] as Json | undefined
    if (!RKEY.test(rkey) || (collection === POST && !TID.test(rkey))) return invalid('Invalid record key')
    if (record === undefined || record['$type'] !== collection) {
      return invalid(`Invalid $type: expected ${collection}, got ${String(record?.['$type'])}`)
    }
    const problem = collection === POST ? this.#problemOf(record, did) : undefined
    if (problem !== undefined) return problem
    const uri = `at://${did}/${collection}/${rkey}`
    const cid = cidOfRecord(record)
    const known = this.#state.records[uri]
    if (known !== undefined && method === 'createRecord') return invalid(`Record already exists: ${uri}`)
    if (known?.cid !== cid) {
      this.#state.records[uri] = { uri, cid, value: record, at: known?.at ?? this.#clock.now() }
    }
    return json(200, { uri, cid, validationStatus: 'valid' })
  }

  #delete(body: Json, did: string): FakeReply {
    delete this.#state.records[`at://${did}/${textOf(body['collection'])}/${textOf(body['rkey'])}`]
    return json(200, {})
  }

  /** The lexicon app.bsky.feed.post. */
  #problemOf(record: Json, did: string): FakeReply | undefined {
    const bad = (what: string) => invalid(`Invalid ${POST} record: ${what}`)
    const { createdAt, embed, facets = [], langs = [], reply, tags = [], text } = record
    if (typeof text !== 'string') return bad('Missing required key "text" at $.record')
    const graphemes = [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)].length
    const size = new TextEncoder().encode(text).length
    if (size > 3_000) return bad(`string too big (maximum 3000, got ${size}) at $.record.text`)
    if (graphemes > 300) return bad(`grapheme too big (maximum 300, got ${graphemes}) at $.record.text`)
    if (typeof createdAt !== 'string' || Number.isNaN(Date.parse(createdAt))) {
      return bad('Invalid datetime at $.record.createdAt')
    }
    if ((langs as unknown[]).length > 3) return bad('array too big (maximum 3) at $.record.langs')
    if ((tags as unknown[]).length > 8) return bad('array too big (maximum 8) at $.record.tags')
    for (const { features, index } of facets as readonly { features?: unknown[]; index?: Record<string, number> }[]) {
      const { byteEnd = -1, byteStart = -1 } = index ?? {}
      // The network stores offsets outside of the text, and apps then show no link. The sandbox reports them.
      if (features === undefined || byteStart < 0 || byteEnd <= byteStart || byteEnd > size) {
        return bad('byte slice out of the text at $.record.facets')
      }
    }
    if (reply !== undefined) {
      const { parent, root } = reply as { parent?: Json; root?: Json }
      if (![parent, root].every((ref) => textOf(ref?.['uri']).startsWith('at://') && textOf(ref?.['cid']) !== '')) {
        return bad('Missing required key at $.record.reply')
      }
    }
    return embed === undefined ? undefined : this.#embedProblem(embed as Json, did)
  }

  #embedProblem(embed: Json, did: string): FakeReply | undefined {
    const bad = (what: string) => invalid(`Invalid ${POST} record: ${what} at $.record.embed`)
    switch (embed['$type']) {
      case 'app.bsky.embed.images': {
        const images = (embed['images'] ?? []) as readonly Json[]
        if (images.length > 4) return bad('array too big (maximum 4)')
        if (images.some(({ alt }) => typeof alt !== 'string')) return bad('Missing required key "alt"')
        for (const { image } of images) {
          const problem = this.#blobProblem(image, did, /^image\//, 2_000_000)
          if (problem !== undefined) return problem
        }
        return undefined
      }
      case 'app.bsky.embed.video':
        return this.#blobProblem(embed['video'], did, /^video\/mp4$/, 300_000_000)
      case 'app.bsky.embed.record':
        return isStrongRef(embed['record']) ? undefined : bad('Missing required key')
      case 'app.bsky.embed.recordWithMedia': {
        const { media, record } = embed as { media?: Json; record?: Json }
        const kinds = ['images', 'video', 'external'].map((kind) => `app.bsky.embed.${kind}`)
        if (!kinds.includes(textOf(media?.['$type'])) || !isStrongRef(record?.['record'])) {
          return bad('Missing required key')
        }
        return this.#embedProblem(media ?? {}, did)
      }
      case 'app.bsky.embed.external': {
        const { description, thumb, title, uri } = (embed['external'] ?? {}) as Json
        const complete = URL.canParse(textOf(uri)) && typeof title === 'string' && typeof description === 'string'
        if (!complete) return bad('Missing required key')
        return thumb === undefined ? undefined : this.#blobProblem(thumb, did, /^image\//, 1_000_000)
      }
      default:
        return undefined
    }
  }

  #blobProblem(ref: unknown, did: string, types: RegExp, most: number): FakeReply | undefined {
    const { mimeType, ref: link, size } = (ref ?? {}) as { mimeType?: string; size?: number; ref?: { $link?: string } }
    const blob = this.#state.blobs[`${did} ${link?.$link} ${mimeType}`]
    if (blob === undefined) return fault(400, 'BlobNotFound', `Could not find blob: ${link?.$link}`)
    if (blob.size !== size) return invalid('Referenced blob does not match')
    if (!types.test(blob.mimeType)) {
      return fault(400, 'InvalidMimeType', `Wrong type of file. It is ${blob.mimeType}.`)
    }
    return blob.size > most
      ? fault(400, 'BlobTooLarge', `This file is too large. It is ${blob.size} bytes but the maximum size is ${most}.`)
      : undefined
  }

  #spend(did: string, points: number) {
    const now = this.#clock.now()
    const spent = (this.#state.spent[did] ?? []).filter(({ at }) => now - at < 24 * HOUR_MS)
    this.#state.spent[did] = spent
    const sum = (ms: number) => spent.reduce((all, one) => all + (now - one.at < ms ? one.points : 0), 0)
    const windows = [
      { limit: HOUR_POINTS, ms: HOUR_MS, used: sum(HOUR_MS) },
      { limit: DAY_POINTS, ms: 24 * HOUR_MS, used: sum(24 * HOUR_MS) },
    ]
    const exhausted = windows.some(({ limit, used }) => used + points > limit)
    if (!exhausted) spent.push({ at: now, points })
    const tightest = windows.map(({ limit, ms, used }) => ({
      limit,
      ms,
      left: Math.max(0, limit - used - (exhausted ? 0 : points)),
      oldest: spent.find(({ at }) => now - at < ms)?.at ?? now,
    }))
    const { left, limit, ms, oldest } = tightest.reduce((a, b) => (b.left < a.left ? b : a))
    const headers = {
      'RateLimit-Limit': String(limit),
      'RateLimit-Remaining': String(left),
      'RateLimit-Reset': String(Math.ceil((oldest + ms) / 1_000)),
      'RateLimit-Policy': `${limit};w=${ms / 1_000}`,
    }
    return { exhausted, headers }
  }
}

/** The lexicon com.atproto.repo.strongRef. */
function isStrongRef(value: unknown): boolean {
  const { cid, uri } = (value ?? {}) as Json
  return textOf(uri).startsWith('at://') && textOf(cid) !== ''
}
