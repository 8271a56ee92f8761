import { randomBytes } from 'node:crypto'
import type { Clock } from '../../src/core/clock.ts'
import type { FakeReply, FakeRequest } from '../fake.ts'
import { breachOf, mediaFacts, type MediaBounds } from '../media-facts.ts'
import { fault, inputFault } from './replies.ts'

/** A file that was or is being uploaded. */
export interface Asset {
  readonly urn: string
  readonly kind: 'image' | 'video' | 'document'
  readonly owner: string
  readonly key: string
  readonly size: number
  /** ETags of the parts, by their number. */
  readonly parts: Record<string, string>
  readonly until: number
  type: string
  /** Whether LinkedIn cannot process the file. */
  isWrong: boolean
  status: 'WAITING_UPLOAD' | 'PROCESSING' | 'AVAILABLE' | 'PROCESSING_FAILED'
  /** How often the status is still PROCESSING. */
  pending: number
}

const KINDS = { images: 'image', videos: 'video', documents: 'document' } as const
const TYPES = {
  image: /^image\/(?:jpeg|png|gif)$/,
  document:
    /^application\/(?:pdf|msword|vnd\.ms-powerpoint|vnd\.openxmlformats-officedocument\.(?:word|presentation)ml\..+)$/,
}
/** learn.microsoft.com, Images, Videos and Documents APIs, 2026-11. */
const BOUNDS: Readonly<Record<Asset['kind'], MediaBounds>> = {
  image: { pixels: [1, 36_152_319] },
  video: { types: ['video/mp4'], seconds: [3, 1_800] },
  document: { pages: [1, 300] },
}
const PART_BYTES = 4_194_304
const VIDEO_BYTES = 500_000_000
const SMALLEST_VIDEO = 75_000
const DOCUMENT_BYTES = 100_000_000
const HOUR_MS = 3_600_000
const POLLS = 2

/** The Images, Videos and Documents APIs (learn.microsoft.com, 2026-11). */
export class Uploads {
  readonly #assets: Record<string, Asset>
  readonly #clock: Clock

  constructor(assets: Record<string, Asset>, clock: Clock) {
    this.#assets = assets
    this.#clock = clock
  }

  initialize({ base, body }: FakeRequest, collection: keyof typeof KINDS): FakeReply {
    const { fileSizeBytes, owner } = (body['initializeUploadRequest'] ?? {}) as Record<string, unknown>
    const kind = KINDS[collection]
    const size = Number(fileSizeBytes)
    if (typeof owner !== 'string') return inputFault(400, 'MISSING_FIELD', 'owner is required')
    if (kind === 'video' && !(size >= SMALLEST_VIDEO && size <= VIDEO_BYTES)) {
      return inputFault(400, 'INVALID_VALUE', 'fileSizeBytes is out of range')
    }
    const key = randomBytes(16).toString('hex')
    const urn = `urn:li:${kind}:D4D${randomBytes(8).toString('hex')}`
    const until = this.#clock.now() + HOUR_MS
    this.#assets[urn] = {
      urn,
      kind,
      owner,
      key,
      size: kind === 'video' ? size : 0,
      parts: {},
      until,
      type: '',
      isWrong: false,
      status: 'WAITING_UPLOAD',
      pending: kind === 'image' ? 1 : POLLS,
    }
    const url = (part: number) => `${base}/dms-uploads/${encodeURIComponent(urn)}?part=${part}&sig=${key}`
    if (kind !== 'video') {
      return { status: 200, body: { value: { uploadUrlExpiresAt: until, uploadUrl: url(0), [kind]: urn } } }
    }
    const uploadInstructions = Array.from({ length: Math.ceil(size / PART_BYTES) }, (_, part) => ({
      uploadUrl: url(part),
      firstByte: part * PART_BYTES,
      lastByte: Math.min(size, (part + 1) * PART_BYTES) - 1,
    }))
    return {
      status: 200,
      body: { value: { uploadUrlsExpireAt: until, video: urn, uploadInstructions, uploadToken: '' } },
    }
  }

  /** @param isSignedIn whether the request has a valid token, which images and documents need */
  put({ bytes, headers, path, query }: FakeRequest, isSignedIn: boolean): FakeReply {
    const asset = this.#assets[decodeURIComponent(path.split('/').at(-1) ?? '')]
    if (asset === undefined) return { status: 404 }
    if (query.get('sig') !== asset.key || asset.until <= this.#clock.now()) return { status: 403 }
    const part = Number(query.get('part'))
    if (part === 0) asset.isWrong = breachOf(mediaFacts(bytes), BOUNDS[asset.kind]) !== undefined
    if (asset.kind !== 'video') {
      if (!isSignedIn) return fault(401, 'INVALID_ACCESS_TOKEN', 'Invalid access token', 65_600)
      if (asset.kind === 'document' && bytes.length > DOCUMENT_BYTES) return { status: 413 }
      asset.type = headers['content-type'] ?? ''
      const isRight = TYPES[asset.kind].test(asset.type) && !asset.isWrong
      asset.status = isRight ? 'PROCESSING' : 'PROCESSING_FAILED'
      return { status: 201 }
    }
    if (bytes.length !== Math.min(PART_BYTES, asset.size - part * PART_BYTES)) return { status: 400 }
    const etag = `/ambry-video/signedId/${randomBytes(12).toString('hex')}`
    asset.parts[part] = etag
    return { status: 200, headers: { ETag: `"${etag}"` } }
  }

  finalize({ body }: FakeRequest): FakeReply {
    const { uploadedPartIds, video } = (body['finalizeUploadRequest'] ?? {}) as {
      video?: string
      uploadedPartIds?: readonly string[]
    }
    const asset = this.#assets[video ?? '']
    if (asset?.kind !== 'video') return fault(404, 'NOT_FOUND', 'The video does not exist')
    const count = Math.ceil(asset.size / PART_BYTES)
    const expected = Array.from({ length: count }, (_, part) => asset.parts[part])
    if (expected.some((etag, part) => etag === undefined || etag !== uploadedPartIds?.[part])) {
      return inputFault(400, 'INVALID_VALUE', 'uploadedPartIds do not match the uploaded parts')
    }
    asset.status = asset.isWrong ? 'PROCESSING_FAILED' : 'PROCESSING'
    return { status: 200 }
  }

  view(urn: string): FakeReply {
    const asset = this.#assets[urn]
    if (asset === undefined) return fault(404, 'NOT_FOUND', 'The asset does not exist')
    if (asset.status === 'PROCESSING') {
      if (asset.pending <= 0) asset.status = 'AVAILABLE'
      asset.pending -= 1
    }
    return { status: 200, body: { id: urn, owner: asset.owner, status: asset.status } }
  }

  /** Whether an asset can be one of several images: GIFs and other kinds cannot. */
  isPicture(urn: string): boolean {
    const asset = this.#assets[urn]
    return asset?.kind === 'image' && asset.type !== 'image/gif'
  }

  /** Why a post cannot have an asset. */
  problemOf(urn: string, author: string): FakeReply | undefined {
    const asset = this.#assets[urn]
    if (asset?.owner !== author)
      return inputFault(400, 'INVALID_URN_ID', `${urn} does not exist or is not the author’s`)
    return asset.status === 'AVAILABLE'
      ? undefined
      : inputFault(400, `MEDIA_ASSET_${asset.status}`, `The media asset ${urn} is not available`)
  }
}
