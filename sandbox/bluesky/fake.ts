import { createHash, randomBytes } from 'node:crypto'
import { json, type Fake, type FakeOptions, type FakeReply, type FakeRequest, type SandboxPost } from '../fake.ts'
import { FakeAuthorizationServer } from './oauth.ts'
import { FakeRepos } from './records.ts'
import { fault, invalid, newState, textOf, type Person, type State, type StoredRecord } from './state.ts'
import { FakeVideos } from './video.ts'

const ACCESS_MS = 2 * 3_600_000
const REFRESH_MS = 90 * 24 * 3_600_000
/** How long a used refresh token returns its successor again. */
const GRACE_MS = 2 * 3_600_000
const LOGIN_WINDOW_MS = 300_000
const LOGINS = 30
const LOGINS_PER_DAY = 300
const APP_PASSWORD = /^[a-z0-9]{4}(?:-[a-z0-9]{4}){3}$/
const POST = 'app.bsky.feed.post'

/**
 * The parts of a PDS that the sandbox needs: app passwords and OAuth, sessions with rotating tokens, records, blobs,
 * videos and identities. Every handle below `.test` exists. The first app password with which an account signs in
 * becomes its app password.
 */
export function blueskyFake({ clock, state }: FakeOptions<State>): Fake<State> {
  const kept: State = state ?? newState()
  const repos = new FakeRepos(kept, clock)
  const server = new FakeAuthorizationServer(kept, clock, (handle) => person(handle).did)
  const videos = new FakeVideos(kept, clock, repos)

  const person = (handle: string): Person => {
    const known = Object.values(kept.people).find((one) => one.handle === handle)
    if (known !== undefined) return known
    const did = didOf(handle)
    return (kept.people[did] = { did, handle, passwords: {} })
  }
  const find = (name: string): Person | undefined => {
    if (name.startsWith('did:')) return kept.people[name]
    return /^[a-z0-9-]+\.test$/.test(name) ? person(name) : undefined
  }

  /** A token with the claims of a JWT, without a real signature. */
  const token = (scope: string, did: string, lifeMs: number): string => {
    const now = Math.floor(clock.now() / 1_000)
    const claims = { scope, sub: did, iat: now, exp: now + lifeMs / 1_000, jti: randomBytes(12).toString('base64url') }
    const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    return `${part({ typ: 'at+jwt', alg: 'none' })}.${part(claims)}.sandbox`
  }
  const issue = (session: string) => {
    const did = kept.sessions[session]?.did ?? ''
    const access = token('com.atproto.appPass', did, ACCESS_MS)
    const refresh = token('com.atproto.refresh', did, REFRESH_MS)
    kept.access[access] = { session, expiresAt: clock.now() + ACCESS_MS }
    kept.refresh[refresh] = { session, expiresAt: clock.now() + REFRESH_MS }
    return { access, refresh }
  }
  const begin = (did: string, password: string) => {
    const session = `session-${(kept.next += 1)}`
    kept.sessions[session] = { did, password }
    return issue(session)
  }
  const end = (session: string) => {
    delete kept.sessions[session]
  }

  const sessionView = (base: string, did: string, tokens: { access: string; refresh: string }) =>
    json(200, {
      accessJwt: tokens.access,
      refreshJwt: tokens.refresh,
      did,
      handle: kept.people[did]?.handle,
      didDoc: documentOf(base, kept.people[did]),
      active: true,
    })

  const createSession = ({ base, body }: FakeRequest): FakeReply => {
    const owner = find(textOf(body['identifier']).toLowerCase())
    const password = textOf(body['password'])
    const now = clock.now()
    const key = owner?.did ?? textOf(body['identifier'])
    const logins = (kept.logins[key] ?? []).filter((at) => now - at < 24 * 3_600_000)
    kept.logins[key] = logins
    const recent = logins.filter((at) => now - at < LOGIN_WINDOW_MS)
    if (recent.length >= LOGINS || logins.length >= LOGINS_PER_DAY) {
      const first = (recent.length >= LOGINS ? recent[0] : logins[0]) ?? now
      const reset = Math.ceil((first + (recent.length >= LOGINS ? LOGIN_WINDOW_MS : 24 * 3_600_000)) / 1_000)
      return fault(429, 'RateLimitExceeded', 'Rate Limit Exceeded', { 'RateLimit-Reset': String(reset) })
    }
    logins.push(now)
    if (owner !== undefined && APP_PASSWORD.test(password) && Object.keys(owner.passwords).length === 0) {
      owner.passwords['sandbox'] = password
    }
    if (owner === undefined || !Object.values(owner.passwords).includes(password)) {
      return fault(401, 'AuthenticationRequired', 'Invalid identifier or password')
    }
    return sessionView(base, owner.did, begin(owner.did, password))
  }

  const bearer = ({ headers }: FakeRequest) => /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1] ?? ''

  const refreshSession = (request: FakeRequest): FakeReply => {
    const found = kept.refresh[bearer(request)]
    const session = kept.sessions[found?.session ?? '']
    if (found === undefined || session === undefined) return fault(400, 'ExpiredToken', 'Token has been revoked')
    if (found.expiresAt <= clock.now() || (found.next !== undefined && found.next.until <= clock.now())) {
      return fault(400, 'ExpiredToken', 'Token has expired')
    }
    found.next ??= { ...issue(found.session), until: clock.now() + GRACE_MS }
    return sessionView(request.base, session.did, found.next)
  }

  /** The DID of the caller, or the error of its token. */
  const caller = (request: FakeRequest): string | FakeReply => {
    if (/^DPoP /i.test(request.headers.authorization ?? '')) {
      const reason = 'DPoP error="invalid_token", error_description="The token has ended"'
      const ended = fault(401, 'InvalidToken', 'The token has ended', { 'WWW-Authenticate': reason })
      return server.accountOf(request) ?? ended
    }
    const text = bearer(request)
    if (text === '') return fault(401, 'AuthMissing', 'Authentication Required')
    const found = kept.access[text]
    const session = kept.sessions[found?.session ?? '']
    if (found === undefined) return fault(400, 'InvalidToken', 'Token could not be verified')
    if (found.expiresAt <= clock.now() || session === undefined) return fault(400, 'ExpiredToken', 'Token has expired')
    return session.did
  }

  const passwords = (method: string, { body }: FakeRequest, did: string): FakeReply => {
    const owner = kept.people[did]
    const name = textOf(body['name'])
    if (owner === undefined) return invalid('Could not find account')
    if (method === 'createAppPassword') {
      const raw = randomBytes(8).toString('hex')
      const password = raw.match(/.{4}/g)?.join('-') ?? raw
      owner.passwords[name] = password
      return json(200, { name, password, createdAt: new Date(clock.now()).toISOString(), privileged: false })
    }
    const ended = Object.entries(kept.sessions).filter(
      ([, one]) => one.did === did && one.password === owner.passwords[name],
    )
    for (const [id] of ended) end(id)
    // Kept as an empty entry, so that the next sign-in does not set the first password again.
    if (name in owner.passwords) owner.passwords[name] = ''
    return { status: 200 }
  }

  const posts = (query: URLSearchParams): FakeReply =>
    json(200, { posts: postViews(query.getAll('uris').flatMap((uri) => kept.records[uri] ?? [])) })

  /** The posts of an account, the newest first. */
  const authorFeed = (query: URLSearchParams): FakeReply => {
    const first = Number(query.get('cursor') ?? 0)
    const most = Number(query.get('limit') ?? 50)
    const own = Object.values(kept.records)
      .filter(({ uri }) => uri.startsWith(`at://${query.get('actor')}/${POST}/`))
      .filter(({ value }) => query.get('filter') !== 'posts_no_replies' || value['reply'] === undefined)
      .toSorted((one, other) => other.at - one.at)
    const shown = postViews(own.slice(first, first + most))
    return json(200, {
      feed: shown.map((post) => ({ post })),
      ...(first + most < own.length && { cursor: String(first + most) }),
    })
  }

  const profile = (query: URLSearchParams): FakeReply => {
    const owner = kept.people[query.get('actor') ?? '']
    if (owner === undefined) return invalid('Profile not found')
    const { did, followers = 0, handle } = owner
    const postsCount = Object.keys(kept.records).filter((uri) => uri.startsWith(`at://${did}/${POST}/`)).length
    return json(200, { did, handle, followersCount: followers, followsCount: 0, postsCount })
  }

  const postViews = (found: readonly StoredRecord[]) => {
    const all = Object.values(kept.records)
    return found.map(({ at, cid, likes = 0, uri, value }) => {
      const did = uri.split('/')[2] ?? ''
      const replies = all.filter((one) => (one.value['reply'] as { parent?: { uri?: string } })?.parent?.uri === uri)
      return {
        uri,
        cid,
        author: { did, handle: kept.people[did]?.handle },
        record: value,
        replyCount: replies.length,
        repostCount: 0,
        likeCount: likes,
        quoteCount: 0,
        bookmarkCount: 0,
        indexedAt: new Date(at).toISOString(),
      }
    })
  }

  const withSession = (method: string, request: FakeRequest): FakeReply => {
    const did = caller(request)
    if (typeof did !== 'string') return did
    if (method === 'com.atproto.server.getSession') {
      return json(200, { did, handle: kept.people[did]?.handle, active: true })
    }
    if (/^com\.atproto\.server\.(?:create|revoke)AppPassword$/.test(method)) {
      return passwords(method.split('.').at(-1) ?? '', request, did)
    }
    if (method === 'com.atproto.server.getServiceAuth') return videos.serviceAuth(request.query, did)
    if (method === 'app.bsky.feed.getPosts') return posts(request.query)
    if (method === 'app.bsky.feed.getAuthorFeed') return authorFeed(request.query)
    if (method === 'app.bsky.actor.getProfile') return profile(request.query)
    const repo = method.startsWith('com.atproto.repo.') ? method.slice('com.atproto.repo.'.length) : ''
    return repos.handle(repo, request, did) ?? fault(501, 'MethodNotImplemented', 'Method Not Implemented')
  }

  const xrpc = (method: string, request: FakeRequest): FakeReply => {
    const { base, query } = request
    if (method.startsWith('app.bsky.video.')) {
      const reply = videos.handle(method.slice('app.bsky.video.'.length), request)
      return reply ?? fault(501, 'MethodNotImplemented', 'Method Not Implemented')
    }
    switch (method) {
      case 'com.atproto.server.describeServer':
        return json(200, {
          did: `did:web:${new URL(base).hostname}`,
          availableUserDomains: ['.test'],
          blobUploadLimit: 100_000_000,
        })
      case 'com.atproto.identity.resolveHandle': {
        const owner = find((query.get('handle') ?? '').toLowerCase())
        return owner === undefined
          ? fault(400, 'HandleNotFound', 'Unable to resolve handle')
          : json(200, { did: owner.did })
      }
      case 'com.atproto.server.createSession':
        return createSession(request)
      case 'com.atproto.server.refreshSession':
        return refreshSession(request)
      case 'com.atproto.server.deleteSession':
        end(kept.refresh[bearer(request)]?.session ?? '')
        return { status: 200 }
      case 'com.atproto.repo.getRecord':
        return repos.get(query)
      case 'com.atproto.repo.listRecords':
        return repos.list(query)
      default:
        return withSession(method, request)
    }
  }

  return {
    state: kept,
    handle: (request) => {
      const { base, path } = request
      // Servers send the Date header. Clients compute from it when a limit resets.
      const date = { Date: new Date(clock.now()).toUTCString() }
      const reply = path.startsWith('/xrpc/')
        ? xrpc(path.slice('/xrpc/'.length), request)
        : (server.handle(request) ?? documentReply(base, kept.people[decodeURIComponent(path.slice(1))]))
      return { ...reply, headers: { ...date, ...reply.headers } }
    },
    newAccount: () => {
      const owner = person(`sandbox-${(kept.next += 1)}.test`)
      const password = 'sand-boxx-pass-word'
      owner.passwords['sandbox'] = password
      const { access, refresh } = begin(owner.did, password)
      return {
        accessToken: access,
        refreshToken: refresh,
        expiresAt: clock.now() + ACCESS_MS,
        did: owner.did,
        appPassword: password,
      }
    },
    posts: () =>
      Object.values(kept.records)
        .filter(({ uri }) => uri.includes(`/${POST}/`))
        .toSorted((a, b) => a.at - b.at)
        .map((record): SandboxPost => {
          const { at, uri, value } = record
          const did = uri.split('/')[2] ?? ''
          const reply = value['reply'] as { parent?: { uri?: string } } | undefined
          return {
            id: uri,
            account: kept.people[did]?.handle ?? did,
            text: textOf(value['text']),
            media: mediaOf(value['embed']),
            replyTo: reply?.parent?.uri ?? null,
            publishedAt: new Date(at).toISOString(),
          }
        }),
  }
}

function didOf(handle: string): string {
  const hash = createHash('sha256').update(handle).digest()
  return `did:plc:${Array.from(hash.subarray(0, 24), (byte) => 'abcdefghijklmnopqrstuvwxyz234567'[byte % 32]).join('')}`
}

/** The document of the directory of identities, which the sandbox also serves. */
function documentOf(base: string, owner: Person | undefined) {
  return {
    id: owner?.did,
    alsoKnownAs: [`at://${owner?.handle}`],
    service: [{ id: '#atproto_pds', type: 'AtprotoPersonalDataServer', serviceEndpoint: base }],
  }
}

function documentReply(base: string, owner: Person | undefined): FakeReply {
  return owner === undefined ? json(404, { message: 'DID not registered' }) : json(200, documentOf(base, owner))
}

function mediaOf(embed: unknown): string[] {
  const { images = [], video } = (embed ?? {}) as {
    images?: readonly { image?: { mimeType?: string } }[]
    video?: { mimeType?: string }
  }
  return [...images.map(({ image }) => image), video].flatMap((blob) => blob?.mimeType ?? [])
}
