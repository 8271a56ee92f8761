import { PlatformError } from '../error-kinds.ts'
import { isSameText, textOfHtml } from '../fingerprint.ts'
import { multipart } from '../http/multipart.ts'
import type { PlatformRequest } from '../http/platform-http.ts'
import type { AccountContext } from '../platform.ts'
import { pollMinutes, pollOf, withoutPoll } from '../polls.ts'
import type {
  Insights,
  PublishContext,
  Publishing,
  PublishPart,
  PublishState,
  RemotePost,
  StepResult,
} from '../publishing.ts'
import { serverOf, softwareOf } from './server.ts'

/**
 * Uploads one file per step, waits until all are processed, asks the server for its software, then publishes with an
 * Idempotency-Key.
 */
interface State extends PublishState {
  readonly step: 'upload' | 'process' | 'software' | 'publish'
  /** Ids of the uploaded files. */
  readonly media: readonly string[]
  /** Whether the server is known to keep Idempotency-Keys. Others may make a second status of a repeated call. */
  readonly keepsKey: boolean
}

export interface Status {
  readonly id: string
  readonly url: string | null
  readonly content: string
  readonly created_at: string
  readonly in_reply_to_id: string | null
  readonly favourites_count?: number
  readonly reblogs_count?: number
  readonly replies_count?: number
  readonly media_attachments?: readonly { readonly id: string; readonly preview_url?: string | null }[]
  readonly spoiler_text?: string
  readonly sensitive?: boolean
  readonly language?: string | null
  readonly poll?: {
    readonly options: readonly { readonly title: string }[]
    readonly expires_at: string | null
    readonly multiple: boolean
  } | null
}

const POLL_MS = 2_000
const UPLOAD_TIMEOUT_MS = 120_000
/** Clock tolerance in milliseconds: the server's time of a call can be this much earlier than ours. */
const CLOCK_SKEW_MS = 120_000
/**
 * Software, by its name in NodeInfo, that keeps Idempotency-Keys (app/services/post_status_service.rb of Mastodon and its
 * forks since 1.3, 2026-11). Pixelfed and older versions of GoToSocial ignore them, so others are asked for the status.
 */
const KEEPS_KEYS: readonly string[] = ['mastodon', 'hometown']
/**
 * Mastodon remembers an Idempotency-Key for an hour. The value is lower, because the call takes time and clocks differ.
 */
const KEY_LIFE_MS = 50 * 60_000

/** Publishing to Mastodon (docs.joinmastodon.org/methods/statuses, /methods/media, 2026-11). */
export const publishing: Publishing = {
  repeatable: (state) => (state as State).keepsKey,
  repeatableMs: KEY_LIFE_MS,
  start: ({ media }): State => ({ step: media.length > 0 ? 'upload' : 'software', media: [], keepsKey: false }),
  // Servers keep files that no status has for at least an hour.
  preparation: { lifeMs: 3_600_000, texts: true, replies: true },
  commits: ({ step }) => step === 'publish',
  step: (context, part, state) => {
    const known = state as State
    if (known.step === 'upload') return upload(context, part, known)
    if (known.step === 'process') return awaitProcessing(context, known)
    return known.step === 'software' ? askSoftware(context, known) : publish(context, part, known)
  },
  reconcile: async (context, part) => {
    const { text } = part
    const [, id = ''] = context.remoteId.split('/')
    const statuses = (await call(context, `/api/v1/accounts/${id}/statuses`, {
      query: { limit: 40, exclude_reblogs: true },
    })) as Status[]
    const found = statuses.find(
      (status) =>
        isSameText(text, textOfHtml(status.content)) &&
        Date.parse(status.created_at) >= part.createdAt - CLOCK_SKEW_MS &&
        status.in_reply_to_id === (part.parent?.id ?? null),
    )
    return found === undefined ? { kind: 'absent' } : { kind: 'published', post: postOf(found) }
  },
  remove: async (context, { id }) => {
    await call(context, `/api/v1/statuses/${id}`, { method: 'DELETE', expect: [404] })
  },
  edit,
  insights: async (context, { id }) => {
    return insightsOf((await call(context, `/api/v1/statuses/${id}`)) as Status)
  },
}

export function insightsOf(status: Status): Insights {
  return {
    likes: status.favourites_count ?? 0,
    shares: status.reblogs_count ?? 0,
    comments: status.replies_count ?? 0,
  }
}

async function upload(context: PublishContext, { media }: PublishPart, state: State): Promise<StepResult> {
  const { media: ids } = state
  const file = media[ids.length]
  if (file === undefined) return { kind: 'next', state: { ...state, step: 'process' } }
  const { altText, bytes, id, name, type } = file
  const form = multipart({ description: altText }, [
    { field: 'file', filename: name, type, body: await context.media.read(id, 0, bytes) },
  ])
  const uploaded = (await call(context, '/api/v2/media', {
    method: 'POST',
    ...form,
    timeoutMs: UPLOAD_TIMEOUT_MS,
  })) as { id: string }
  return { kind: 'next', state: { ...state, media: [...ids, uploaded.id] } }
}

async function awaitProcessing(context: PublishContext, state: State): Promise<StepResult> {
  for (const id of state.media) {
    const { status } = await send(context, `/api/v1/media/${id}`)
    if (status === 206) return { kind: 'next', state, waitMs: POLL_MS }
  }
  return { kind: 'next', state: { ...state, step: 'software' } }
}

async function askSoftware(context: PublishContext, state: State): Promise<StepResult> {
  const software = await softwareOf(context, serverOf(context, context.credential.server ?? ''))
  return { kind: 'next', state: { ...state, step: 'publish', keepsKey: KEEPS_KEYS.includes(software ?? '') } }
}

async function publish(context: PublishContext, part: PublishPart, { media }: State): Promise<StepResult> {
  const { key, options, parent, text } = part
  const status = (await call(context, '/api/v1/statuses', {
    method: 'POST',
    headers: { 'Idempotency-Key': key },
    json: {
      status: text,
      ...(media.length > 0 && { media_ids: media }),
      ...(parent && { in_reply_to_id: parent.id }),
      ...withoutPoll(options),
      ...pollIn(part),
    },
  })) as Status
  return { kind: 'published', post: postOf(status) }
}

/** The poll of a post. Replies have none. */
function pollIn({ options, role }: PublishPart) {
  const poll = role === 'post' ? pollOf(options) : undefined
  if (poll === undefined) return {}
  return { poll: { options: poll.options, expires_in: pollMinutes(poll) * 60, multiple: poll.multiple ?? false } }
}

/** The shortest poll, in seconds (app/validators/poll_expiration_validator.rb, 4.3). */
const SHORTEST_POLL = 300

/**
 * The poll that a status has, for the edit that would remove it. It ends when it would have, unless it would end within
 * the next minutes. @throws PlatformError unsupported when it has ended, because an edit would open it again
 */
function keptPoll({ poll }: Status, now: number) {
  if (poll === undefined || poll === null) return {}
  const { expires_at: end, multiple, options } = poll
  const seconds = end === null ? SHORTEST_POLL : Math.ceil((Date.parse(end) - now) / 1_000)
  if (seconds <= 0) {
    const detail = 'The poll has ended, and Mastodon would open it again.'
    throw new PlatformError('unsupported', 'Mastodon', { code: 'poll_ended', detail, mayHaveHappened: false })
  }
  const titles = options.map(({ title }) => title)
  return { poll: { options: titles, expires_in: Math.max(SHORTEST_POLL, seconds), multiple } }
}

/** What an edit does not name is removed: files, poll, warning, language (app/services/update_status_service.rb, 4.3). */
async function edit(context: AccountContext, { id }: RemotePost, { options, text }: PublishPart): Promise<RemotePost> {
  const path = `/api/v1/statuses/${id}`
  const status = (await call(context, path)) as Status
  const { language, media_attachments: media = [], sensitive, spoiler_text: warning } = status
  const { language: newLanguage, sensitive: newSensitive, spoiler_text: newWarning } = options
  const json = {
    status: text,
    media_ids: media.map((file) => file.id),
    spoiler_text: newWarning ?? warning,
    sensitive: newSensitive ?? sensitive,
    language: newLanguage ?? language,
    ...keptPoll(status, context.clock.now()),
  }
  return postOf((await call(context, path, { method: 'PUT', json })) as Status)
}

export function postOf({ id, url }: Status): RemotePost {
  return { id, url }
}

type CallOptions = Omit<PlatformRequest, 'url'>

function send({ credential, http, settings, signal }: AccountContext, path: string, options: CallOptions = {}) {
  if (credential.accessToken === undefined) throw new PlatformError('auth_expired', 'Mastodon')
  const server = serverOf({ settings }, credential.server ?? '')
  return http.send({
    ...options,
    url: `${server.url}${path}`,
    headers: { Authorization: `Bearer ${credential.accessToken}`, ...options.headers },
    userHost: server.userHost,
    signal,
  })
}

/** Calls the API of the account's server. @throws PlatformError */
export async function call(context: AccountContext, path: string, options?: CallOptions): Promise<unknown> {
  return (await send(context, path, options)).json
}
