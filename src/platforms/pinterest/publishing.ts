import { PlatformError } from '../error-kinds.ts'
import { isSameText } from '../fingerprint.ts'
import { multipart } from '../http/multipart.ts'
import type { AccountContext } from '../platform.ts'
import type {
  PublishContext,
  Publishing,
  PublishPart,
  PublishState,
  Reconciled,
  RemotePost,
  StepResult,
} from '../publishing.ts'
import { call, TITLE } from './api.ts'

/** Images: `pin`. A video: `register`, `upload` to Pinterest’s storage, `process`, `pin`. */
interface State extends PublishState {
  readonly step: 'register' | 'upload' | 'process' | 'pin'
  readonly mediaId?: string
  readonly uploadUrl?: string
  /** The fields of the form, which authorize the upload. */
  readonly fields?: Readonly<Record<string, string>>
}

interface Pin {
  readonly id: string
  readonly title?: string | null
  readonly description?: string | null
  readonly link?: string | null
  /** In UTC, without saying so. */
  readonly created_at?: string
  readonly pin_metrics?: { readonly lifetime_metrics?: Readonly<Record<string, number | undefined>> } | null
}

interface Media {
  readonly media_id: string
  readonly status?: 'registered' | 'processing' | 'succeeded' | 'failed'
  readonly failure_code?: string
  readonly upload_url?: string
  readonly upload_parameters?: Readonly<Record<string, string>>
}

const POLL_MS = 5_000
const UPLOAD_TIMEOUT_MS = 900_000
const CLOCK_SKEW_MS = 120_000

/** Publishing to Pinterest (developers.pinterest.com, Creating boards and Pins, 2026-11). */
export const publishing: Publishing = {
  repeatable: false,
  start: ({ media }): State => ({ step: media[0]?.kind === 'video' ? 'register' : 'pin' }),
  // Nothing is documented.
  preparation: { lifeMs: 3_600_000 },
  commits: ({ step }) => step === 'pin',
  step: (context, part, state) => {
    const known = state as State
    check(part)
    if (known.step === 'register') return register(context)
    if (known.step === 'upload') return upload(context, part, known)
    return known.step === 'process' ? awaitProcessing(context, known) : publish(context, part, known)
  },
  reconcile: findPin,
  remove: async (context, { id }) => {
    await call(context, `/pins/${id}`, { method: 'DELETE', expect: [404] })
  },
  edits: ['text', 'title', 'link'],
  edit: async (context, post, { link, text, title }) => {
    await call(context, `/pins/${post.id}`, {
      method: 'PATCH',
      json: { description: text, ...(title !== undefined && { title }), ...(link !== undefined && { link }) },
    })
    return post
  },
  insights: async (context, { id }) => {
    const pin = (await call(context, `/pins/${id}`, { query: { pin_metrics: true } })) as Pin
    const figures = pin.pin_metrics?.lifetime_metrics ?? {}
    return {
      views: figures['impression'] ?? 0,
      likes: figures['reaction'] ?? 0,
      comments: figures['comment'] ?? 0,
      saves: figures['save'] ?? 0,
      clicks: figures['clickthrough'] ?? 0,
    }
  },
}

/** What Pinterest would refuse, or cannot do. @throws PlatformError */
function check({ media, options, role }: PublishPart): void {
  if (role !== 'post') throw refusal('unsupported', role, 'Pinterest has no threads, and no comments by its API.')
  if (media.length === 0) throw refusal('validation', 'media_required', 'A Pin needs images or a video.')
  const kinds = new Set(media.map(({ kind }) => kind))
  if (kinds.has('document') || (media.length > 1 && (kinds.size > 1 || !kinds.has('image')))) {
    throw refusal('validation', 'media', 'A Pin has one video, one animated image, or 1 to 5 images.')
  }
  if (typeof options['board_id'] !== 'string') throw refusal('validation', 'board_id', 'A Pin needs a board.')
}

async function register(context: PublishContext): Promise<StepResult> {
  const media = (await call(context, '/media', { method: 'POST', json: { media_type: 'video' } })) as Media
  const { media_id: mediaId, upload_parameters: fields = {}, upload_url: uploadUrl = '' } = media
  return { kind: 'next', state: { step: 'upload', mediaId, uploadUrl, fields } }
}

/** Sends the file in one form. Sending it again replaces it. */
async function upload(context: PublishContext, { media }: PublishPart, state: State): Promise<StepResult> {
  const { fields = {}, mediaId, uploadUrl = '' } = state
  const { bytes = 0, id = '', name = 'video', type = 'video/mp4' } = media[0] ?? {}
  const body = await context.media.read(id, 0, bytes)
  const { status } = await context.http.send({
    method: 'POST',
    url: uploadUrl,
    ...multipart(fields, [{ field: 'file', filename: name, type, body }]),
    secrets: Object.values(fields),
    timeoutMs: UPLOAD_TIMEOUT_MS,
    // The policy of the form has ended.
    expect: [403],
    signal: context.signal,
  })
  if (status === 403) return { kind: 'next', state: { step: 'register' } }
  return { kind: 'next', state: { step: 'process', mediaId } }
}

async function awaitProcessing(context: PublishContext, state: State): Promise<StepResult> {
  const { failure_code: code, status } = (await call(context, `/media/${state.mediaId}`)) as Media
  if (status === 'failed') {
    throw new PlatformError('media_processing', TITLE, {
      code: code ?? 'failed',
      detail: 'Pinterest could not process the video.',
      mayHaveHappened: false,
    })
  }
  if (status !== 'succeeded') return { kind: 'next', state, waitMs: POLL_MS }
  return { kind: 'next', state: { ...state, step: 'pin' } }
}

async function publish(context: PublishContext, part: PublishPart, state: State): Promise<StepResult> {
  const { link, media, options, text, title } = part
  const altText = media[0]?.altText
  const section = options['board_section_id']
  const pin = (await call(context, '/pins', {
    method: 'POST',
    json: {
      board_id: options['board_id'],
      ...(section !== undefined && { board_section_id: section }),
      ...(title !== undefined && { title }),
      description: text,
      ...(link !== undefined && { link }),
      ...(altText !== undefined && { alt_text: altText }),
      media_source: await sourceOf(context, part, state),
    },
  })) as Pin
  return { kind: 'published', post: postOf(pin) }
}

async function sourceOf(context: PublishContext, { media, options }: PublishPart, { mediaId }: State) {
  if (mediaId !== undefined) {
    const { cover_image_key_frame_time: second = 0, cover_image_url: url } = options
    const cover = url === undefined ? { cover_image_key_frame_time: second } : { cover_image_url: url }
    return { source_type: 'video_id', media_id: mediaId, ...cover }
  }
  const urls = await Promise.all(media.map(({ id }) => context.media.publicUrl(id)))
  return urls.length === 1
    ? { source_type: 'image_url', url: urls[0] }
    : { source_type: 'multiple_image_urls', items: urls.map((url) => ({ url })) }
}

/** Looks for the Pin among the newest ones of its board. */
async function findPin(context: AccountContext, part: PublishPart): Promise<Reconciled> {
  const { createdAt, link = '', options, text, title = '' } = part
  if (text.trim() === '' && title.trim() === '' && link === '') {
    return { kind: 'unknown', reason: 'Pins without title, description and link cannot be told apart.' }
  }
  const page = await call(context, `/boards/${String(options['board_id'])}/pins`, { query: { page_size: 100 } })
  const found = ((page as { items?: readonly Pin[] }).items ?? []).find(
    (pin) =>
      timeOf(pin.created_at) >= createdAt - CLOCK_SKEW_MS &&
      isSameText(text, pin.description ?? '') &&
      isSameText(title, pin.title ?? '') &&
      (link === '' || pin.link === link),
  )
  return found === undefined ? { kind: 'absent' } : { kind: 'published', post: postOf(found) }
}

/** Without a zone, JavaScript would read a local time. */
function timeOf(text = ''): number {
  return Date.parse(/Z|[+-]\d\d:?\d\d$/.test(text) ? text : `${text}Z`)
}

function postOf({ id }: Pin): RemotePost {
  return { id, url: `https://www.pinterest.com/pin/${id}/` }
}

function refusal(kind: 'unsupported' | 'validation', code: string, detail: string): PlatformError {
  return new PlatformError(kind, TITLE, { code, detail, mayHaveHappened: false })
}
