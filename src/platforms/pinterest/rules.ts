import type { Rule } from '../rules/rule.ts'

const PINS = {
  source: 'Pinterest’s OpenAPI description 5.23.0, Create Pin',
  seen: '2026-03',
  confidence: 'read',
} as const
const SPECS = {
  source: 'help.pinterest.com, Review Pin specs',
  seen: '2026-11',
  confidence: 'vendor',
} as const
const MB = 1_000_000
const GB = 1_000 * MB

export const rules: readonly Rule[] = [
  { id: 'text.max', value: 800, counting: 'characters', ...PINS, note: 'The description.' },
  { id: 'title.max', value: 100, counting: 'characters', ...PINS },
  { id: 'link.max', value: 2_048, counting: 'characters', ...PINS },
  {
    id: 'alt.max',
    value: 500,
    counting: 'characters',
    ...PINS,
    note: 'A Pin has one alt text: that of the first file.',
  },
  { id: 'thread.max', value: 1, ...PINS },
  { id: 'media.required', value: 1, ...PINS },
  { id: 'media.max', value: 5, ...PINS },
  { id: 'media.mixed', value: 0, ...PINS },
  { id: 'image.max', value: 5, ...PINS, note: 'Images of one Pin should have the same size.' },
  { id: 'image.min', value: 2, ...PINS },
  { id: 'image.maxBytes', value: 20 * MB, ...SPECS },
  { id: 'image.types', value: ['image/jpeg', 'image/png', 'image/webp'], ...SPECS },
  { id: 'gif.max', value: 1, ...SPECS },
  { id: 'gif.maxBytes', value: 20 * MB, ...SPECS },
  { id: 'video.max', value: 1, ...PINS },
  { id: 'video.maxBytes', value: 2 * GB, ...SPECS },
  { id: 'video.minSeconds', value: 4, ...SPECS },
  { id: 'video.maxSeconds', value: 900, ...SPECS },
  { id: 'video.types', value: ['video/mp4', 'video/quicktime'], ...SPECS },
  { id: 'document.max', value: 0, ...PINS },
]
