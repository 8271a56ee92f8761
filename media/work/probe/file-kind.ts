import { open } from 'node:fs/promises'
import { fileTypeFromFile } from 'file-type'
import { MediaWorkError } from '../errors.ts'

/** How a file is worked on, by its content. `picture` is what sharp decodes; `timed` is for ffmpeg. */
export interface FileKind {
  readonly way: 'picture' | 'heic' | 'drawing' | 'timed' | 'pdf'
  readonly mime: string
  readonly bytes: number
}

const PICTURES: ReadonlySet<string> = new Set([
  'image/jpeg',
  'image/png',
  'image/apng',
  'image/webp',
  'image/avif',
  'image/gif',
])
const HEIC: ReadonlySet<string> = new Set(['image/heic', 'image/heif', 'image/heic-sequence', 'image/heif-sequence'])
/** What file-type says, for containers that ffmpeg is allowed to open (see FORMATS in ffmpeg.ts). */
const TIMED =
  /^(?:video\/(?:mp4|quicktime|x-m4v|webm|matroska|x-matroska|vnd\.avi|x-msvideo|x-flv|mpeg|mp2t|MP1S|MP2P|3gpp2?|ogg|x-ms-asf)|audio\/(?:mpeg|mp4|x-m4a|aac|ogg|opus|wav|vnd\.wave|x-wav|flac|x-flac|aiff|amr|matroska)|application\/(?:ogg|vnd\.ms-asf))(?:;|$)/i
const HEAD_BYTES = 4096

/**
 * Tells what a file is from its first bytes, its name aside.
 * @throws MediaWorkError `missing` or `unsupported`
 */
export async function fileKind(path: string): Promise<FileKind> {
  const { bytes, head } = await readHead(path)
  if (bytes === 0) throw new MediaWorkError('truncated', 'The file is empty.')
  if (isSvg(head)) return { way: 'drawing', mime: 'image/svg+xml', bytes }
  const mime = (await fileTypeFromFile(path))?.mime
  if (mime === undefined) throw new MediaWorkError('unsupported', 'It is no picture, video, sound or PDF.')
  if (PICTURES.has(mime)) return { way: 'picture', mime: mime === 'image/apng' ? 'image/png' : mime, bytes }
  if (HEIC.has(mime)) return { way: 'heic', mime: 'image/heic', bytes }
  if (mime === 'application/pdf') return { way: 'pdf', mime, bytes }
  if (TIMED.test(mime)) return { way: 'timed', mime: mime.split(';')[0] ?? mime, bytes }
  throw new MediaWorkError('unsupported', `Files of type ${mime} are not worked on.`)
}

async function readHead(path: string): Promise<{ bytes: number; head: Buffer }> {
  await using file = await open(path)
  const stat = await file.stat()
  if (!stat.isFile()) throw new MediaWorkError('missing', 'It is not a file.')
  const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
  return { bytes: stat.size, head: buffer.subarray(0, bytesRead) }
}

/** The root element, after what may stand before it: byte order mark, declaration, comments, document type. */
function isSvg(head: Buffer): boolean {
  const text = (head[1] === 0 ? head.toString('utf16le') : head.toString('utf8')).replace(/^\uFEFF/, '')
  const rest = text.replace(/^(?:\s+|<\?[^>]*\?>|<!--[^]*?-->|<!DOCTYPE[^>[]*(?:\[[^\]]*\]\s*)?>)+/i, '')
  return /^<(?:[a-z]+:)?svg[\s>/]/i.test(rest)
}
