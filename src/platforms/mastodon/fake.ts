import { createHash, randomBytes } from 'node:crypto'
import { consentPage } from '../sandbox/consent-page.ts'
import {
  json,
  type Fake,
  type FakeOptions,
  type FakeReply,
  type FakeRequest,
  type SandboxPost,
} from '../sandbox/fake.ts'

interface App {
  readonly id: string
  readonly secret: string
  readonly redirectUris: readonly string[]
  readonly scopes: readonly string[]
}

interface Person {
  readonly id: string
  readonly username: string
}

interface Code {
  readonly app: string
  readonly person: string
  readonly scopes: readonly string[]
  readonly redirectUri: string
  readonly challenge: string | null
  readonly expiresAt: number
}

interface Token {
  readonly app: string
  readonly person: string
  readonly scopes: readonly string[]
}

interface Status {
  readonly id: string
  readonly person: string
  readonly text: string
  readonly replyTo: string | null
  readonly at: number
}

interface State {
  readonly apps: Record<string, App>
  readonly people: Record<string, Person>
  codes: Record<string, Code>
  tokens: Record<string, Token>
  readonly statuses: Status[]
  /** Ids of statuses by token and Idempotency-Key. */
  readonly sent: Record<string, string>
  next: number
}

const CODE_MS = 600_000
const KNOWN_SCOPES = ['profile', 'read', 'read:accounts', 'read:statuses', 'write', 'write:statuses', 'write:media']
const MOST_CHARACTERS = 500

/**
 * The client API of a Mastodon 4.3 server: apps, OAuth with PKCE, accounts, statuses with Idempotency-Key
 * (docs.joinmastodon.org, 2026-11).
 */
export function mastodonFake({ clock, state }: FakeOptions<State>): Fake<State> {
  const kept: State = state ?? { apps: {}, people: {}, codes: {}, tokens: {}, statuses: [], sent: {}, next: 109_000 }

  const person = (username: string): Person => {
    const known = Object.values(kept.people).find((one) => one.username === username)
    if (known !== undefined) return known
    const id = String((kept.next += 1))
    return (kept.people[id] = { id, username })
  }

  const authorize = ({ body, method, query }: FakeRequest): FakeReply => {
    const params = method === 'GET' ? Object.fromEntries(query) : (body as Record<string, string>)
    const app = kept.apps[params['client_id'] ?? '']
    const redirectUri = params['redirect_uri'] ?? ''
    if (app === undefined) return { status: 401, body: 'Client authentication failed due to unknown client.' }
    if (!app.redirectUris.includes(redirectUri)) return { status: 400, body: 'The redirect URI is not registered.' }
    const scopes = (params['scope'] ?? 'read').split(' ')
    const back = (extra: Record<string, string>) => {
      const url = new URL(redirectUri)
      for (const [name, value] of Object.entries({ ...extra, state: params['state'] ?? '' })) {
        url.searchParams.set(name, value)
      }
      return { status: 302, headers: { Location: url.href } }
    }
    if (scopes.some((scope) => !app.scopes.includes(scope))) return back({ error: 'invalid_scope' })
    if (method === 'GET') return { status: 200, body: consentPage('Mastodon', params, scopes) }
    if (params['decision'] !== 'allow') {
      return back({
        error: 'access_denied',
        error_description: 'The resource owner or authorization server denied the request.',
      })
    }
    const code = randomBytes(32).toString('base64url')
    kept.codes[code] = {
      app: app.id,
      person: person(params['account'] ?? 'sandbox').id,
      scopes,
      redirectUri,
      challenge: params['code_challenge'] ?? null,
      expiresAt: clock.now() + CODE_MS,
    }
    return back({ code })
  }

  const token = ({ body }: FakeRequest): FakeReply => {
    const params = body as Record<string, string>
    const app = kept.apps[params['client_id'] ?? '']
    if (app === undefined || app.secret !== params['client_secret']) return oauthError(401, 'invalid_client')
    const code = kept.codes[params['code'] ?? '']
    delete kept.codes[params['code'] ?? '']
    if (
      code === undefined ||
      code.app !== app.id ||
      code.expiresAt < clock.now() ||
      code.redirectUri !== params['redirect_uri'] ||
      (code.challenge !== null && code.challenge !== challengeOf(params['code_verifier'] ?? ''))
    ) {
      return oauthError(400, 'invalid_grant')
    }
    const accessToken = grant({ app: app.id, person: code.person, scopes: code.scopes })
    return json(200, {
      access_token: accessToken,
      token_type: 'Bearer',
      scope: code.scopes.join(' '),
      created_at: Math.floor(clock.now() / 1_000),
    })
  }

  const grant = (value: Token): string => {
    const text = randomBytes(32).toString('base64url')
    kept.tokens[text] = value
    return text
  }

  const publish = (request: FakeRequest, { person: author, scopes }: Token, credential: string): FakeReply => {
    if (!scopes.includes('write') && !scopes.includes('write:statuses')) {
      return json(403, { error: 'This action is outside the authorized scopes' })
    }
    const key = `${credential} ${textOf(request.headers['idempotency-key'])}`
    const repeated = request.headers['idempotency-key'] === undefined ? undefined : kept.sent[key]
    const known = kept.statuses.find(({ id }) => id === repeated)
    if (known !== undefined) return json(200, statusView(request.base, known))
    const text = textOf(request.body['status']).trim()
    if (text === '') return json(422, { error: 'Validation failed: Text can’t be blank' })
    if (lengthOf(text) > MOST_CHARACTERS) {
      return json(422, { error: `Validation failed: Text character limit of ${MOST_CHARACTERS} exceeded` })
    }
    const replyTo = (request.body['in_reply_to_id'] as string | undefined) ?? null
    if (replyTo !== null && !kept.statuses.some(({ id }) => id === replyTo)) {
      return json(404, { error: 'Record not found' })
    }
    const status = { id: String((kept.next += 1)), person: author, text, replyTo, at: clock.now() }
    kept.statuses.push(status)
    kept.sent[key] = status.id
    return json(200, statusView(request.base, status))
  }

  const statusView = (base: string, { at, id, person: author, replyTo, text }: Status) => ({
    id,
    created_at: new Date(at).toISOString(),
    in_reply_to_id: replyTo,
    content: text,
    url: `${base}/@${kept.people[author]?.username}/${id}`,
    account: accountView(base, kept.people[author]),
  })

  return {
    state: kept,
    handle: (request) => {
      const { body, method, path, base } = request
      if (path === '/.well-known/oauth-authorization-server') {
        return json(200, {
          issuer: base,
          authorization_endpoint: `${base}/oauth/authorize`,
          token_endpoint: `${base}/oauth/token`,
          scopes_supported: KNOWN_SCOPES,
          code_challenge_methods_supported: ['S256'],
        })
      }
      if (path === '/api/v2/instance') return json(200, INSTANCE)
      if (method === 'POST' && path === '/api/v1/apps') {
        const scopes = textOf(body['scopes'], 'read').split(' ')
        if (scopes.some((scope) => !KNOWN_SCOPES.includes(scope))) {
          return json(422, { error: 'Validation failed: Scopes doesn’t match configured on the server.' })
        }
        const id = randomBytes(24).toString('base64url')
        const secret = randomBytes(24).toString('base64url')
        kept.apps[id] = { id, secret, scopes, redirectUris: textOf(body['redirect_uris']).split('\n') }
        return json(200, {
          id: String((kept.next += 1)),
          name: body['client_name'],
          client_id: id,
          client_secret: secret,
        })
      }
      if (path === '/oauth/authorize') return authorize(request)
      if (method === 'POST' && path === '/oauth/token') return token(request)
      if (method === 'POST' && path === '/oauth/revoke') {
        const app = kept.apps[textOf(body['client_id'])]
        const held = kept.tokens[textOf(body['token'])]
        if (app === undefined || app.secret !== body['client_secret'] || (held && held.app !== app.id)) {
          return json(403, { error: 'unauthorized_client' })
        }
        delete kept.tokens[textOf(body['token'])]
        return json(200, {})
      }
      const credential = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? ''
      const held = kept.tokens[credential]
      if (held === undefined) return json(401, { error: 'The access token is invalid' })
      if (path === '/api/v1/accounts/verify_credentials') {
        return json(200, accountView(base, kept.people[held.person]))
      }
      if (method === 'POST' && path === '/api/v1/statuses') return publish(request, held, credential)
      return json(404, { error: 'Record not found' })
    },
    newAccount: () => {
      const { id } = person(`sandbox_${(kept.next += 1)}`)
      return { accessToken: grant({ app: 'sandbox', person: id, scopes: KNOWN_SCOPES }), scopes: KNOWN_SCOPES }
    },
    posts: () =>
      kept.statuses.map(({ at, id, person: author, replyTo, text }): SandboxPost => ({
        id,
        account: kept.people[author]?.username ?? author,
        text,
        media: [],
        replyTo,
        publishedAt: new Date(at).toISOString(),
      })),
  }
}

const INSTANCE = {
  domain: 'sandbox',
  title: 'Crier’s sandbox of Mastodon',
  version: '4.3.0',
  configuration: {
    statuses: { max_characters: MOST_CHARACTERS, max_media_attachments: 4, characters_reserved_per_url: 23 },
    media_attachments: {
      image_size_limit: 16_777_216,
      image_matrix_limit: 33_177_600,
      video_size_limit: 103_809_024,
      description_limit: 1_500,
    },
  },
}

/** Characters, with a URL as 23 and of a mention only the local part. */
function lengthOf(text: string): number {
  const counted = text.replaceAll(/https?:\/\/\S+/g, 'x'.repeat(23)).replaceAll(/(^|[^\w/])@(\w+)@[\w.-]+/g, '$1@$2')
  // Code points, as Mastodon counts.
  return Array.from(counted).length
}

function accountView(base: string, person: Person | undefined) {
  return {
    id: person?.id ?? '',
    username: person?.username ?? '',
    display_name: '',
    avatar: `${base}/avatars/missing.png`,
    url: `${base}/@${person?.username}`,
    bot: false,
  }
}

function textOf(value: unknown, fallback = ''): string {
  return typeof value === 'string' ? value : fallback
}

function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}

function oauthError(status: number, error: string): FakeReply {
  return json(status, { error, error_description: `${error} (sandbox)` })
}
