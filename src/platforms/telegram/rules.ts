import type { Rule } from '../rules/rule.ts'

const API = {
  source: 'core.telegram.org/bots/api, as in @grammyjs/types 5.0.0',
  seen: '2026-11',
  confidence: 'read',
} as const
const FAQ = { source: 'core.telegram.org/bots/faq', seen: '2026-11', confidence: 'read' } as const
/**
 * `utf8_length` in td/telegram/MessageContent.cpp counts code points; github.com/FerroxLabs/wayland/issues/934 measured
 * the same at the real server. Only the offsets of entities are in UTF-16.
 */
const TDLIB = { source: 'github.com/tdlib/td, MessageContent.cpp', seen: '2026-11', confidence: 'read' } as const
/** Telegram's own servers check captions. Reports say UTF-16 units, which is the stricter reading. */
const CAPTION = { source: 'core.telegram.org/bots/api#sendphoto', seen: '2026-11', confidence: 'reported' } as const
const OWN_SERVER = '2 GB with an own Bot API server in local mode.'
const MB = 1_000_000

export const rules: readonly Rule[] = [
  { id: 'text.max', value: 4_096, counting: 'characters', ...TDLIB, note: 'Markup does not count.' },
  { id: 'caption.max', value: 1_024, counting: 'utf16', ...CAPTION, note: 'Markup does not count.' },
  {
    id: 'comment.max',
    value: 4_096,
    counting: 'characters',
    ...TDLIB,
    note: 'A comment is a reply in a group. Bots cannot comment on posts of channels.',
  },
  {
    id: 'link.inText',
    value: 1,
    ...API,
    note: 'A message has no field for a link. Without files, Telegram shows a preview of the first one by itself.',
  },
  { id: 'thread.max', value: 25, ...API, note: 'Parts are replies to the first message.' },
  { id: 'media.max', value: 10, ...API },
  { id: 'media.mixed', value: 1, ...API, note: 'Albums mix photos and videos.' },
  { id: 'image.max', value: 10, ...API },
  {
    id: 'image.maxBytes',
    value: 10_485_760,
    source: 'github.com/tdlib/td, FileManager.cpp',
    seen: '2026-11',
    confidence: 'read',
  },
  { id: 'image.maxSides', value: 10_000, ...API },
  {
    id: 'image.types',
    value: ['image/jpeg', 'image/png', 'image/webp', 'image/gif'],
    ...API,
    confidence: 'reported',
    note: 'The page names no types.',
  },
  { id: 'image.minRatio', value: 0.05, ...API, note: 'Width and height differ by at most a factor of 20.' },
  { id: 'image.maxRatio', value: 20, ...API },
  { id: 'gif.max', value: 1, ...API },
  { id: 'gif.mixed', value: 0, ...API, note: 'Albums take no animations.' },
  { id: 'gif.maxBytes', value: 50 * MB, ...API, note: OWN_SERVER },
  { id: 'video.max', value: 10, ...API },
  { id: 'video.maxBytes', value: 50 * MB, ...API, note: OWN_SERVER },
  { id: 'video.types', value: ['video/mp4'], ...API, effect: 'sends the video as a file to download' },
  { id: 'document.max', value: 10, ...API },
  { id: 'document.maxBytes', value: 50 * MB, ...API, note: OWN_SERVER },
  { id: 'poll.maxOptions', value: 12, ...API },
  { id: 'poll.optionMax', value: 100, counting: 'characters', ...API },
  { id: 'poll.questionMax', value: 300, counting: 'characters', ...API },
  { id: 'poll.maxMinutes', value: 43_800, ...API },
  { id: 'poll.withMedia', value: 0, ...API, note: 'Telegram takes a file beside a poll. Crier sends none.' },
  { id: 'posts.perHour', value: 1_200, ...FAQ, note: '20 messages a minute in one group.' },
]
