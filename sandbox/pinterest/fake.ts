import type { Fake, FakeOptions, FakeReply, FakeRequest, SandboxPost } from '../fake.ts'
import { FakeOAuth, newOAuthState, type OAuthState, type TokenHolder } from '../oauth-server.ts'
import { fault, Pins, type PinsState } from './pins.ts'

interface Person {
  readonly id: string
  readonly username: string
}

interface State extends PinsState {
  readonly oauth: OAuthState
  readonly people: Record<string, Person>
  /** Times of calls in the last minute, by account. */
  readonly calls: Record<string, number[]>
  mostPerMinute: number
}

const SCOPES = ['user_accounts:read', 'boards:read', 'boards:write', 'pins:read', 'pins:write']
const DAY = 86_400
const MINUTE_MS = 60_000

/** The API v5 of Pinterest (developers.pinterest.com, 2026-11). */
export function pinterestFake({ clock, state }: FakeOptions<State>): Fake<State> {
  const kept: State = state ?? {
    oauth: newOAuthState(),
    people: {},
    boards: [],
    pins: [],
    media: {},
    calls: {},
    trial: false,
    mostPerMinute: 1_000,
    next: 0,
  }
  const pins = new Pins(kept, clock)
  const person = (username: string): Person => {
    const known = Object.values(kept.people).find((one) => one.username === username)
    if (known !== undefined) return known
    const id = pins.nextId()
    // An account with this name has made no board.
    if (username !== 'without_board') {
      kept.boards.push({ id: pins.nextId(), owner: id, name: 'First board', privacy: 'PUBLIC' })
    }
    return (kept.people[id] = { id, username })
  }
  const oauth = new FakeOAuth({
    title: 'Pinterest',
    clock,
    state: kept.oauth,
    scopes: SCOPES,
    accountOf: (name) => person(name).id,
    scopeSeparator: ',',
    clientAuth: 'basic',
    pkce: 'optional',
    accessLife: 30 * DAY,
    refresh: 'rotating',
    refreshLife: 60 * DAY,
    // Scopes are asked for with commas, and granted with spaces.
    tokenFields: ({ scopes }) => ({ response_type: 'authorization_code', scope: scopes.join(' ') }),
    errorBody: (error, description) =>
      error === 'invalid_client'
        ? { code: 2, message: 'Authentication failed.' }
        : { code: error === 'invalid_grant' ? 283 : 1, message: description },
  })

  /** Counts the call. @returns the headers of the budget, and whether it is over */
  const rate = (account: string) => {
    const recent = (kept.calls[account] ?? []).filter((at) => at > clock.now() - MINUTE_MS)
    const isOver = recent.length >= kept.mostPerMinute
    if (!isOver) recent.push(clock.now())
    kept.calls[account] = recent
    const most = kept.mostPerMinute
    const headers = {
      'x-ratelimit-limit': `${most}, ${most};w=60;name="org_write_app_id_user_id", 1000000;w=86400;name="app"`,
      'x-ratelimit-remaining': String(most - recent.length),
      'x-ratelimit-reset': String(Math.ceil(((recent[0] ?? clock.now()) + MINUTE_MS - clock.now()) / 1_000)),
    }
    return { headers, isOver }
  }

  const userAccount = ({ base }: FakeRequest, { account }: TokenHolder): FakeReply => {
    const { id, username } = kept.people[account] ?? { id: account, username: '' }
    const body = { id, username, account_type: 'BUSINESS', business_name: null, profile_image: `${base}/${id}.jpg` }
    return { status: 200, body }
  }

  const route = (request: FakeRequest, holder: TokenHolder): FakeReply => {
    const { method, path } = request
    const { account } = holder
    const needs = (...scopes: string[]) => scopes.filter((scope) => !holder.scopes.includes(scope))
    const guarded = (scopes: readonly string[], handle: () => FakeReply): FakeReply => {
      const missing = needs(...scopes)
      return missing.length === 0
        ? handle()
        : fault(403, 3, `Your token does not have the required scopes: ${missing.join(', ')}`)
    }
    const [, , collection, id, below] = path.split('/')
    const call = `${method} ${collection}${id === undefined ? '' : '/id'}${below === undefined ? '' : `/${below}`}`
    const write = ['boards:read', 'boards:write', 'pins:read', 'pins:write']
    const routes: Readonly<Record<string, () => FakeReply>> = {
      'GET user_account': () => guarded(['user_accounts:read'], () => userAccount(request, holder)),
      'GET boards': () => guarded(['boards:read'], () => pins.boards(request, account)),
      'POST boards': () => guarded(['boards:read', 'boards:write'], () => pins.createBoard(request, account)),
      'GET boards/id/pins': () => guarded(['boards:read', 'pins:read'], () => pins.pinsOf(request, id ?? '', account)),
      'POST media': () => guarded(['pins:read', 'pins:write'], () => pins.register(request, account)),
      'GET media/id': () => guarded(['pins:read'], () => pins.mediaView(id ?? '', account)),
      'POST pins': () => guarded(write, () => pins.create(request, account)),
      'GET pins/id': () => guarded(['boards:read', 'pins:read'], () => pins.ofPin(request, id ?? '', account)),
      'PATCH pins/id': () => guarded(write, () => pins.ofPin(request, id ?? '', account)),
      'DELETE pins/id': () => guarded(write, () => pins.ofPin(request, id ?? '', account)),
    }
    return routes[call]?.() ?? fault(404, 11, 'Not found.')
  }

  return {
    state: kept,
    handle: (request) => {
      const { method, path } = request
      if (path === '/oauth/') return oauth.authorize(request)
      if (method === 'POST' && path === '/v5/oauth/token') return oauth.token(request)
      if (method === 'POST' && path === '/s3-upload/') return pins.store(request)
      const holder = oauth.holder(request)
      if (holder === undefined) return fault(401, 2, 'Authentication failed.')
      const { headers, isOver } = rate(holder.account)
      const reply = isOver
        ? fault(429, 8, 'You have exceeded your rate limit. Try again later.')
        : route(request, holder)
      return { ...reply, headers: { ...reply.headers, ...headers } }
    },
    newAccount: () => oauth.grant(person(`sandbox_${(kept.next += 1)}`).id),
    posts: () =>
      kept.pins.map(({ at, description, id, media, owner, title }): SandboxPost => ({
        id,
        account: kept.people[owner]?.username ?? owner,
        text: [title, description].filter(Boolean).join('\n'),
        media,
        replyTo: null,
        publishedAt: new Date(at).toISOString(),
      })),
  }
}
