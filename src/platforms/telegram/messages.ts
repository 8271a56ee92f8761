import { escapeText } from '../../tools/html.ts'
import { textWithLink, type PostMedia } from '../content.ts'
import { PlatformError } from '../error-kinds.ts'
import type { FilePart } from '../http/multipart.ts'
import { pollOf } from '../polls.ts'
import type { MediaSource, PublishPart } from '../publishing.ts'
import { TITLE, type Params } from './call.ts'

/** The call that sends one part. */
export interface Sending {
  readonly method: string
  readonly params: Params
  readonly files: ((source: MediaSource) => Promise<readonly FilePart[]>) | undefined
}

const METHODS = {
  image: ['sendPhoto', 'photo'],
  gif: ['sendAnimation', 'animation'],
  video: ['sendVideo', 'video'],
  document: ['sendDocument', 'document'],
} as const
const FEWEST_IN_ALBUM = 2

/** The call for a part (core.telegram.org/bots/api#available-methods, 2026-11). @throws PlatformError validation */
export function sendingOf(part: PublishPart, chat: string): Sending {
  const { media, options, parent } = part
  const common = {
    chat_id: chat,
    message_thread_id: options['message_thread_id'],
    disable_notification: options['disable_notification'],
    protect_content: options['protect_content'],
    ...(parent && { reply_parameters: { message_id: Number(parent.id) } }),
  }
  const [only] = media
  const poll = part.role === 'post' ? pollOf(options) : undefined
  if (poll !== undefined) {
    if (only !== undefined) throw refusal('poll', 'Crier sends no files beside a poll at Telegram.')
    const { durationMinutes, multiple, options: answers } = poll
    const params = {
      ...common,
      // Markup is not read here, so the link is not escaped either.
      question: textWithLink(part),
      options: answers.map((text) => ({ text })),
      allows_multiple_answers: multiple,
      ...(durationMinutes !== undefined && { open_period: durationMinutes * 60 }),
    }
    return { method: 'sendPoll', params, files: undefined }
  }
  if (only === undefined) {
    const params = { ...common, ...textOf(part), link_preview_options: options['link_preview_options'] }
    return { method: 'sendMessage', params, files: undefined }
  }
  if (media.length < FEWEST_IN_ALBUM) {
    const [method, field] = METHODS[only.kind]
    return {
      method,
      params: { ...common, ...captionOf(part, only), ...factsOf(only) },
      files: async (source) => [await fileOf(source, only, field)],
    }
  }
  requireAlbum(media)
  // Each document shows its own caption, so the text of several stands below the last one.
  const captioned = isDocument(only) ? media.length - 1 : 0
  const items = media.map((file, index) => ({
    type: METHODS[file.kind][1],
    media: `attach://file${index}`,
    ...(index === captioned && captionOf(part, file)),
    ...shownAs(part, file),
    ...factsOf(file),
  }))
  return {
    method: 'sendMediaGroup',
    params: { ...common, media: items },
    files: (source) => Promise.all(media.map((file, index) => fileOf(source, file, `file${index}`))),
  }
}

/** The position of the message of an album that has the text. */
export function captionedAt(media: readonly PostMedia[]): number {
  return media.length >= FEWEST_IN_ALBUM && media.every(isDocument) ? media.length - 1 : 0
}

/** The text of a message, or its new text. */
export function textOf(part: PublishPart): Params {
  return { text: markedText(part), parse_mode: part.options['parse_mode'] }
}

/** The text beside a file, or its new text. */
export function captionOf(part: PublishPart, file?: PostMedia): Params {
  return {
    // Without a caption, an edit removes the one that is there.
    caption: markedText(part) || undefined,
    parse_mode: part.options['parse_mode'],
    ...(file !== undefined && shownAs(part, file)),
  }
}

/** How photos, animations and videos are shown. Documents have no such settings. */
function shownAs({ options }: PublishPart, file: PostMedia): Params {
  if (isDocument(file)) return {}
  return { show_caption_above_media: options['show_caption_above_media'], has_spoiler: options['has_spoiler'] }
}

/** The text with its link, which must not be read as markup. */
function markedText({ link = '', options, text }: PublishPart): string {
  const mode = options['parse_mode']
  if (mode === 'HTML') return textWithLink({ text, link: escapeText(link) })
  // All characters that MarkdownV2 reserves (core.telegram.org/bots/api#markdownv2-style, 2026-11).
  if (mode === 'MarkdownV2')
    return textWithLink({ text, link: link.replaceAll(/[_*[\]()~`>#+\-=|{}.!\\]/g, String.raw`\$&`) })
  return textWithLink({ text, link })
}

function factsOf({ height, kind, seconds, width }: PostMedia): Params {
  if (kind !== 'video' && kind !== 'gif') return {}
  return {
    width,
    height,
    ...(seconds !== undefined && { duration: Math.round(seconds) }),
    ...(kind === 'video' && { supports_streaming: true }),
  }
}

async function fileOf(source: MediaSource, { bytes, id, name, type }: PostMedia, field: string): Promise<FilePart> {
  return { field, filename: name, type, body: await source.read(id, 0, bytes) }
}

function requireAlbum(media: readonly PostMedia[]): void {
  const documents = media.filter(isDocument).length
  const refused = media.some(({ kind }) => kind === 'gif')
    ? 'An animation cannot be sent together with other files.'
    : documents > 0 && documents < media.length
      ? 'Documents cannot be sent together with photos or videos.'
      : undefined
  if (refused !== undefined) throw refusal('album', refused)
}

function refusal(code: string, detail: string): PlatformError {
  return new PlatformError('validation', TITLE, { code, detail, mayHaveHappened: false })
}

function isDocument({ kind }: PostMedia): boolean {
  return kind === 'document'
}
