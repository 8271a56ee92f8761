import { crc32, deflateSync } from 'node:zlib'
import { Readable } from 'node:stream'
import { PlatformError } from '../error-kinds.ts'
import { multipart, type FilePart } from '../http/multipart.ts'
import type { PublishContext, PublishPart, PublishState } from '../publishing.ts'
import { call, TITLE } from './call.ts'

/** A place in Reddit's storage for one file, with the signed fields of the form that uploads it. */
interface Lease {
  readonly url: string
  readonly fields: Readonly<Record<string, string>>
  readonly assetId: string
}

/** The files that are uploaded, and the one that is next. */
export interface UploadState extends PublishState {
  readonly assets: readonly { readonly id: string; readonly url: string }[]
  readonly lease?: Lease
  /** How many leases for the next file have expired. */
  readonly expired?: number
}

interface LeaseReply {
  readonly args: {
    readonly action: string
    readonly fields: readonly { readonly name: string; readonly value: string }[]
  }
  readonly asset: { readonly asset_id: string }
}

/** Storage takes a file in one form only, so a large one takes long. */
const UPLOAD_TIMEOUT_MS = 900_000
const MAX_EXPIRED = 2

/** Asks for a place for the next file. */
export async function lease(context: PublishContext, part: PublishPart, state: UploadState) {
  const { name, type } = fileOf(part, state)
  const { args, asset } = await call<LeaseReply>(context, '/api/media/asset.json', {
    method: 'POST',
    form: { filepath: name, mimetype: type },
  })
  const fields = Object.fromEntries(args.fields.map((field) => [field.name, field.value]))
  const url = args.action.startsWith('//') ? `https:${args.action}` : args.action
  return { ...state, step: 'upload' as const, lease: { url, fields, assetId: asset.asset_id } }
}

/** Uploads the next file to its place. Repeating it writes the same file again. */
export async function upload(context: PublishContext, part: PublishPart, state: UploadState) {
  const { assets, expired = 0, lease: place } = state
  if (place === undefined) throw new TypeError('there is no lease')
  const { body, name, type } = fileOf(part, state)
  const file: FilePart = { field: 'file', filename: name, type, body: await body(context) }
  const reply = await context.http.send({
    method: 'POST',
    url: place.url,
    ...multipart(place.fields, [file]),
    timeoutMs: UPLOAD_TIMEOUT_MS,
    signal: context.signal,
    circuit: 'storage',
    // Errors of the storage are XML.
    expect: [400, 403, 413],
  })
  // The signature of a lease expires, for example while the server was down.
  if (reply.status === 403 && expired < MAX_EXPIRED) {
    return { step: 'lease' as const, assets, expired: expired + 1 }
  }
  if (reply.status >= 400) {
    const text = reply.bytes.toString('utf8')
    throw new PlatformError('media_processing', TITLE, {
      code: /<Code>(\w+)<\/Code>/.exec(text)?.[1] ?? String(reply.status),
      detail: /<Message>([^<]+)<\/Message>/.exec(text)?.[1] ?? 'The storage of Reddit refused the file.',
      httpStatus: reply.status,
      mayHaveHappened: false,
    })
  }
  const done = [...assets, { id: place.assetId, url: `${place.url}/${place.fields['key']}` }]
  return { step: done.length < countOf(part) ? ('lease' as const) : ('submit' as const), assets: done }
}

/** A video needs a poster beside it. */
function countOf({ media }: PublishPart): number {
  return media[0]?.kind === 'video' ? 2 : media.length
}

function fileOf({ media }: PublishPart, { assets }: UploadState) {
  const file = media[assets.length]
  if (file === undefined) {
    return {
      name: 'poster.png',
      type: 'image/png',
      body: () => Promise.resolve({ stream: Readable.from([POSTER]), size: POSTER.length }),
    }
  }
  const { bytes, id, name, type } = file
  return { name, type, body: (context: PublishContext) => context.media.read(id, 0, bytes) }
}

/** The picture that a video shows while it loads: black, because Reddit requires one. */
const POSTER = blackImage(640, 360)

/** A black PNG in shades of gray (PNG specification, third edition). */
function blackImage(width: number, height: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.writeUInt8(8, 8)
  // Each row has one byte for the filter.
  const pixels = deflateSync(Buffer.alloc((width + 1) * height))
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const size = Buffer.alloc(4)
  size.writeUInt32BE(data.length)
  const check = Buffer.alloc(4)
  check.writeUInt32BE(crc32(named))
  return Buffer.concat([size, named, check])
}
