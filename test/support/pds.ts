import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { createInterface } from 'node:readline'
import { AtpAgent } from '@atproto/api'
import { peerProgram } from './peers.ts'

/** An account at the PDS, with the agent of its owner. */
export interface PdsAccount {
  readonly did: string
  readonly handle: string
  readonly password: string
  readonly agent: AtpAgent
  /** A new app password. */
  appPassword(name: string): Promise<string>
}

/** A running PDS with its directory of identities. */
export interface Pds {
  readonly url: string
  readonly plcUrl: string
  createAccount(name: string): Promise<PdsAccount>
  /** Lets what the PDS has cached expire. Tokens and proofs keep the real time. */
  expireCaches(ms: number): Promise<void>
  stop(): Promise<void>
}

export interface PdsOptions {
  /** Names that lead to a port of this machine, for the documents of a client. */
  readonly hosts?: Readonly<Record<string, number>>
  /** The file with the certificate authority of those names. */
  readonly authority?: string
}

/** How the owner of an account decides on the consent page. */
export interface Consent {
  readonly account: PdsAccount
  readonly decision?: 'allow' | 'deny'
}

const PAGES = '/@atproto/oauth-provider/~api'

/**
 * Signs in on the pages of the PDS and decides, as its script does in a browser.
 * @param url of the consent page
 * @returns where the PDS sends the browser
 */
export async function consentAt(url: URL, { account, decision = 'allow' }: Consent): Promise<URL> {
  const cookies = new Map<string, string>()
  // With node:http, because fetch sets the Sec-Fetch headers itself.
  const call = (method: string, target: URL, headers: Record<string, string>, body?: string) =>
    new Promise<{ location: string; text: string }>((resolve, reject) => {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
      const all = { Host: target.host, ...(cookie !== '' && { Cookie: cookie }), ...headers }
      const options = {
        method,
        host: '127.0.0.1',
        port: target.port,
        path: target.pathname + target.search,
        headers: all,
      }
      const sent = request(options, (reply) => {
        for (const set of reply.headers['set-cookie'] ?? []) {
          const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
          cookies.set(name, value)
        }
        let text = ''
        reply.on('data', (chunk: Buffer) => (text += chunk.toString()))
        reply.on('end', () => resolve({ location: reply.headers.location ?? '', text }))
      })
      sent.on('error', reject).end(body)
    })
  const page = { 'Sec-Fetch-Mode': 'navigate', 'Sec-Fetch-Dest': 'document', Accept: 'text/html' }
  await call('GET', url, { ...page, 'Sec-Fetch-Site': 'none' })
  const script = (name: string, body: object) =>
    call(
      'POST',
      new URL(`${PAGES}/${name}`, url),
      {
        'Sec-Fetch-Mode': 'same-origin',
        'Sec-Fetch-Dest': 'empty',
        'Sec-Fetch-Site': 'same-origin',
        Origin: url.origin,
        Referer: url.href,
        'Content-Type': 'application/json',
        'X-Csrf-Token': cookies.get('csrf-token') ?? '',
      },
      JSON.stringify(body),
    )
  const { did, handle, password } = account
  await script('sign-in', { locale: 'en', username: handle, password, remember: true })
  const decided = decision === 'allow' ? await script('consent', { did, scope: SCOPE }) : await script('reject', {})
  const next = (JSON.parse(decided.text) as { url?: string }).url
  if (next === undefined) throw new Error(`the PDS refused the decision: ${decided.text}`)
  const { location } = await call('GET', new URL(next), { ...page, 'Sec-Fetch-Site': 'same-origin', Referer: url.href })
  return new URL(location)
}

const SCOPE = 'atproto transition:generic'
const PASSWORD = 'a-password-of-the-account'
const TRIES = 3

/** Starts a Bluesky PDS in a separate process. @throws Error when it is not installed or does not start */
export async function startPds(options: PdsOptions = {}): Promise<Pds> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await start(options)
    } catch (error) {
      // Another process may have taken its port.
      if (tries === TRIES || !/EADDRINUSE/.test((error as Error).message)) throw error
    }
  }
}

async function start({ authority, hosts = {} }: PdsOptions): Promise<Pds> {
  const { args, cwd } = peerProgram('pds')
  const child = spawn(process.execPath, args, {
    cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      NODE_NO_WARNINGS: '1',
      LOG_ENABLED: 'false',
      HOSTS: JSON.stringify(hosts),
      ...(authority !== undefined && { NODE_EXTRA_CA_CERTS: authority }),
    },
  })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4_000)))
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const lines = createInterface(child.stdout)
  const ready = new Promise<{ url: string; plcUrl: string }>((resolve, reject) => {
    lines.on('line', (line) => {
      if (line.startsWith('{"url"')) resolve(JSON.parse(line) as { url: string; plcUrl: string })
    })
    void ended.then(() => reject(new Error(`the PDS has not started: ${errors}`)))
  })
  const { plcUrl, url } = await ready
  return {
    url,
    plcUrl,
    createAccount: (name) => createAccount(url, `${name}.test`),
    expireCaches: async (ms) => {
      const moved = once(lines, 'line')
      child.stdin.write(`${ms}\n`)
      await moved
    },
    stop: async () => {
      child.stdin.end()
      await ended
    },
  }
}

async function createAccount(service: string, handle: string): Promise<PdsAccount> {
  const agent = new AtpAgent({ service })
  await agent.createAccount({ handle, email: `${handle}@example.com`, password: PASSWORD })
  return {
    did: agent.assertDid,
    handle,
    password: PASSWORD,
    agent,
    appPassword: async (name) => (await agent.com.atproto.server.createAppPassword({ name })).data.password,
  }
}
