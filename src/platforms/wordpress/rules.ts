import type { Rule } from '../rules/rule.ts'

const SCHEMA = {
  source: 'WordPress 6.1, wp-admin/includes/schema.php',
  seen: '2026-11',
  confidence: 'read',
} as const
const REST = {
  source: 'developer.wordpress.org, REST API reference, Posts, Media and Comments',
  seen: '2026-11',
  confidence: 'read',
} as const
const TYPES = {
  source: 'WordPress 6.1, wp_get_mime_types()',
  seen: '2026-11',
  confidence: 'read',
} as const
const SIZE =
  'The web server of the site limits the size of files, and WordPress does not tell its limit. After a refusal, Crier assumes for a week that larger files are refused too.'

/** WordPress has no limit for the text, the number of files and their sizes. */
export const rules: readonly Rule[] = [
  { id: 'title.max', value: 65_535, counting: 'bytes', ...SCHEMA, note: 'As HTML, so `&` counts as `&amp;`.' },
  { id: 'comment.max', value: 65_525, counting: 'bytes', ...SCHEMA },
  {
    id: 'link.max',
    value: 2_000,
    counting: 'characters',
    ...REST,
    note: 'Added below the text. The limit is that of Crier.',
  },
  {
    id: 'tags.max',
    value: 5_000,
    counting: 'characters',
    ...REST,
    note: 'A tag has at most 200 characters. The limit of all is that of Crier.',
  },
  { id: 'thread.max', value: 1, ...REST, note: 'Publish one longer post.' },
  { id: 'media.mixed', value: 1, ...REST },
  { id: 'document.mixed', value: 1, ...REST },
  {
    id: 'image.types',
    value: ['image/jpeg', 'image/png', 'image/gif', 'image/webp', 'image/bmp'],
    ...TYPES,
    note: SIZE,
  },
  {
    id: 'video.types',
    value: ['video/mp4', 'video/webm', 'video/ogg', 'video/quicktime'],
    ...TYPES,
    effect: 'stores the file, which browsers may not play',
    note: SIZE,
  },
  {
    id: 'document.types',
    value: [
      'application/pdf',
      'text/plain',
      'text/csv',
      'application/rtf',
      'application/msword',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      'application/vnd.ms-excel',
      'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
      'application/vnd.ms-powerpoint',
      'application/vnd.openxmlformats-officedocument.presentationml.presentation',
      'application/vnd.oasis.opendocument.text',
    ],
    ...TYPES,
    note: SIZE,
  },
]
