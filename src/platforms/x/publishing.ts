import { PlatformError } from '../error-kinds.ts'
import { isSameText, textOfHtml } from '../fingerprint.ts'
import { multipart } from '../http/multipart.ts'
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
import { textWithLink, type PostMedia } from '../content.ts'
import { call, TITLE } from './call.ts'

/** Uploads one file after the other in pieces, waits until X has processed it, then publishes. */
interface State extends PublishState {
  readonly step: 'initialize' | 'append' | 'finalize' | 'process' | 'describe' | 'publish'
  /** Ids of the files that are ready. */
  readonly media: readonly string[]
  /** Id of the file that is being uploaded. */
  readonly upload?: string
  /** The next piece of that file. */
  readonly segment?: number
}

interface Processing {
  readonly state: 'pending' | 'in_progress' | 'succeeded' | 'failed'
  readonly check_after_secs?: number
  readonly error?: { readonly code?: number; readonly name?: string; readonly message?: string }
}

interface Upload {
  readonly data: { readonly id: string; readonly processing_info?: Processing }
}

export interface Post {
  readonly id: string
  readonly text: string
  readonly created_at?: string
  /** The whole text of a post of more than 280 characters. */
  readonly note_tweet?: { readonly text: string }
  readonly attachments?: { readonly media_keys?: readonly string[] }
  readonly referenced_tweets?: readonly { readonly type: string; readonly id: string }[]
  readonly public_metrics?: {
    readonly like_count: number
    readonly reply_count: number
    readonly retweet_count: number
    readonly quote_count: number
    readonly bookmark_count?: number
    readonly impression_count?: number
  }
}

/** X takes pieces of up to 5 MB. */
const PIECE_BYTES = 4 * 1_048_576
const PIECE_TIMEOUT_MS = 60_000
const POLL_MS = 2_000
/** Clock tolerance in milliseconds: X's time of a call can be this much earlier than ours. */
const CLOCK_SKEW_MS = 120_000
const CATEGORIES = { image: 'tweet_image', gif: 'tweet_gif', video: 'tweet_video' } as const

/** Publishing to X (docs.x.com/x-api/posts and /media, 2026-11). */
export const publishing: Publishing = {
  // X has no idempotency key. It refuses the same text within hours, but says nothing about the post that it has.
  repeatable: false,
  start: ({ media }): State => {
    if (media.some(({ kind }) => kind === 'document')) {
      throw new PlatformError('unsupported', TITLE, { code: 'document', mayHaveHappened: false })
    }
    return { step: media.length > 0 ? 'initialize' : 'publish', media: [] }
  },
  // X keeps uploads for 24 hours.
  preparation: { lifeMs: 24 * 3_600_000 - 3_600_000, replies: true },
  commits: ({ step }) => step === 'publish',
  step: (context, part, state) => STEPS[(state as State).step](context, part, state as State),
  reconcile: async (context, part) => {
    const posts = await timeline(context, part)
    const found = posts.find((post) => isOf(part, post))
    return found === undefined ? { kind: 'absent' } : { kind: 'published', post: remoteOf(found.id) }
  },
  remove: async (context, { id }) => {
    await call(context, `/2/tweets/${id}`, { method: 'DELETE', expect: [404] })
  },
  insights: async (context, { id }) => {
    const { data } = await call<{ data: Post }>(context, `/2/tweets/${id}`, {
      query: { 'tweet.fields': 'public_metrics' },
    })
    return insightsOf(data)
  },
}

/** The public figures of a post that was read with the field `public_metrics`. */
export function insightsOf({ public_metrics: figures }: Pick<Post, 'public_metrics'>): Insights {
  if (figures === undefined) return {}
  const { bookmark_count: saves, impression_count: views } = figures
  return {
    likes: figures.like_count,
    comments: figures.reply_count,
    shares: figures.retweet_count + figures.quote_count,
    ...(saves !== undefined && { saves }),
    ...(views !== undefined && { views }),
  }
}

type Step = (context: PublishContext, part: PublishPart, state: State) => Promise<StepResult>

const STEPS: Readonly<Record<State['step'], Step>> = {
  initialize: async (context, part, state) => {
    const { bytes, kind, type } = fileOf(part, state)
    const { data } = await call<Upload>(context, '/2/media/upload/initialize', {
      method: 'POST',
      json: { media_type: type, total_bytes: bytes, media_category: CATEGORIES[kind as keyof typeof CATEGORIES] },
    })
    return next({ step: 'append', media: state.media, upload: data.id, segment: 0 })
  },
  append: async (context, part, state) => {
    const { bytes, id, name } = fileOf(part, state)
    const { segment = 0, upload = '' } = state
    const start = segment * PIECE_BYTES
    const end = Math.min(start + PIECE_BYTES, bytes)
    const form = multipart({ segment_index: String(segment) }, [
      {
        field: 'media',
        filename: name,
        type: 'application/octet-stream',
        body: await context.media.read(id, start, end),
      },
    ])
    // Repeating a piece replaces it, so a lost reply is harmless.
    await call(context, `/2/media/upload/${upload}/append`, { method: 'POST', ...form, timeoutMs: PIECE_TIMEOUT_MS })
    return next(end < bytes ? { ...state, segment: segment + 1 } : { ...state, step: 'finalize' })
  },
  finalize: async (context, part, state) => {
    const reply = await call<Upload>(context, `/2/media/upload/${state.upload}/finalize`, { method: 'POST' })
    return afterProcessing(part, state, reply.data.processing_info)
  },
  process: async (context, part, state) => {
    const reply = await call<Upload>(context, '/2/media/upload', {
      query: { command: 'STATUS', media_id: state.upload },
    })
    return afterProcessing(part, state, reply.data.processing_info)
  },
  describe: async (context, part, state) => {
    const { altText = '' } = fileOf(part, state)
    await call(context, '/2/media/metadata', {
      method: 'POST',
      json: { id: state.upload, metadata: { alt_text: { text: altText } } },
    })
    return afterUpload(part, state)
  },
  publish: async (context, part, { media }) => {
    const { options, parent, role } = part
    const { tagged_user_ids: tagged, ...others } = withoutPoll(options)
    const poll = role === 'post' ? pollOf(options) : undefined
    const text = textWithLink(part)
    const { data } = await call<{ data: { id: string } }>(context, '/2/tweets', {
      method: 'POST',
      json: {
        ...(text !== '' && { text }),
        ...(media.length > 0 && {
          media: { media_ids: media, ...(tagged !== undefined && { tagged_user_ids: tagged }) },
        }),
        ...(parent && { reply: { in_reply_to_tweet_id: parent.id } }),
        ...(poll && { poll: { options: poll.options, duration_minutes: pollMinutes(poll) } }),
        ...others,
      },
    })
    return { kind: 'published', post: remoteOf(data.id) }
  },
}

function fileOf({ media }: PublishPart, state: State): PostMedia {
  const file = media[state.media.length]
  if (file === undefined) throw new TypeError('there is no further file to upload')
  return file
}

function afterProcessing(part: PublishPart, state: State, info: Processing | undefined): StepResult {
  if (info?.state === 'failed') {
    throw new PlatformError('media_processing', TITLE, {
      code: info.error?.name ?? 'failed',
      detail: info.error?.message,
      mayHaveHappened: false,
    })
  }
  if (info?.state === 'pending' || info?.state === 'in_progress') {
    const waitMs = info.check_after_secs === undefined ? POLL_MS : info.check_after_secs * 1_000
    return next({ ...state, step: 'process' }, waitMs)
  }
  return fileOf(part, state).altText ? next({ ...state, step: 'describe' }) : afterUpload(part, state)
}

function afterUpload(part: PublishPart, { media, upload = '' }: State): StepResult {
  const ready = [...media, upload]
  return next({ step: ready.length < part.media.length ? 'initialize' : 'publish', media: ready })
}

function next(state: State, waitMs?: number): StepResult {
  return { kind: 'next', state, ...(waitMs !== undefined && { waitMs }) }
}

async function timeline(context: AccountContext, { createdAt }: PublishPart): Promise<readonly Post[]> {
  const since = new Date(createdAt - CLOCK_SKEW_MS).toISOString().replace(/\.\d+Z$/, 'Z')
  const { data = [] } = await call<{ data?: readonly Post[] }>(context, `/2/users/${context.remoteId}/tweets`, {
    query: {
      max_results: 50,
      start_time: since,
      'tweet.fields': 'created_at,note_tweet,attachments,referenced_tweets',
    },
  })
  return data
}

/** X escapes the text as HTML, shortens links, and adds a link for media. */
function isOf({ media, parent, text }: PublishPart, post: Post): boolean {
  const replied = post.referenced_tweets?.find(({ type }) => type === 'replied_to')?.id
  const count = post.attachments?.media_keys?.length ?? 0
  return (
    replied === parent?.id && count === media.length && isSameText(text, textOfHtml(post.note_tweet?.text ?? post.text))
  )
}

export function remoteOf(id: string): RemotePost {
  return { id, url: `https://x.com/i/status/${id}` }
}
