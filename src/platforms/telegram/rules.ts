import type { Rule } from '../rules/rule.ts'

const API = { source: 'core.telegram.org/bots/api', seen: '2026-11', confidence: 'read' } as const
const FAQ = { source: 'core.telegram.org/bots/faq', seen: '2026-11', confidence: 'read' } as const
const MB = 1_000_000

export const rules: readonly Rule[] = [
  { id: 'text.max', value: 4_096, counting: 'utf16', ...API, note: 'After the parsing of entities.' },
  { id: 'caption.max', value: 1_024, counting: 'utf16', ...API },
  { id: 'thread.max', value: 25, ...API, note: 'Parts are replies to the first message.' },
  { id: 'media.max', value: 10, ...API },
  { id: 'media.mixed', value: 1, ...API, note: 'Albums mix photos and videos.' },
  { id: 'image.max', value: 10, ...API },
  { id: 'image.maxBytes', value: 10 * MB, ...API },
  { id: 'image.types', value: ['image/jpeg', 'image/png', 'image/webp', 'image/gif'], ...API },
  { id: 'image.minRatio', value: 0.05, ...API, note: 'Width and height differ by at most a factor of 20.' },
  { id: 'image.maxRatio', value: 20, ...API },
  { id: 'video.max', value: 10, ...API },
  { id: 'video.maxBytes', value: 50 * MB, ...API, note: '2 GB with an own Bot API server.' },
  { id: 'video.types', value: ['video/mp4'], ...API },
  { id: 'document.max', value: 10, ...API },
  { id: 'document.maxBytes', value: 50 * MB, ...API },
  { id: 'posts.perHour', value: 1_200, ...FAQ, note: '20 messages a minute in one group.' },
]
