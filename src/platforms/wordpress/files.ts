import type { PostMedia } from '../content.ts'

/** The endings of names by type. WordPress judges a file by the ending of its name (wp_get_mime_types(), 6.1, 2026-11). */
const ENDINGS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  'image/jpeg': ['jpg', 'jpeg', 'jpe'],
  'image/png': ['png'],
  'image/gif': ['gif'],
  'image/webp': ['webp'],
  'image/bmp': ['bmp'],
  'video/mp4': ['mp4', 'm4v'],
  'video/webm': ['webm'],
  'video/ogg': ['ogv'],
  'video/quicktime': ['mov', 'qt'],
  'video/x-msvideo': ['avi'],
  'video/matroska': ['mkv'],
  'video/x-matroska': ['mkv'],
  'video/mpeg': ['mpeg', 'mpg'],
  'video/3gpp': ['3gp'],
  'application/pdf': ['pdf'],
  'text/plain': ['txt'],
  'text/csv': ['csv'],
  'application/rtf': ['rtf'],
  'application/msword': ['doc'],
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': ['docx'],
  'application/vnd.ms-excel': ['xls'],
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': ['xlsx'],
  'application/vnd.ms-powerpoint': ['ppt'],
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': ['pptx'],
  'application/vnd.oasis.opendocument.text': ['odt'],
}

/** The name of a file with an ending that fits its type. */
export function fileName({ name, type }: Pick<PostMedia, 'name' | 'type'>): string {
  const endings = ENDINGS[type]
  const [, base = name, ending = ''] = /^(.*)\.([^.]+)$/.exec(name) ?? []
  if (endings === undefined || endings.includes(ending.toLowerCase())) return name
  return `${base === '' ? 'file' : base}.${endings[0]}`
}
