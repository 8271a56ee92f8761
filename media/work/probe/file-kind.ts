import { open } from 'node:fs/promises'
import { fileTypeFromFile } from 'file-type'
import { MediaWorkError } from '../errors.ts'

/** The type of a file by its content, and its decoder. */
export interface FileKind {
  readonly decoder: 'sharp' | 'heic' | 'svg' | 'ffmpeg' | 'pdf'
  readonly mime: string
  readonly bytes: number
}

const SHARP_TYPES: ReadonlySet<string> = new Set([
  'image/jpeg',
  'image/png',
  'image/apng',
  'image/webp',
  'image/avif',
  'image/gif',
])
const HEIC_TYPES: ReadonlySet<string> = new Set([
  'image/heic',
  'image/heif',
  'image/heic-sequence',
  'image/heif-sequence',
])
/** Media types, as named by file-type, of the containers that ffmpeg may open (see FORMATS in ffmpeg.ts). */
const FFMPEG_TYPES =
  /^(?:video\/(?:mp4|quicktime|x-m4v|webm|matroska|x-matroska|vnd\.avi|x-msvideo|x-flv|mpeg|mp2t|MP1S|MP2P|3gpp2?|ogg|x-ms-asf)|audio\/(?:mpeg|mp4|x-m4a|aac|ogg|opus|wav|vnd\.wave|x-wav|flac|x-flac|aiff|amr|matroska)|application\/(?:ogg|vnd\.ms-asf))(?:;|$)/i
const HEAD_BYTES = 4096

/**
 * Detects the type of a file from its first bytes. Its name does not matter.
 * @throws MediaWorkError `missing` or `unsupported`
 */
export async function fileKind(path: string): Promise<FileKind> {
  const { bytes, head } = await readHead(path)
  if (bytes === 0) throw new MediaWorkError('truncated', 'The file is empty.')
  if (isSvg(head)) return { decoder: 'svg', mime: 'image/svg+xml', bytes }
  const mime = (await fileTypeFromFile(path))?.mime
  if (mime === undefined) throw new MediaWorkError('unsupported', 'The file is not an image, video, audio file or PDF.')
  if (SHARP_TYPES.has(mime)) return { decoder: 'sharp', mime: mime === 'image/apng' ? 'image/png' : mime, bytes }
  if (HEIC_TYPES.has(mime)) return { decoder: 'heic', mime: 'image/heic', bytes }
  if (mime === 'application/pdf') return { decoder: 'pdf', mime, bytes }
  if (FFMPEG_TYPES.test(mime)) return { decoder: 'ffmpeg', mime: mime.split(';')[0] ?? mime, bytes }
  throw new MediaWorkError('unsupported', `Files of type ${mime} are not supported.`)
}

async function readHead(path: string): Promise<{ bytes: number; head: Buffer }> {
  await using file = await open(path)
  const stat = await file.stat()
  if (!stat.isFile()) throw new MediaWorkError('missing', 'The path is not a file.')
  const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
  return { bytes: stat.size, head: buffer.subarray(0, bytesRead) }
}

/** Whether the root element is svg, after an optional byte order mark, declaration, comments and document type. */
function isSvg(head: Buffer): boolean {
  const text = (head[1] === 0 ? head.toString('utf16le') : head.toString('utf8')).replace(/^\uFEFF/, '')
  const rest = text.replace(/^(?:\s+|<\?[^>]*\?>|<!--[^]*?-->|<!DOCTYPE[^>[]*(?:\[[^\]]*\]\s*)?>)+/i, '')
  return /^<(?:[a-z]+:)?svg[\s>/]/i.test(rest)
}
