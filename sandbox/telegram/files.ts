import type { FakeRequest } from '../fake.ts'
import { imageSize, imageType } from '../image-size.ts'
import { mediaFacts } from '../media-facts.ts'
import { partsOf, type ReceivedPart } from '../multipart.ts'
import { Refusal, type FakeFile, type FakeState } from './state.ts'

type Field = FakeFile['field']

/** core.telegram.org/bots/api#sending-files and #sendphoto, 2026-11. */
const PHOTO_BYTES = 10 * 1_024 * 1_024
const FILE_BYTES = 50_000_000
const PHOTO_SIDES = 10_000
const PHOTO_RATIO = 20
const PHOTO_TYPES = /^image\/(?:jpeg|png|webp|gif)$/
const TYPES: Readonly<Record<string, string>> = {
  jpg: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
  gif: 'image/gif',
  mp4: 'video/mp4',
  pdf: 'application/pdf',
}
const ANY_TYPE = 'application/octet-stream'

/** The files of a request, and its parameters: of the address, of JSON, or of a form. */
export function inputOf({ body, bytes, headers, query }: FakeRequest) {
  const parts = partsOf(headers['content-type'], bytes)
  const fields = parts.filter(({ filename }) => filename === null)
  const params: Readonly<Record<string, unknown>> = {
    ...Object.fromEntries(query),
    ...body,
    ...Object.fromEntries(fields.map((part) => [part.name, part.bytes.toString('utf8')])),
  }
  return { params, uploads: parts.filter(({ filename }) => filename !== null) }
}

/**
 * The file that a parameter names: an upload in the field itself or by `attach://name`, or the id of a file that Telegram
 * has. @param missing the error for none of these
 */
export function fileOf(
  state: FakeState,
  uploads: readonly ReceivedPart[],
  { field, missing, value }: { field: Field; value: unknown; missing: string },
): FakeFile {
  const text = typeof value === 'string' ? value : ''
  const name = text.startsWith('attach://') ? text.slice('attach://'.length) : text === '' ? field : undefined
  if (name === undefined) {
    // Each size of a photo has an id of its own.
    const known = state.files[text] ?? state.files[text.replace(/-[a-z]$/, '')]
    if (/^https?:/.test(text)) throw new Refusal(400, 'Bad Request: failed to get HTTP URL content')
    if (known === undefined) throw new Refusal(400, 'Bad Request: wrong file identifier/HTTP URL specified')
    return known
  }
  const upload = uploads.find((one) => one.name === name)
  if (upload === undefined) throw new Refusal(400, missing)
  const file = received(state, field, upload)
  state.files[file.id] = file
  return file
}

function received(state: FakeState, field: Field, { bytes, filename, type: stated }: ReceivedPart): FakeFile {
  const size = bytes.length
  const type = typeOf(filename, stated) ?? imageType(bytes) ?? ANY_TYPE
  const { seconds = 0, ...facts } = mediaFacts(bytes)
  const { height = 0, width = 0 } = imageSize(bytes) ?? facts
  if (size === 0) throw new Refusal(400, 'Bad Request: file must be non-empty')
  if (size > FILE_BYTES) throw new Refusal(413, 'Request Entity Too Large')
  if (field === 'photo') {
    if (size > PHOTO_BYTES) {
      const most = `the maximum size is ${PHOTO_BYTES} bytes`
      throw new Refusal(400, `Bad Request: file of size ${size} bytes is too big for a photo; ${most}`)
    }
    if (!PHOTO_TYPES.test(type)) throw new Refusal(400, 'Bad Request: IMAGE_PROCESS_FAILED')
    const isLong = Math.max(width, height) > PHOTO_RATIO * Math.min(width, height)
    if (width + height > PHOTO_SIDES || isLong) throw new Refusal(400, 'Bad Request: PHOTO_INVALID_DIMENSIONS')
  }
  const id = `sandbox-file-${(state.next += 1)}`
  return {
    id,
    field,
    name: filename ?? '',
    type,
    bytes: size,
    width,
    height,
    seconds,
  }
}

/** Telegram looks into files. The fake believes the stated type or the name, and then looks for pictures. */
function typeOf(filename: string | null, stated: string | null): string | undefined {
  if (stated !== null && stated !== ANY_TYPE) return stated
  return TYPES[filename?.split('.').at(-1)?.toLowerCase() ?? '']
}

/** The part of a message that shows its file. */
export function fileView({ bytes, field, height, id, name, seconds, type, width }: FakeFile) {
  const file = { file_id: id, file_unique_id: `u${id}`, file_size: bytes }
  if (field === 'photo') return { photo: sizesOf(file, width, height) }
  const named = { ...file, file_name: name, mime_type: type }
  if (field === 'document') return { document: named }
  const moving = { ...named, width, height, duration: Math.round(seconds) }
  // Bots get an animation as a document too.
  return field === 'video' ? { video: moving } : { animation: moving, document: named }
}

/** Photos are kept in several sizes, by the longest side of each (core.telegram.org/api/files#image-thumbnail-types, 2026-11). */
const SIDES = [
  ['s', 90],
  ['m', 320],
  ['x', 800],
  ['y', 1_280],
  ['w', 2_560],
] as const
/** Of a picture whose header the fake cannot read. */
const UNKNOWN_SIDE = 90

/** The sizes of a photo, from the smallest. The last one has the id of the file. */
function sizesOf(file: { readonly file_id: string; readonly file_unique_id: string }, width: number, height: number) {
  const [wide, high] = width > 0 && height > 0 ? [width, height] : [UNKNOWN_SIDE, UNKNOWN_SIDE]
  const longest = Math.max(wide, high)
  const needed = SIDES.findIndex(([, side]) => side >= longest)
  const sizes = SIDES.slice(0, needed === -1 ? SIDES.length : needed + 1)
  return sizes.map(([letter, side], index) => {
    const share = Math.min(1, side / longest)
    const shape = { width: Math.max(1, Math.round(wide * share)), height: Math.max(1, Math.round(high * share)) }
    if (index === sizes.length - 1) return { ...file, ...shape }
    const { file_id: id, file_unique_id: unique } = file
    return { file_id: `${id}-${letter}`, file_unique_id: `${unique}${letter}`, ...shape }
  })
}
