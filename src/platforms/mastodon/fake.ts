import { randomBytes } from 'node:crypto'
import {
  json,
  type Fake,
  type FakeOptions,
  type FakeReply,
  type FakeRequest,
  type SandboxPost,
} from '../sandbox/fake.ts'
import { breachOf, mediaFacts } from '../sandbox/media-facts.ts'
import { partsOf } from '../sandbox/multipart.ts'
import { accountView, mediaView, statusView, type Media, type Person, type Status } from './fake-views.ts'
import { FakeOAuth, newOAuthState, type FakeApp, type OAuthState, type TokenHolder } from '../sandbox/oauth-server.ts'

interface State {
  readonly oauth: OAuthState
  readonly apps: Record<string, FakeApp>
  readonly people: Record<string, Person>
  readonly media: Record<string, Media>
  readonly statuses: Status[]
  /** Ids of statuses by account and Idempotency-Key, with the time. */
  readonly sent: Record<string, { readonly id: string; readonly at: number }>
  /** What NodeInfo says that the server is. `pixelfed` ignores Idempotency-Keys. */
  software?: string
  next: number
}

const KNOWN_SCOPES = ['profile', 'read', 'read:accounts', 'read:statuses', 'write', 'write:statuses', 'write:media']
const MOST_CHARACTERS = 500
const MOST_MEDIA = 4
const IMAGE_BYTES = 16_777_216
const VIDEO_BYTES = 103_809_024
const IMAGE_PIXELS = 33_177_600
/** Calls of an account within five minutes (docs.joinmastodon.org/api/rate-limits, 2026-11). */
const MOST_CALLS = 300
const WINDOW_MS = 300_000
const IDEMPOTENCY_MS = 3_600_000
/** The path that changes the software, for tests. */
const SOFTWARE_PATH = '/_software'
/** How often a video is still being processed. */
const VIDEO_POLLS = 2
const TYPES = [
  ...['jpeg', 'png', 'gif', 'webp', 'heic', 'heif', 'avif'].map((one) => `image/${one}`),
  ...['mp4', 'quicktime', 'webm'].map((one) => `video/${one}`),
  ...['mpeg', 'ogg', 'wav', 'flac', 'aac'].map((one) => `audio/${one}`),
]
const VISIBILITIES = ['public', 'unlisted', 'private', 'direct']
const MOST_LISTED = 40

/**
 * The client API of a Mastodon 4.3 server: apps, OAuth with PKCE, accounts, media, statuses with Idempotency-Key
 * (docs.joinmastodon.org, 2026-11), and NodeInfo. As `pixelfed`, it ignores the key.
 */
export function mastodonFake({ clock, state }: FakeOptions<State>): Fake<State> {
  const kept: State = state ?? {
    oauth: newOAuthState(),
    apps: {},
    people: {},
    media: {},
    statuses: [],
    sent: {},
    next: 109_000,
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
    if (description !== null && characters(description) > 1_500) {
      return json(422, { error: 'Validation failed: Description is too long' })
    }
    const media: Media = {
      id: nextId(),
      person: account,
      type: file.type ?? '',
      description,
      pending: isVideo ? VIDEO_POLLS : 0,
      status: null,
    }
    kept.media[media.id] = media
    return json(isVideo ? 202 : 200, mediaView(request.base, media))
  }

  const publish = (request: FakeRequest, { account, scopes }: TokenHolder): FakeReply => {
    const { body, headers } = request
    if (!allows(scopes, 'write:statuses')) return OUTSIDE_SCOPES
    const header = kept.software === 'pixelfed' ? undefined : headers['idempotency-key']
    const key = header === undefined ? undefined : `${account} ${textOf(header)}`
    const sent = key === undefined ? undefined : kept.sent[key]
    const known = kept.statuses.find(({ id }) => id === sent?.id)
    if (known !== undefined && clock.now() - (sent?.at ?? 0) < IDEMPOTENCY_MS)
      return json(200, shown(request.base, known))
    const text = textOf(body['status']).trim()
    const ids = (body['media_ids'] as string[] | undefined) ?? []
    const visibility = textOf(body['visibility'], 'public')
    const spoiler = textOf(body['spoiler_text'])
    if (!VISIBILITIES.includes(visibility))
      return json(422, { error: 'Validation failed: Visibility is not included in the list' })
    const problem = problemOf({ text, spoiler }, ids, account)
    if (problem !== undefined) return json(422, { error: problem })
    const replyTo = (body['in_reply_to_id'] as string | undefined) ?? null
    if (replyTo !== null && !kept.statuses.some(({ id }) => id === replyTo)) return NOT_FOUND
    const status: Status = {
      id: nextId(),
      person: account,
      text,
      spoiler,
      isSensitive: body['sensitive'] === true || spoiler !== '',
      visibility,
      language: textOf(body['language'], 'en'),
      media: ids,
      replyTo,
      at: clock.now(),
      editedAt: null,
    }
    kept.statuses.push(status)
    for (const id of ids) kept.media[id]!.status = status.id
    if (key !== undefined) kept.sent[key] = { id: status.id, at: clock.now() }
    return json(200, shown(request.base, status))
  }

  const problemOf = (
    { spoiler, text }: Pick<Status, 'spoiler' | 'text'>,
    ids: readonly string[],
    account: string,
  ): string | undefined => {
    if (text === '' && ids.length === 0) return 'Validation failed: Text can’t be blank'
    if (lengthOf(spoiler + text) > MOST_CHARACTERS)
      return `Validation failed: Text character limit of ${MOST_CHARACTERS} exceeded`
    if (ids.length > MOST_MEDIA) return 'Cannot attach more than 4 files'
    const files = ids.map((id) => kept.media[id])
    if (files.some((file) => file === undefined || file.person !== account || file.status !== null)) {
      return 'Validation failed: Media attachments not found'
    }
    if (files.some((file) => (file?.pending ?? 0) > 0)) {
      return 'Cannot attach files that have not finished processing. Try again in a moment!'
    }
    const moving = files.filter((file) => !file?.type.startsWith('image/'))
    return moving.length > 0 && files.length > 1
      ? 'Cannot attach a video to a post that already contains images'
      : undefined
  }

  const ofStatus = (request: FakeRequest, { account, scopes }: TokenHolder, id: string): FakeReply => {
    const index = kept.statuses.findIndex((status) => status.id === id)
    const status = kept.statuses[index]
    if (status === undefined) return NOT_FOUND
    if (request.method === 'GET') return json(200, shown(request.base, status))
    if (!allows(scopes, 'write:statuses')) return OUTSIDE_SCOPES
    if (status.person !== account) return NOT_FOUND
    if (request.method === 'DELETE') {
      kept.statuses.splice(index, 1)
      // The text as it was written, for writing it again.
      return json(200, { ...shown(request.base, status), text: status.text })
    }
    const { body } = request
    const text = textOf(body['status']).trim()
    const spoiler = textOf(body['spoiler_text'])
    // An edit replaces everything, so files that it does not name are detached.
    const ids = (body['media_ids'] as string[] | undefined) ?? []
    if (ids.some((one) => !status.media.includes(one) && kept.media[one]?.status !== null)) return NOT_FOUND
    if (text === '' && ids.length === 0) return json(422, { error: 'Validation failed: Text can’t be blank' })
    if (lengthOf(spoiler + text) > MOST_CHARACTERS)
      return json(422, { error: 'Validation failed: Text character limit exceeded' })
    const change: Partial<Status> = {
      text,
      spoiler,
      isSensitive: body['sensitive'] === true || spoiler !== '',
      language: textOf(body['language'], status.language ?? 'en'),
      media: ids,
      editedAt: clock.now(),
    }
    Object.assign(status, change)
    return json(200, shown(request.base, status))
  }

  const shown = (base: string, status: Status) => statusView({ base, ...kept }, status)

  /** The newest statuses of an account, with the address of the next page (docs.joinmastodon.org/api/guidelines#pagination). */
  const listed = ({ base, path, query }: FakeRequest, author: string): FakeReply => {
    const most = Math.min(MOST_LISTED, Number(query.get('limit') ?? 20))
    const before = Number(query.get('max_id') ?? Infinity)
    const page = kept.statuses
      .filter(({ id, person: owner }) => owner === author && Number(id) < before)
      .toReversed()
      .slice(0, most)
    const next =
      page.length === most ? `<${base}${path}?limit=${most}&max_id=${page.at(-1)?.id}>; rel="next"` : undefined
    const body = page.map((status) => shown(base, status))
    return json(200, body, next === undefined ? {} : { Link: next })
  }

  const asAccount = (request: FakeRequest, holder: TokenHolder): FakeReply => {
    const { base, method, path } = request
    if (path === '/api/v1/accounts/verify_credentials') {
      const own = kept.statuses.filter((status) => status.person === holder.account)
      return json(200, accountView(base, kept.people[holder.account], own.length))
    }
    if (method === 'POST' && path === '/api/v2/media') return upload(request, holder)
    if (method === 'POST' && path === '/api/v1/statuses') return publish(request, holder)
    const [, kind, id = ''] = /^\/api\/v1\/(media|statuses)\/(\d+)$/.exec(path) ?? []
    if (kind === 'statuses') return ofStatus(request, holder, id)
    const media = kind === 'media' ? kept.media[id] : undefined
    if (media !== undefined) {
      const isPending = media.pending > 0
      media.pending = Math.max(0, media.pending - 1)
      return json(isPending ? 206 : 200, mediaView(base, media))
    }
    const author = /^\/api\/v1\/accounts\/(\d+)\/statuses$/.exec(path)?.[1]
    if (author === undefined) return NOT_FOUND
    if (!allows(holder.scopes, 'read:statuses')) return OUTSIDE_SCOPES
    return listed(request, author)
  }

  /** Counts a call of an account. Every reply says what is left. */
  const limited = (account: string, answer: () => FakeReply): FakeReply => {
    const now = clock.now()
    const known = calls.get(account)
    const window = known === undefined || now - known.from >= WINDOW_MS ? { count: 0, from: now } : known
    calls.set(account, window)
    window.count += 1
    const reply = window.count > MOST_CALLS ? json(429, { error: 'Too many requests' }) : answer()
    const headers = {
      'X-RateLimit-Limit': String(MOST_CALLS),
      'X-RateLimit-Remaining': String(Math.max(0, MOST_CALLS - window.count)),
      'X-RateLimit-Reset': new Date(window.from + WINDOW_MS).toISOString(),
    }
    return { ...reply, headers: { ...reply.headers, ...headers } }
  }

  return {
    state: kept,
    handle: (request) => {
      const { base, method, path } = request
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
        return account === undefined ? json(200, INSTANCE) : limited(account, () => json(200, INSTANCE))
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

const INSTANCE = {
  domain: 'sandbox',
  title: 'Crier’s sandbox of Mastodon',
  version: '4.3.0',
  configuration: {
    statuses: {
      max_characters: MOST_CHARACTERS,
      max_media_attachments: MOST_MEDIA,
      characters_reserved_per_url: 23,
    },
    media_attachments: {
      image_size_limit: IMAGE_BYTES,
      supported_mime_types: TYPES,
      image_matrix_limit: IMAGE_PIXELS,
      video_size_limit: VIDEO_BYTES,
      description_limit: 1_500,
    },
  },
}

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

function textOf(value: unknown, fallback = ''): string {
  return typeof value === 'string' ? value : fallback
}
