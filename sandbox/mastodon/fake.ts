import { randomBytes } from 'node:crypto'
import { json, type Fake, type FakeOptions, type FakeReply, type FakeRequest, type SandboxPost } from '../fake.ts'
import { breachOf, mediaFacts } from '../media-facts.ts'
import { imageSize } from '../image-size.ts'
import { nestedParams } from '../nested-params.ts'
import { partsOf } from '../multipart.ts'
import {
  IMAGE_BYTES,
  IMAGE_PIXELS,
  instanceView,
  MAX_CHARACTERS,
  MAX_IN_DESCRIPTION,
  MAX_MEDIA,
  TYPES,
  VIDEO_BYTES,
} from './instance.ts'
import { isTrue, pollParams, pollProblem, pollView, voteProblem, type FakePoll, type PollParams } from './polls.ts'
import { Scheduled, type ScheduledStatus } from './scheduled.ts'
import { accountView, mediaView, statusView, type Media, type Person, type Status } from './views.ts'
import { FakeOAuth, newOAuthState, type FakeApp, type OAuthState, type TokenHolder } from '../oauth-server.ts'

interface State {
  readonly oauth: OAuthState
  readonly apps: Record<string, FakeApp>
  readonly people: Record<string, Person>
  readonly media: Record<string, Media>
  readonly statuses: Status[]
  readonly polls: Record<string, FakePoll>
  /** Statuses that the server is to publish later. */
  scheduled: ScheduledStatus[]
  /** Ids of statuses by account and Idempotency-Key, with the time. */
  readonly sent: Record<string, { readonly id: string; readonly at: number }>
  /** What NodeInfo says that the server is. `pixelfed` ignores Idempotency-Keys. */
  software?: string
  next: number
}

const KNOWN_SCOPES = ['profile', 'read', 'read:accounts', 'read:statuses', 'write', 'write:statuses', 'write:media']
/** Calls of an account within five minutes (docs.joinmastodon.org/api/rate-limits, 2026-11). */
const MAX_CALLS = 300
const WINDOW_MS = 300_000
const IDEMPOTENCY_MS = 3_600_000
/** The path that changes the software, for tests. */
const SOFTWARE_PATH = '/_software'
/** How often a video is still being processed. */
const VIDEO_POLLS = 2
const VISIBILITIES = ['public', 'unlisted', 'private', 'direct']
const MAX_LISTED = 40

/**
 * The client API of a Mastodon 4.3 server: apps, OAuth with PKCE, accounts, media, statuses with Idempotency-Key
 * (docs.joinmastodon.org, 2026-11), and NodeInfo. As `pixelfed`, it ignores the key.
 */
export function mastodonFake({ clock, state }: FakeOptions<State>): Fake<State> {
  const kept: State = {
    oauth: newOAuthState(),
    apps: {},
    people: {},
    media: {},
    statuses: [],
    polls: {},
    scheduled: [],
    sent: {},
    next: 109_000,
    ...state,
  }
  /** Calls of an account in the current window, and when the window began. */
  const calls = new Map<string, { count: number; readonly from: number }>()
  const nextId = () => String((kept.next += 1))
  const person = (username: string): Person => {
    const known = Object.values(kept.people).find((one) => one.username === username)
    if (known !== undefined) return known
    const id = nextId()
    return (kept.people[id] = { id, username })
  }
  const oauth = new FakeOAuth({
    title: 'Mastodon',
    clock,
    state: kept.oauth,
    scopes: KNOWN_SCOPES,
    accountOf: (name) => person(name).id,
    findApp: (id) => kept.apps[id],
    clientAuth: 'body',
    pkce: 'optional',
    tokenFields: () => ({ token_type: 'Bearer', created_at: Math.floor(clock.now() / 1_000) }),
  })

  const scheduled = new Scheduled(kept, clock)

  const register = ({ body }: FakeRequest): FakeReply => {
    const scopes = textOf(body['scopes'], 'read').split(' ')
    if (scopes.some((scope) => !KNOWN_SCOPES.includes(scope))) {
      return json(422, { error: 'Validation failed: Scopes doesn’t match configured on the server.' })
    }
    const id = randomBytes(24).toString('base64url')
    const secret = randomBytes(24).toString('base64url')
    const redirectUris = textOf(body['redirect_uris']).split('\n')
    kept.apps[id] = { secret, scopes, redirectUris }
    return json(200, {
      id: nextId(),
      name: body['client_name'],
      website: body['website'] ?? null,
      scopes,
      redirect_uri: body['redirect_uris'],
      redirect_uris: redirectUris,
      client_id: id,
      client_secret: secret,
      client_secret_expires_at: 0,
    })
  }

  const revoke = ({ body }: FakeRequest): FakeReply => {
    const app = kept.apps[textOf(body['client_id'])]
    const holder = oauth.holder({ headers: {} }, textOf(body['token']))
    if (app === undefined || app.secret !== body['client_secret'] || (holder && holder.app !== body['client_id'])) {
      return json(403, { error: 'unauthorized_client' })
    }
    oauth.revoke(textOf(body['token']))
    return json(200, {})
  }

  const upload = (request: FakeRequest, { account, scopes }: TokenHolder): FakeReply => {
    if (!allows(scopes, 'write:media')) return OUTSIDE_SCOPES
    const parts = partsOf(request.headers['content-type'], request.bytes)
    const file = parts.find(({ name }) => name === 'file')
    const description = parts.find(({ name }) => name === 'description')?.bytes.toString('utf8') ?? null
    const isVideo = file?.type?.startsWith('video/') === true
    const isLater = isVideo && request.path.startsWith('/api/v2/')
    if (file === undefined || !TYPES.includes(file.type ?? '')) {
      return json(422, { error: 'Validation failed: File content type is not supported' })
    }
    if (file.bytes.length > (isVideo ? VIDEO_BYTES : IMAGE_BYTES)) {
      return json(422, { error: 'Validation failed: File file size is too big' })
    }
    const facts = mediaFacts(file.bytes)
    if (!isVideo && breachOf(facts, { pixels: [0, IMAGE_PIXELS] }) !== undefined) {
      return json(422, { error: `Validation failed: File ${facts.width}x${facts.height} images are not supported` })
    }
    if (description !== null && characters(description) > MAX_IN_DESCRIPTION) {
      return json(422, { error: 'Validation failed: Description is too long' })
    }
    const media: Media = {
      id: nextId(),
      person: account,
      type: file.type ?? '',
      description,
      // The first version replies when the file is processed.
      pending: isLater ? VIDEO_POLLS : 0,
      size: imageSize(file.bytes) ?? null,
      status: null,
    }
    kept.media[media.id] = media
    return json(isLater ? 202 : 200, mediaView(request.base, media))
  }

  const publish = (request: FakeRequest, { account, scopes }: TokenHolder): FakeReply => {
    const { base, body, headers } = request
    if (!allows(scopes, 'write:statuses')) return OUTSIDE_SCOPES
    const header = kept.software === 'pixelfed' ? undefined : headers['idempotency-key']
    const key = header === undefined ? undefined : `${account} ${textOf(header)}`
    const sent = key === undefined ? undefined : kept.sent[key]
    const known = kept.statuses.find(({ id }) => id === sent?.id)
    if (known !== undefined && clock.now() - (sent?.at ?? 0) < IDEMPOTENCY_MS)
      return json(200, shown(base, known, account))
    if (!VISIBILITIES.includes(textOf(body['visibility'], 'public')))
      return json(422, { error: 'Validation failed: Visibility is not included in the list' })
    const ids = idsOf(body['media_ids'])
    const text = textOf(body['status']).trim()
    const spoiler = textOf(body['spoiler_text'])
    const problem = problemOf({ text, spoiler }, ids, account, pollParams(body['poll']))
    if (problem !== undefined) return json(422, { error: problem })
    const replyTo = textOf(body['in_reply_to_id'])
    if (replyTo !== '' && !kept.statuses.some(({ id }) => id === replyTo)) return NOT_FOUND
    const at = scheduled.timeOf(body['scheduled_at'])
    if (at !== undefined) return scheduled.add(base, { id: nextId(), person: account, at, params: body, media: ids })
    const status = made(body, account, clock.now())
    if (key !== undefined) kept.sent[key] = { id: status.id, at: clock.now() }
    return json(200, shown(base, status, account))
  }

  /** Makes the status of a request that has no problem. */
  const made = (body: FakeRequest['body'], person: string, at: number): Status => {
    const spoiler = textOf(body['spoiler_text'])
    const wanted = pollParams(body['poll'])
    const status: Status = {
      id: nextId(),
      person,
      text: textOf(body['status']).trim(),
      spoiler,
      isSensitive: isTrue(body['sensitive']) || spoiler !== '',
      visibility: textOf(body['visibility'], 'public'),
      language: textOf(body['language'], 'en'),
      media: idsOf(body['media_ids']),
      poll: wanted === undefined ? null : addPoll(wanted, at),
      replyTo: textOf(body['in_reply_to_id']) || null,
      at,
      editedAt: null,
    }
    kept.statuses.push(status)
    for (const id of status.media) kept.media[id]!.status = status.id
    return status
  }

  const addPoll = ({ hidesTotals, multiple, options, seconds = 0 }: PollParams, at: number): string => {
    const id = nextId()
    kept.polls[id] = { id, options, multiple, hidesTotals, until: at + seconds * 1_000, votes: {} }
    return id
  }

  const problemOf = (
    { spoiler, text }: Pick<Status, 'spoiler' | 'text'>,
    ids: readonly string[],
    account: string,
    poll?: PollParams,
  ): string | undefined => {
    if (text === '' && ids.length === 0) return 'Validation failed: Text can’t be blank'
    if (lengthOf(spoiler + text) > MAX_CHARACTERS)
      return `Validation failed: Text character limit of ${MAX_CHARACTERS} exceeded`
    // Files beside a poll are refused as too many (app/services/post_status_service.rb, 4.3).
    if (ids.length > MAX_MEDIA || (ids.length > 0 && poll !== undefined)) return 'Cannot attach more than 4 files'
    const files = ids.map((id) => kept.media[id])
    const isScheduled = (id: string) => kept.scheduled.some(({ media }) => media.includes(id))
    if (
      files.some(
        (file) => file === undefined || file.person !== account || file.status !== null || isScheduled(file.id),
      )
    ) {
      return 'Validation failed: Media attachments not found'
    }
    if (files.some((file) => (file?.pending ?? 0) > 0)) {
      return 'Cannot attach files that have not finished processing. Try again in a moment!'
    }
    const moving = files.filter((file) => !file?.type.startsWith('image/'))
    if (moving.length > 0 && files.length > 1) return 'Cannot attach a video to a post that already contains images'
    return poll === undefined ? undefined : pollProblem(poll)
  }

  const ofStatus = (request: FakeRequest, { account, scopes }: TokenHolder, id: string): FakeReply => {
    const index = kept.statuses.findIndex((status) => status.id === id)
    const status = kept.statuses[index]
    if (status === undefined) return NOT_FOUND
    if (request.method === 'GET') return json(200, shown(request.base, status, account))
    if (!allows(scopes, 'write:statuses')) return OUTSIDE_SCOPES
    if (status.person !== account) return NOT_FOUND
    if (request.method === 'DELETE') {
      kept.statuses.splice(index, 1)
      // The text as it was written, for writing it again.
      return json(200, { ...shown(request.base, status, account), text: status.text })
    }
    const { body } = request
    const text = textOf(body['status']).trim()
    const spoiler = textOf(body['spoiler_text'])
    // An edit replaces everything, so files and a poll that it does not name are removed.
    const ids = idsOf(body['media_ids'])
    const wanted = pollParams(body['poll'])
    if (ids.some((one) => !status.media.includes(one) && kept.media[one]?.status !== null)) return NOT_FOUND
    if (text === '' && ids.length === 0) return json(422, { error: 'Validation failed: Text can’t be blank' })
    if (lengthOf(spoiler + text) > MAX_CHARACTERS)
      return json(422, { error: 'Validation failed: Text character limit exceeded' })
    const problem = wanted === undefined ? undefined : pollProblem(wanted)
    if (problem !== undefined) return json(422, { error: problem })
    for (const { description, id: file } of attributesOf(body['media_attributes'])) {
      const media = kept.media[textOf(file)]
      if (media !== undefined && ids.includes(media.id)) media.description = textOf(description)
    }
    const change: Partial<Status> = {
      text,
      spoiler,
      isSensitive: isTrue(body['sensitive']) || spoiler !== '',
      language: textOf(body['language'], status.language ?? 'en'),
      media: ids,
      poll: changedPoll(status.poll, wanted),
      editedAt: clock.now(),
    }
    Object.assign(status, change)
    return json(200, shown(request.base, status, account))
  }

  /** Other answers end the votes (app/services/update_status_service.rb, 4.3). */
  const changedPoll = (id: string | null | undefined, wanted: PollParams | undefined): string | null => {
    const known = kept.polls[id ?? '']
    if (known !== undefined) delete kept.polls[known.id]
    if (wanted === undefined) return null
    const changed = addPoll(wanted, clock.now())
    const poll = kept.polls[changed]!
    if (known?.multiple === wanted.multiple && known.options.join('\n') === wanted.options.join('\n')) {
      poll.votes = known.votes
    }
    return changed
  }

  /** The statuses above and below one (docs.joinmastodon.org/methods/statuses/#context, 2026-11). */
  const contextOf = (base: string, viewer: string, id: string): FakeReply => {
    const status = kept.statuses.find((one) => one.id === id)
    if (status === undefined) return NOT_FOUND
    const ancestors: Status[] = []
    for (let above = status.replyTo; above !== null;) {
      const found = kept.statuses.find((one) => one.id === above)
      if (found !== undefined) ancestors.unshift(found)
      above = found?.replyTo ?? null
    }
    const below = (one: Status): Status[] =>
      kept.statuses.filter(({ replyTo }) => replyTo === one.id).flatMap((reply) => [reply, ...below(reply)])
    const view = (all: readonly Status[]) => all.map((one) => shown(base, one, viewer))
    return json(200, { ancestors: view(ancestors), descendants: view(below(status)) })
  }

  const ofPoll = ({ body }: FakeRequest, viewer: string, id: string, isVote: boolean): FakeReply => {
    const poll = kept.polls[id]
    if (poll === undefined) return NOT_FOUND
    if (isVote) {
      const choices = idsOf(body['choices']).map(Number)
      const problem = voteProblem(poll, viewer, choices, clock.now())
      if (problem !== undefined) return json(422, { error: problem })
      poll.votes[viewer] = choices
    }
    return json(200, pollView(poll, viewer, clock.now()))
  }

  const ofMedia = ({ base, body, method }: FakeRequest, { account }: TokenHolder, id: string): FakeReply => {
    const media = kept.media[id]
    if (media?.person !== account) return NOT_FOUND
    if (method === 'PUT') {
      const description = textOf(body['description'], media.description ?? '')
      if (characters(description) > MAX_IN_DESCRIPTION) {
        return json(422, { error: 'Validation failed: Description is too long' })
      }
      media.description = description
      return json(200, mediaView(base, media))
    }
    const isPending = media.pending > 0
    media.pending = Math.max(0, media.pending - 1)
    return json(isPending ? 206 : 200, mediaView(base, media))
  }

  const shown = (base: string, status: Status, viewer: string) => {
    const poll = kept.polls[status.poll ?? '']
    return {
      ...statusView({ base, ...kept }, status),
      poll: poll === undefined ? null : pollView(poll, viewer, clock.now()),
    }
  }

  /** The newest statuses of an account, with the address of the next page (docs.joinmastodon.org/api/guidelines#pagination). */
  const listed = ({ base, path, query }: FakeRequest, author: string, viewer: string): FakeReply => {
    const most = Math.min(MAX_LISTED, Number(query.get('limit') ?? 20))
    const before = Number(query.get('max_id') ?? Infinity)
    const page = kept.statuses
      .filter(({ id, person: owner }) => owner === author && Number(id) < before)
      .toReversed()
      .slice(0, most)
    const next =
      page.length === most ? `<${base}${path}?limit=${most}&max_id=${page.at(-1)?.id}>; rel="next"` : undefined
    const body = page.map((status) => shown(base, status, viewer))
    return json(200, body, next === undefined ? {} : { Link: next })
  }

  const asAccount = (request: FakeRequest, holder: TokenHolder): FakeReply => {
    const { base, method, path } = request
    if (path === '/api/v1/accounts/verify_credentials') {
      const own = kept.statuses.filter((status) => status.person === holder.account)
      return json(200, accountView(base, kept.people[holder.account], own.length))
    }
    if (method === 'POST' && /^\/api\/v[12]\/media$/.test(path)) return upload(request, holder)
    if (method === 'POST' && path === '/api/v1/statuses') return publish(request, holder)
    const [, kind, id, edge] =
      /^\/api\/v1\/(media|statuses|polls|scheduled_statuses)(?:\/(\d+)(?:\/(context|votes))?)?$/.exec(path) ?? []
    if (kind === 'scheduled_statuses') return scheduled.handle(request, holder.account, id)
    if (id !== undefined && edge === undefined) {
      if (kind === 'statuses') return ofStatus(request, holder, id)
      if (kind === 'media') return ofMedia(request, holder, id)
    }
    if (kind === 'statuses' && id !== undefined && edge === 'context') return contextOf(base, holder.account, id)
    if (kind === 'polls' && id !== undefined && edge !== 'context') {
      return ofPoll(request, holder.account, id, method === 'POST' && edge === 'votes')
    }
    const author = /^\/api\/v1\/accounts\/(\d+)\/statuses$/.exec(path)?.[1]
    if (author === undefined) return NOT_FOUND
    if (!allows(holder.scopes, 'read:statuses')) return OUTSIDE_SCOPES
    return listed(request, author, holder.account)
  }

  /** Counts a call of an account. Every reply says what is left. */
  const limited = (account: string, answer: () => FakeReply): FakeReply => {
    const now = clock.now()
    const known = calls.get(account)
    const window = known === undefined || now - known.from >= WINDOW_MS ? { count: 0, from: now } : known
    calls.set(account, window)
    window.count += 1
    const reply = window.count > MAX_CALLS ? json(429, { error: 'Too many requests' }) : answer()
    const headers = {
      'X-RateLimit-Limit': String(MAX_CALLS),
      'X-RateLimit-Remaining': String(Math.max(0, MAX_CALLS - window.count)),
      'X-RateLimit-Reset': new Date(window.from + WINDOW_MS).toISOString(),
    }
    return { ...reply, headers: { ...reply.headers, ...headers } }
  }

  return {
    state: kept,
    handle: (incoming) => {
      // Rails takes paths with and without a slash at the end, and forms with nested names.
      const path = incoming.path.replace(/(?<=.)\/$/, '')
      const request = { ...incoming, path, body: nestedParams(incoming) }
      const { base, method } = request
      for (const { at, params, person: author } of scheduled.due()) made(params, author, at)
      if (path === '/.well-known/oauth-authorization-server') {
        return json(200, {
          issuer: base,
          authorization_endpoint: `${base}/oauth/authorize`,
          token_endpoint: `${base}/oauth/token`,
          scopes_supported: KNOWN_SCOPES,
          code_challenge_methods_supported: ['S256'],
        })
      }
      if (path === '/.well-known/nodeinfo') {
        const rel = 'http://nodeinfo.diaspora.software/ns/schema/2.0'
        return json(200, { links: [{ rel, href: `${base}/nodeinfo/2.0` }] })
      }
      if (path === '/nodeinfo/2.0') {
        return json(200, { version: '2.0', software: { name: kept.software ?? 'mastodon', version: '4.3.0' } })
      }
      if (method === 'POST' && path === SOFTWARE_PATH) {
        kept.software = textOf(request.body['name'], 'mastodon')
        return json(200, {})
      }
      if (path === '/api/v2/instance') {
        const account = oauth.holder(request)?.account
        const reply = () => json(200, instanceView(base))
        return account === undefined ? reply() : limited(account, reply)
      }
      if (path === '/oauth/authorize') return oauth.authorize(request)
      if (method === 'POST' && path === '/api/v1/apps') return register(request)
      if (method === 'POST' && path === '/oauth/token') return oauth.token(request)
      if (method === 'POST' && path === '/oauth/revoke') return revoke(request)
      const holder = oauth.holder(request)
      if (holder === undefined) return json(401, { error: 'The access token is invalid' })
      return limited(holder.account, () => asAccount(request, holder))
    },
    newAccount: () => oauth.grant(person(`sandbox_${nextId()}`).id),
    posts: () =>
      kept.statuses.map(({ at, id, media, person: author, replyTo, text }): SandboxPost => ({
        id,
        account: kept.people[author]?.username ?? author,
        text,
        media: media.map((file) => kept.media[file]?.type ?? file),
        replyTo,
        publishedAt: new Date(at).toISOString(),
      })),
  }
}

const OUTSIDE_SCOPES = json(403, { error: 'This action is outside the authorized scopes' })
const NOT_FOUND = json(404, { error: 'Record not found' })

const SEGMENTER = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Graphemes, with a URL as 23 and of a mention only the local part (app/validators/status_length_validator.rb, 4.3). */
function lengthOf(text: string): number {
  return graphemes(text.replaceAll(/https?:\/\/\S+/g, 'x'.repeat(23)).replaceAll(/(^|[^\w/])@(\w+)@[\w.-]+/g, '$1@$2'))
}

function graphemes(text: string): number {
  return Array.from(SEGMENTER.segment(text)).length
}

/** Code points, as Mastodon counts descriptions. */
function characters(text: string): number {
  return Array.from(text).length
}

function allows(scopes: readonly string[], scope: string): boolean {
  return scopes.includes(scope) || scopes.includes(scope.split(':')[0] ?? '')
}

function idsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : []
}

function attributesOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? (value as Readonly<Record<string, unknown>>[]) : []
}

function textOf(value: unknown, fallback = ''): string {
  return typeof value === 'string' ? value : fallback
}
