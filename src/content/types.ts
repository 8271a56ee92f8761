/** The file types that are accepted. */

export type Kind = 'image' | 'video' | 'audio' | 'document'
export const KINDS = ['image', 'video', 'audio', 'document'] as const

export interface AcceptedType {
  readonly kind: Kind
  readonly title: string
  /** The most common extension is first. */
  readonly extensions: readonly string[]
}

const type = (kind: Kind, title: string, ...extensions: string[]): AcceptedType => ({ kind, title, extensions })

export const ACCEPTED: Readonly<Record<string, AcceptedType>> = {
  'image/jpeg': type('image', 'JPEG image', 'jpg', 'jpeg', 'jpe', 'jfif'),
  'image/png': type('image', 'PNG image', 'png', 'apng'),
  'image/gif': type('image', 'GIF image', 'gif'),
  'image/webp': type('image', 'WebP image', 'webp'),
  'image/heic': type('image', 'HEIC image', 'heic', 'heif'),
  'image/heif': type('image', 'HEIF image', 'heif', 'heic'),
  'image/avif': type('image', 'AVIF image', 'avif'),
  'image/svg+xml': type('image', 'SVG image', 'svg'),
  'video/mp4': type('video', 'MP4 video', 'mp4', 'm4v'),
  'video/quicktime': type('video', 'QuickTime video', 'mov', 'qt'),
  'video/webm': type('video', 'WebM video', 'webm'),
  'video/matroska': type('video', 'Matroska video', 'mkv'),
  'audio/mpeg': type('audio', 'MP3 audio file', 'mp3'),
  'audio/mp4': type('audio', 'MPEG-4 audio file', 'm4a', 'mp4'),
  'audio/wav': type('audio', 'WAV audio file', 'wav'),
  'audio/ogg': type('audio', 'Ogg audio file', 'ogg', 'oga', 'opus'),
  'audio/flac': type('audio', 'FLAC audio file', 'flac'),
  'audio/aac': type('audio', 'AAC audio file', 'aac'),
  'application/pdf': type('document', 'PDF document', 'pdf'),
}

const GROUPS = { image: 'images', video: 'videos', audio: 'audio files', document: 'documents' } as const

/** The accepted types in words, such as “images (JPEG, PNG)”. */
export const ACCEPTED_IN_WORDS = KINDS.map((kind) => {
  const titles = Object.values(ACCEPTED).filter((one) => one.kind === kind)
  return `${GROUPS[kind]} (${titles.map(({ title }) => title.split(' ', 1)[0]).join(', ')})`
}).join(', ')

/** Aliases of the accepted types. */
const ALIASES: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'image/apng': 'image/png',
  'image/heic-sequence': 'image/heic',
  'image/heif-sequence': 'image/heif',
  'video/x-m4v': 'video/mp4',
  'video/x-matroska': 'video/matroska',
  'audio/x-m4a': 'audio/mp4',
  'audio/m4a': 'audio/mp4',
  'audio/mp3': 'audio/mpeg',
  'audio/wave': 'audio/wav',
  'audio/vnd.wave': 'audio/wav',
  'audio/x-wav': 'audio/wav',
  'audio/opus': 'audio/ogg',
  'audio/x-flac': 'audio/flac',
}

/** The canonical name of a media type, without parameters. */
export function canonicalType(type: string): string {
  const bare = (type.split(';')[0] ?? '').trim().toLowerCase()
  return ALIASES[bare] ?? bare
}

/** File extensions that name a type. Other text after a dot is part of the file's name. */
const KNOWN_EXTENSIONS = new Set([
  ...Object.values(ACCEPTED).flatMap(({ extensions }) => extensions),
  ...'bat cmd com exe htm html hta jar js mjs msi php phar ps1 py rb scr sh svgz swf vbs wasm xhtml xml zip'.split(' '),
])

/** Whether a file name has the extension of another type. */
export function extensionContradicts(name: string, type: string): boolean {
  const extension = /\.([a-z0-9]{1,5})$/i.exec(name)?.[1]?.toLowerCase()
  if (extension === undefined || !KNOWN_EXTENSIONS.has(extension)) return false
  return !(ACCEPTED[type]?.extensions ?? []).includes(extension)
}

/** Whether files of a media type are processed with ffmpeg. */
export const needsFfmpeg = (type: string): boolean => /^(video|audio)\//.test(type)
