import { Readable } from 'node:stream'
import { ManualClock } from '../../src/core/clock.ts'
import { Outgoing, type OutgoingReply, type OutgoingRequest } from '../../src/fetch/outgoing.ts'
import type { PostMedia } from '../../src/platforms/content.ts'
import { PlatformDirectory } from '../../src/platforms/directory.ts'
import { plainCard, type CardPicture, type LinkCard, type LinkPages } from '../../src/platforms/link-card.ts'
import type { BudgetReport, LoggedCall } from '../../src/platforms/http/platform-http.ts'
import type {
  AppRegistrations,
  Credential,
  Grant,
  Platform,
  PlatformContext,
  RegisteredApp,
} from '../../src/platforms/platform.ts'
import type {
  PublishContext,
  Publishing,
  PublishPart,
  PublishState,
  RemotePost,
} from '../../src/platforms/publishing.ts'
import type { Fake } from '../../sandbox/fake.ts'
import { fakeOf } from '../../sandbox/fakes.ts'
import { sandboxSettings } from '../../sandbox/sandbox.ts'
import { mediaFacts } from '../../sandbox/media-facts.ts'
import { Faults } from '../../sandbox/faults.ts'
import { fakeRequest, serveFake, type RunningFake } from '../../sandbox/server.ts'

const REDIRECT_URI = 'http://127.0.0.1/api/social-accounts/oauth/test/callback'
/** More steps than any platform needs. */
const MAX_STEPS = 200

interface SignInOptions {
  /** The name of the account on the consent page. */
  readonly account?: string
  /** Scopes that the user does not allow. */
  readonly without?: readonly string[]
}

/** A platform that talks to its fake, without the service around it. */
export class FakePlatform {
  readonly platform: Platform
  readonly running: RunningFake
  readonly clock: ManualClock
  readonly context: PlatformContext
  /** Calls in the order in which they ended. */
  readonly calls: LoggedCall[] = []
  readonly budgets: BudgetReport[] = []
  readonly #outgoing: Outgoing
  readonly #files = new Map<string, Buffer>()
  readonly #names = new Map<string, string>()

  private constructor(platform: Platform, running: RunningFake, clock: ManualClock, outgoing = Outgoing.of(true)) {
    this.platform = platform
    this.running = running
    this.clock = clock
    this.#outgoing = outgoing
    const directory = new PlatformDirectory({
      settings: { [platform.key]: sandboxSettings(platform, running.url) },
      clock,
      outgoing: this.#outgoing,
      apps: () => appsInMemory(),
      keys: () => ({ list: () => Promise.resolve([]) }),
      publicUrl: 'http://127.0.0.1',
    })
    this.context = directory.context(directory.require(platform.key), {
      onCall: (call) => this.calls.push(call),
      onBudget: (report) => this.budgets.push(report),
    })
  }

  static async start(platform: Platform, clock = new ManualClock(Date.UTC(2026, 10, 22, 12))): Promise<FakePlatform> {
    const running = await serveFake({ platform, create: await fakeOf(platform.key), clock })
    return new FakePlatform(platform, running, clock)
  }

  /** The same with a real server of the platform instead of a fake. */
  static at(platform: Platform, url: string, clock: ManualClock): FakePlatform {
    const none = () => {
      throw new Error(`${platform.title} is real here`)
    }
    const fake: Fake = { state: undefined, handle: none, newAccount: none, posts: none }
    const running = { url, fake, faults: new Faults(), requests: [], close: () => Promise.resolve() }
    return new FakePlatform(platform, running, clock)
  }

  /** The same without a server: requests reach the fake as function calls, for tests that make thousands of them. */
  static async direct(platform: Platform, clock = new ManualClock(Date.UTC(2026, 10, 22, 12))): Promise<FakePlatform> {
    const fake = (await fakeOf(platform.key))({ clock, state: undefined })
    const url = 'http://127.0.0.1:1'
    const running = { url, fake, faults: new Faults(), requests: [], close: () => Promise.resolve() }
    return new FakePlatform(platform, running, clock, new DirectOutgoing(fake))
  }

  /** Signs in on the consent page of the fake. */
  async signIn({ account = 'ada', without = [] }: SignInOptions = {}): Promise<Grant> {
    const { oauth } = this.platform
    if (oauth === undefined) throw new Error(`${this.platform.title} has no sign-in`)
    const codeVerifier = 'v'.repeat(64)
    const request = { state: 'state', redirectUri: REDIRECT_URI, codeVerifier, server: this.running.url }
    const { secrets, url } = await oauth.authorize(this.context, request)
    const page = new URL(url)
    const form = new URLSearchParams([...page.searchParams, ['account', account], ['decision', 'allow']])
    for (const scope of without) form.set(`without ${scope}`, '1')
    const reply = await fetch(`${page.origin}${page.pathname}`, { method: 'POST', body: form, redirect: 'manual' })
    const params = Object.fromEntries(new URL(reply.headers.get('location') ?? (await reply.text())).searchParams)
    const { code = '' } = oauth.callback?.(params) ?? params
    return oauth.exchange(this.context, {
      code,
      redirectUri: REDIRECT_URI,
      codeVerifier,
      secrets,
      params,
    })
  }

  /** The context of a new account, connected without consent. */
  async connect(): Promise<PublishContext> {
    const credential = { ...this.running.fake.newAccount(), server: this.running.url }
    const context = this.as(credential)
    return { ...context, remoteId: (await this.platform.profile(context)).remoteId }
  }

  /** The context of an account with this credential. */
  as(credential: Credential, remoteId = ''): PublishContext {
    return { ...this.context, credential, remoteId, media: this.media, pages: this.pages }
  }

  /** What links lead to, by their addresses. Other pages cannot be read. */
  readonly links = new Map<string, Partial<LinkCard>>()
  /** Pictures of cards, by their addresses. */
  readonly pictures = new Map<string, CardPicture>()
  /** The pages and pictures that were asked for. */
  readonly read: string[] = []

  readonly pages: LinkPages = {
    card: (url) => {
      this.read.push(url)
      return Promise.resolve({ ...plainCard(url), ...this.links.get(url) })
    },
    picture: (url, mostBytes) => {
      this.read.push(url)
      const picture = this.pictures.get(url)
      return Promise.resolve(picture !== undefined && picture.bytes.length <= mostBytes ? picture : undefined)
    },
  }

  readonly media = {
    read: (id: string, start: number, end: number) => {
      const bytes = this.#file(id).subarray(start, end)
      return Promise.resolve({ stream: Readable.from([bytes]), size: bytes.length })
    },
    // Fakes do not fetch: an address of this form tells them the type and the size of the file.
    publicUrl: (id: string) => {
      const file = this.#file(id)
      const facts = encodeURIComponent(JSON.stringify(mediaFacts(file)))
      return Promise.resolve(`https://media.example/${this.#names.get(id)}?bytes=${file.length}&facts=${facts}`)
    },
  }

  /** Adds a file. */
  file(media: Partial<PostMedia> & Pick<PostMedia, 'kind' | 'type'>, bytes = Buffer.alloc(1_000, 7)): PostMedia {
    const id = `file-${this.#files.size + 1}`
    this.#files.set(id, bytes)
    const name = `${id}.${media.type.split('/')[1]}`
    this.#names.set(id, name)
    const size = media.kind === 'document' ? {} : { width: 1_080, height: 1_080 }
    return { id, name, ...size, ...media, bytes: bytes.length }
  }

  /** Runs the steps of a part until it is published. Waiting moves the clock. */
  async publish(context: PublishContext, part: PublishPart, from?: PublishState): Promise<RemotePost> {
    const publishing = this.publishing
    let state = from ?? publishing.start(part, context)
    for (let count = 0; count < MAX_STEPS; count += 1) {
      const result = await publishing.step(context, part, state)
      if (result.kind === 'published') return result.post
      // The state is stored between steps.
      state = JSON.parse(JSON.stringify(result.state)) as PublishState
      this.clock.advance(result.waitMs ?? 0)
    }
    throw new Error(`${this.platform.title} has not published after ${MAX_STEPS} steps`)
  }

  /** Runs steps until the next one would make the post visible. */
  async prepare(context: PublishContext, part: PublishPart): Promise<PublishState> {
    const { publishing } = this
    let state = publishing.start(part, context)
    while (!publishing.commits(state)) {
      const result = await publishing.step(context, part, state)
      if (result.kind === 'published') throw new Error('published by a step that does not commit')
      state = JSON.parse(JSON.stringify(result.state)) as PublishState
      this.clock.advance(result.waitMs ?? 0)
    }
    return state
  }

  get publishing(): Publishing {
    const { publishing } = this.platform
    if (publishing === undefined) throw new Error(`${this.platform.title} does not publish`)
    return publishing
  }

  async stop(): Promise<void> {
    this.#outgoing.close()
    await this.running.close()
  }

  #file(id: string): Buffer {
    const bytes = this.#files.get(id)
    if (bytes === undefined) throw new Error(`there is no file ${id}`)
    return bytes
  }
}

/** A part of a post with only a text, unless more is given. */
export function partOf(text: string, more: Partial<PublishPart> = {}): PublishPart {
  return {
    key: '019a0000-0000-7000-8000-000000000001',
    createdAt: Date.UTC(2026, 10, 22, 12),
    role: 'post',
    text,
    media: [],
    options: {},
    ...more,
  }
}

/** Calls a fake instead of a server. */
class DirectOutgoing extends Outgoing {
  readonly #fake: Fake

  constructor(fake: Fake) {
    super()
    this.#fake = fake
  }

  override async send({ body, headers = {}, method, url }: OutgoingRequest): Promise<OutgoingReply> {
    const bytes = await bytesOf(body)
    const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
    const sent = { 'content-length': String(bytes.length), ...lower, host: new URL(url).host }
    const reply = await this.#fake.handle(fakeRequest(method, new URL(url), sent, bytes))
    const received = Object.entries(reply.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])
    const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body ?? '')
    return {
      status: reply.status,
      headers: Object.fromEntries(received) as OutgoingReply['headers'],
      bytes: Buffer.from(text),
    }
  }
}

async function bytesOf(body: OutgoingRequest['body']): Promise<Buffer> {
  if (body === undefined) return Buffer.alloc(0)
  if (typeof body === 'string') return Buffer.from(body)
  if (body instanceof Uint8Array) return Buffer.from(body)
  const chunks: Uint8Array[] = []
  for await (const chunk of body.stream as AsyncIterable<Uint8Array>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function appsInMemory(): AppRegistrations {
  const apps = new Map<string, RegisteredApp>()
  const keyOf = (server: string, redirectUri: string) => `${server} ${redirectUri}`
  return {
    find: (server, redirectUri) => Promise.resolve(apps.get(keyOf(server, redirectUri))),
    add: (server, redirectUri, app) => {
      apps.set(keyOf(server, redirectUri), app)
      return Promise.resolve(app)
    },
  }
}
