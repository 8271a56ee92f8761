import { randomBytes } from 'node:crypto'
import type { Clock } from '../../src/core/clock.ts'
import { element, xmlDocument, xmlOf } from '../../src/tools/xml.ts'
import { json, type FakeReply, type FakeRequest } from '../fake.ts'
import { breachOf, mediaFacts } from '../media-facts.ts'
import { partsOf } from '../multipart.ts'

/** A leased place for a file. */
export interface FakeAsset {
  readonly id: string
  readonly owner: string
  readonly type: string
  readonly key: string
  readonly signature: string
  readonly expiresAt: number
  isUploaded: boolean
  /** Whether Reddit cannot process the file. */
  isWrong: boolean
}

const LEASE_MS = 3_600_000
const MB = 1_000_000
/** Seconds of a video (support.reddithelp.com, 2026-11). */
const VIDEO_SECONDS = [2, 900] as const
const TYPES: Readonly<Record<string, number>> = {
  'image/png': 20 * MB,
  'image/jpeg': 20 * MB,
  'image/gif': 100 * MB,
  'video/mp4': 1_000 * MB,
  'video/quicktime': 1_000 * MB,
}

/** The media lease of Reddit and the storage behind it, which takes signed forms as S3 does. */
export class FakeStorage {
  readonly #assets: Record<string, FakeAsset>
  readonly #clock: Clock

  constructor(assets: Record<string, FakeAsset>, clock: Clock) {
    this.#assets = assets
    this.#clock = clock
  }

  lease({ base, body }: FakeRequest, owner: string): FakeReply {
    const type = String(body['mimetype'])
    if (TYPES[type] === undefined || typeof body['filepath'] !== 'string') {
      return json(200, { json: { errors: [['BAD_MIME_TYPE', 'that file type is not supported', 'mimetype']] } })
    }
    const id = randomBytes(6).toString('hex')
    const asset: FakeAsset = {
      id,
      owner,
      type,
      key: `rte_images/${id}`,
      signature: randomBytes(20).toString('hex'),
      expiresAt: this.#clock.now() + LEASE_MS,
      isUploaded: false,
      isWrong: false,
    }
    this.#assets[id] = asset
    const fields = {
      acl: 'private',
      key: asset.key,
      'Content-Type': type,
      policy: Buffer.from(asset.key).toString('base64'),
      'x-amz-signature': asset.signature,
      success_action_status: '201',
    }
    return json(200, {
      args: {
        action: `${base}/storage`,
        fields: Object.entries(fields).map(([name, value]) => ({ name, value })),
      },
      asset: {
        asset_id: id,
        processing_state: 'incomplete',
        payload: { filepath: body['filepath'] },
        websocket_url: '',
      },
    })
  }

  /** The form that uploads a file. Fields after the file are ignored, so it must be the last. */
  store(request: FakeRequest): FakeReply {
    const parts = partsOf(request.headers['content-type'], request.bytes)
    const file = parts.at(-1)
    const text = (name: string) => parts.find((part) => part.name === name)?.bytes.toString('utf8')
    const asset = Object.values(this.#assets).find(({ key }) => key === text('key'))
    if (asset === undefined || asset.signature !== text('x-amz-signature') || text('policy') === undefined) {
      return failure(403, 'AccessDenied', 'Invalid according to Policy: Policy Condition failed')
    }
    if (asset.expiresAt <= this.#clock.now()) {
      return failure(403, 'AccessDenied', 'Invalid according to Policy: Policy expired.')
    }
    if (file?.name !== 'file' || file.bytes.length === 0) {
      return failure(400, 'InvalidArgument', 'POST requires exactly one file upload per request.')
    }
    if (text('Content-Type') !== asset.type)
      return failure(403, 'AccessDenied', 'Policy Condition failed: Content-Type')
    if (file.bytes.length > (TYPES[asset.type] ?? 0)) {
      return failure(400, 'EntityTooLarge', 'Your proposed upload exceeds the maximum allowed size')
    }
    asset.isUploaded = true
    const isVideo = asset.type.startsWith('video/')
    asset.isWrong = isVideo && breachOf(mediaFacts(file.bytes), { seconds: VIDEO_SECONDS }) !== undefined
    return {
      status: 201,
      headers: { 'Content-Type': 'application/xml' },
      body: xmlOf(
        element(
          'PostResponse',
          {},
          element('Location', {}, `${request.base}/storage/${asset.key}`),
          element('Key', {}, asset.key),
        ),
      ),
    }
  }

  /** The uploaded file at an address of the storage. */
  at(url: unknown, owner: string): FakeAsset | undefined {
    return Object.values(this.#assets).find(
      (asset) => asset.owner === owner && asset.isUploaded && String(url).endsWith(`/storage/${asset.key}`),
    )
  }

  find(id: unknown, owner: string): FakeAsset | undefined {
    const asset = this.#assets[String(id)]
    return asset?.owner === owner && asset.isUploaded ? asset : undefined
  }
}

function failure(status: number, code: string, message: string): FakeReply {
  return {
    status,
    headers: { 'Content-Type': 'application/xml' },
    body: xmlDocument(element('Error', {}, element('Code', {}, code), element('Message', {}, message))),
  }
}
