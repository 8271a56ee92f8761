import type { Clock } from '../../src/core/clock.ts'
import { graphError, listPage, paramsOf, pick } from '../meta/graph.ts'
import { json, type FakeReply, type FakeRequest, type SandboxPost } from '../fake.ts'
import { breachOf, mediaFactsOfUrl, type MediaBounds } from '../media-facts.ts'
import type { TokenHolder } from '../oauth-server.ts'
import { profileInsights } from './insights.ts'
import type { FakeContainer, FakeProfile, FakeThread, State } from './state.ts'

interface ThreadsApiOptions {
  readonly clock: Clock
  readonly state: State
  readonly nextId: () => string
}

type Params = Readonly<Record<string, string>>

const POSTS_PER_DAY = 250
const REPLIES_PER_DAY = 1_000
const DELETIONS_PER_DAY = 100
const DAY_MS = 86_400_000
const MAX_CHARACTERS = 500
/** developers.facebook.com, Threads text attachments: different ones, since 2025-12-22. */
const MAX_LINKS = 5
const IMAGE_BYTES = 8_000_000
const VIDEO_BYTES = 1_000_000_000
/** developers.facebook.com, Threads media, 2026-11. */
const IMAGE: MediaBounds = { ratio: [0.1, 10] }
const VIDEO: MediaBounds = { codecs: ['h264', 'hevc'], seconds: [0, 300], fps: [23, 60], ratio: [0.01, 10] }
/** Messages of containers that failed, by what is wrong. The names are those of the page, with its spelling. */
const FAILURES: Readonly<Record<string, string>> = {
  ratio: 'INVALID_ASPEC_RATIO',
  seconds: 'INVALID_DURATION',
  fps: 'INVALID_FRAME_RATE',
}
/** How often a container is still being processed. */
const POLLS = { TEXT: 1, IMAGE: 1, VIDEO: 2, CAROUSEL: 1 }
const METRICS = ['views', 'likes', 'replies', 'reposts', 'quotes', 'shares']

/** Containers, posts and replies of the fake. */
export class FakeThreadsApi {
  readonly #clock: Clock
  readonly #state: State
  readonly #nextId: () => string

  constructor({ clock, nextId, state }: ThreadsApiOptions) {
    this.#clock = clock
    this.#state = state
    this.#nextId = nextId
  }

  handle(request: FakeRequest, path: string, { scopes }: TokenHolder, profile: FakeProfile): FakeReply {
    const [id = '', edge = ''] = path.split('/')
    const { method } = request
    const params = paramsOf(request)
    const needed = [
      ...(method === 'POST' ? ['threads_content_publish'] : []),
      ...(params['reply_to_id'] === undefined ? [] : ['threads_manage_replies']),
      ...(edge === 'replies' ? ['threads_read_replies'] : []),
      ...(edge === 'insights' || edge === 'threads_insights' ? ['threads_manage_insights'] : []),
      ...(edge === 'threads_publishing_limit' ? ['threads_content_publish'] : []),
      ...((params['fields'] ?? '').includes('reply_quota') ? ['threads_manage_replies'] : []),
      ...(method === 'DELETE' ? ['threads_delete'] : []),
    ]
    if (needed.some((scope) => !scopes.includes(scope))) {
      return graphError(10, 'Application does not have permission for this action', { status: 403 })
    }
    if (id === profile.id) return this.#ofProfile(request, edge, params, profile)
    const container = this.#state.containers[id]
    if (container?.profile === profile.id && method === 'GET' && edge === '')
      return this.#containerView(container, params)
    const thread = this.#state.threads.find((one) => one.id === id && one.profile === profile.id)
    return thread === undefined ? notFound(id) : this.#ofThread(request, edge, params, thread, profile)
  }

  posts(): SandboxPost[] {
    return this.#state.threads.map(({ at, files, id, profile, replyTo, text }) => ({
      id,
      account: this.#state.profiles[profile]?.username ?? profile,
      text,
      media: files,
      replyTo,
      publishedAt: new Date(at).toISOString(),
    }))
  }

  #ofProfile(request: FakeRequest, edge: string, params: Params, profile: FakeProfile): FakeReply {
    if (request.method === 'POST') {
      if (edge === 'threads') return this.#create(params, profile)
      if (edge === 'threads_publish') return this.#publish(params['creation_id'] ?? '', profile)
    } else if (edge === 'threads' || edge === 'replies') {
      const own = this.#state.threads.filter(
        (one) => one.profile === profile.id && (one.replyTo === null) === (edge === 'threads'),
      )
      return listPage(
        own.toReversed().map((one) => threadView(request.base, one, profile)),
        params,
      )
    } else if (edge === 'threads_insights') {
      return profileInsights(params, profile)
    } else if (edge === 'threads_publishing_limit') {
      const quota = (total: number) => ({ quota_total: total, quota_duration: DAY_MS / 1_000 })
      const view = {
        quota_usage: this.#today(profile, false),
        config: quota(POSTS_PER_DAY),
        reply_quota_usage: this.#today(profile, true),
        reply_config: quota(REPLIES_PER_DAY),
      }
      return json(200, { data: [pick(view, params['fields'] ?? 'quota_usage,config')] })
    }
    return notFound(profile.id)
  }

  #create(params: Params, profile: FakeProfile): FakeReply {
    const { media_type: kind, reply_to_id: replyTo = null, text = '' } = params
    if (kind !== 'TEXT' && kind !== 'IMAGE' && kind !== 'VIDEO' && kind !== 'CAROUSEL') {
      return invalid('Param media_type must be one of {TEXT, IMAGE, VIDEO, CAROUSEL}')
    }
    const url = kind === 'IMAGE' ? params['image_url'] : kind === 'VIDEO' ? params['video_url'] : undefined
    const children = (params['children'] ?? '').split(',').filter(Boolean)
    const problem = this.#problemOf(kind, params, children, profile) ?? fileProblem(kind, url)
    if (problem !== undefined) return problem
    const container: FakeContainer = {
      id: this.#nextId(),
      profile: profile.id,
      kind,
      isItem: params['is_carousel_item'] === 'true',
      url: url ?? null,
      text,
      children,
      replyTo,
      createdAt: this.#clock.now(),
      pending: POLLS[kind],
      failure: failureOf(kind, url),
      usedBy: null,
    }
    this.#state.containers[container.id] = container
    for (const id of children) this.#state.containers[id]!.usedBy = container.id
    return json(200, { id: container.id })
  }

  #problemOf(kind: FakeContainer['kind'], params: Params, children: readonly string[], profile: FakeProfile) {
    const { containers, threads } = this.#state
    const {
      alt_text: altText = '',
      link_attachment: link,
      reply_control: control = 'everyone',
      text = '',
      topic_tag: topic,
    } = params
    if (kind === 'TEXT' && text.trim() === '') return invalid('Param text is required')
    if (lengthOf(text) > MAX_CHARACTERS) return invalid('Param text must be at most 500 characters long.')
    if (linksOf(text, link).size > MAX_LINKS) return invalid('THREADS_API__LINK_LIMIT_EXCEEDED')
    if (Array.from(altText).length > 1_000) return invalid('Param alt_text must be at most 1000 characters long.')
    if (link !== undefined && kind !== 'TEXT') return invalid('Param link_attachment is for text posts only')
    if (topic !== undefined && !/^[^.&]{1,50}$/.test(topic)) return invalid('Param topic_tag is not a valid topic')
    if (
      !['everyone', 'accounts_you_follow', 'mentioned_only', 'parent_post_author_only', 'followers_only'].includes(
        control,
      )
    ) {
      return invalid('Param reply_control is unknown')
    }
    const replyTo = params['reply_to_id']
    if (replyTo !== undefined && !threads.some(({ id }) => id === replyTo)) return notFound(replyTo)
    if (kind !== 'CAROUSEL') return undefined
    if (children.length < 2 || children.length > 20) return invalid('A carousel has 2 to 20 items')
    const items = children.map((id) => containers[id])
    if (
      items.some((item) => item === undefined || item.profile !== profile.id || !item.isItem || item.usedBy !== null)
    ) {
      return invalid('Param children has an invalid item')
    }
    return items.some((item) => item === undefined || this.#statusOf(item) !== 'FINISHED')
      ? invalid('The items of a carousel must be processed first')
      : undefined
  }

  #publish(id: string, profile: FakeProfile): FakeReply {
    const container = this.#state.containers[id]
    // Threads does not say that a container is not ready: it is “not found”.
    if (container === undefined || container.profile !== profile.id || container.isItem) return notFound(id)
    if (this.#statusOf(container) !== 'FINISHED') return notFound(id)
    const isReply = container.replyTo !== null
    if (this.#today(profile, isReply) >= (isReply ? REPLIES_PER_DAY : POSTS_PER_DAY)) {
      return graphError(9, 'Application request limit reached', {
        status: 403,
        user: 'The quota of 24 hours is used up.',
      })
    }
    const files = container.children.length > 0 ? container.children : container.url === null ? [] : [id]
    const thread: FakeThread = {
      id: this.#nextId(),
      profile: profile.id,
      kind: container.kind,
      text: container.text,
      files: files.map((file) => this.#state.containers[file]?.url ?? file),
      replyTo: container.replyTo,
      at: this.#clock.now(),
    }
    this.#state.threads.push(thread)
    container.usedBy = thread.id
    return json(200, { id: thread.id })
  }

  #statusOf({ createdAt, failure, pending, usedBy }: FakeContainer) {
    if (usedBy !== null) return 'PUBLISHED'
    if (this.#clock.now() - createdAt > DAY_MS) return 'EXPIRED'
    if (pending > 0) return 'IN_PROGRESS'
    return failure === null ? 'FINISHED' : 'ERROR'
  }

  #containerView(container: FakeContainer, params: Params): FakeReply {
    const status = this.#statusOf(container)
    if (container.pending > 0) container.pending -= 1
    const error = status === 'ERROR' ? (container.failure ?? undefined) : undefined
    return json(200, pick({ id: container.id, status, error_message: error }, params['fields']))
  }

  #ofThread(
    { base, method }: FakeRequest,
    edge: string,
    params: Params,
    thread: FakeThread,
    profile: FakeProfile,
  ): FakeReply {
    const { threads } = this.#state
    if (edge === 'insights' && method === 'GET') {
      const names = (params['metric'] ?? '').split(',').filter(Boolean)
      const wrong = names.find((name) => !METRICS.includes(name))
      if (names.length === 0 || wrong !== undefined) return invalid(`Param metric ${wrong ?? ''} is unknown`)
      const count = threads.filter(({ replyTo }) => replyTo === thread.id).length
      const data = names.map((name) => ({
        name,
        period: 'lifetime',
        values: [{ value: name === 'replies' ? count : 0 }],
        id: `${thread.id}/insights/${name}/lifetime`,
      }))
      return json(200, { data })
    }
    if (edge !== '') return notFound(thread.id)
    if (method === 'GET') return json(200, pick(threadView(base, thread, profile), params['fields']))
    if (method !== 'DELETE') return notFound(thread.id)
    const recent = profile.deletions.filter((at) => this.#clock.now() - at < DAY_MS)
    if (recent.length >= DELETIONS_PER_DAY) return graphError(9, 'Application request limit reached', { status: 403 })
    profile.deletions.push(this.#clock.now())
    threads.splice(threads.indexOf(thread), 1)
    return json(200, { success: true, deleted_id: thread.id })
  }

  #today({ id }: FakeProfile, isReply: boolean): number {
    return this.#state.threads.filter(
      ({ at, profile, replyTo }) => profile === id && (replyTo !== null) === isReply && this.#clock.now() - at < DAY_MS,
    ).length
  }
}

/** Characters, with emoji as their bytes in UTF-8. */
function linksOf(text: string, attached: string | undefined): Set<string> {
  const words = text
    .split(/\s+/)
    .filter((word) => /^(?:https?:\/\/|www\.)|^[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}(?:[/?#]|$)/i.test(word))
  return new Set(attached === undefined ? words : [...words, attached])
}

function lengthOf(text: string): number {
  const emoji = text.match(/\p{RGI_Emoji}/gv) ?? []
  const rest = text.replaceAll(/\p{RGI_Emoji}/gv, '')
  return Array.from(rest).length + emoji.reduce((sum, one) => sum + Buffer.byteLength(one), 0)
}

/** Fakes fetch nothing. The URL states the size of the file, and its extension states the type. */
function fileProblem(kind: FakeContainer['kind'], address: string | undefined): FakeReply | undefined {
  if (kind === 'TEXT' || kind === 'CAROUSEL') return undefined
  const url = URL.parse(address ?? '')
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return graphError(9_004, 'The media could not be fetched from this URI.', { subcode: 2_207_052 })
  }
  const isLarge = Number(url.searchParams.get('bytes') ?? 0) > (kind === 'IMAGE' ? IMAGE_BYTES : VIDEO_BYTES)
  const isRight = kind === 'IMAGE' ? /^[^.]*$|\.(?:jpe?g|png)$/i : /^[^.]*$|\.(?:mp4|mov|quicktime)$/i
  const isWrong = !isRight.test(url.pathname)
  if (!isLarge && !isWrong) return undefined
  return isLarge
    ? graphError(36_000, 'The file is too large.', { subcode: 2_207_004 })
    : graphError(36_001, 'The format is not supported.', { subcode: 2_207_005 })
}

/** Why processing a file fails; null when it works. */
function failureOf(kind: FakeContainer['kind'], address: string | undefined): string | null {
  const fault = breachOf(mediaFactsOfUrl(address ?? ''), kind === 'IMAGE' ? IMAGE : VIDEO)
  return fault === undefined ? null : (FAILURES[fault] ?? 'UNKNOWN')
}

function threadView(
  base: string,
  { at, files, id, kind, replyTo, text }: FakeThread,
  { id: owner, username }: FakeProfile,
) {
  return {
    id,
    media_type: kind === 'TEXT' ? 'TEXT_POST' : kind === 'CAROUSEL' ? 'CAROUSEL_ALBUM' : kind,
    media_url: files[0],
    permalink: `${base}/@${username}/post/${Number(id).toString(36)}`,
    owner: { id: owner },
    username,
    text: text === '' ? undefined : text,
    timestamp: new Date(at).toISOString().replace(/\.\d+Z$/, '+0000'),
    is_reply: replyTo !== null,
    replied_to: replyTo === null ? undefined : { id: replyTo },
  }
}

function invalid(message: string): FakeReply {
  return graphError(100, message, { type: 'THApiException' })
}

function notFound(id: string): FakeReply {
  return graphError(24, 'The requested resource does not exist', {
    subcode: 4_279_009,
    title: 'Media Not Found',
    user: `The media with id ${id} cannot be found.`,
  })
}
