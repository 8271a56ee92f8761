import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { Redis } from 'ioredis'
import type { TObject } from 'typebox'
import { Compile } from 'typebox/compile'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openAccount } from '../../src/domains/social/accounts/token-refresher.ts'
import type { PostMedia } from '../../src/platforms/content.ts'
import { CallRecorder } from '../../src/platforms/http/call-recorder.ts'
import type { Platform } from '../../src/platforms/platform.ts'
import type { PublishState } from '../../src/platforms/publishing.ts'
import { PLATFORMS } from '../../src/platforms/registry.ts'
import { SANDBOX_APP } from '../../sandbox/oauth-server.ts'
import { PLAIN_PAGES } from '../support/link-pages.ts'
import { startApp, type App } from '../support/app.ts'
import { partOf } from '../support/fake-platform.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { consentAtSandbox } from '../support/sandbox-sign-in.ts'
import { seedUser, seedWorkspace, type SeededUser } from '../support/seed.ts'
import { waitFor } from '../support/wait.ts'

/**
 * Sends the tokens of every platform through all that the service does with them, also when replies are lost and when
 * errors repeat them. Then searches everything that the service has written. Platforms join by their place in the registry.
 */

const STATUSES = [400, 401, 429, 500]
/** More steps than a platform needs for one small file. */
const MAX_STEPS = 60
/** Fields of a credential that are secret. `d` is the private part of a key. */
const SECRET_FIELD = /token$|password|secret|webhook_?url|^d$/i
/** Shorter values are no secrets of a platform. */
const SHORTEST = 12

let redis: TestRedis
let app: App
let owner: SeededUser
/** Every secret that was seen, with where it comes from. */
const secrets = new Map<string, string>([[SANDBOX_APP.clientSecret, 'secret of the app']])
/** What the service answered and recorded. */
const written: string[] = []
/** What was seen of processes. */
const processes = new Set<string>()

beforeAll(async () => {
  redis = await startRedis()
  // With Redis, queues and coordination are there. The log has everything that can be traced.
  app = await startApp({ redisUrl: redis.url, env: { LOG_LEVEL: 'trace' } })
  owner = await seedUser(app, 'owner', { plan: 'business' })
})
afterAll(async () => {
  await app?.stop()
  await redis?.stop()
})

/** Calls the API and keeps the reply, with its headers, for the search. */
async function call(route: Parameters<App['send']>[0], options: Parameters<App['send']>[1] = {}) {
  const reply = await app.send(route, { apiKey: owner.apiKey, ...options })
  written.push(reply.text, JSON.stringify([...reply.headers]))
  return reply
}

/** Makes the next requests to a platform fail. */
async function fail(platform: Platform, fault: object): Promise<void> {
  await recover(platform)
  const body = JSON.stringify({ path: '/', ...fault })
  await fetch(faultsOf(platform), { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
}

/** Ends the faults of a platform. */
async function recover(platform: Platform): Promise<void> {
  await fetch(faultsOf(platform), { method: 'DELETE' })
}

function faultsOf({ key }: Platform): string {
  return `${app.node.resources.config.PLATFORMS[key]?.sandboxUrl ?? ''}/_sandbox/faults`
}

/** Notes the secrets of a stored credential. They change with each refresh. */
async function note(platform: Platform, id: string): Promise<void> {
  const row = await app.database.row<{ keyId: string; dataKeySealed: string; sealed: string }>(
    `select key_id as "keyId", data_key_sealed as "dataKeySealed", sealed from social_credentials where account_id = $1`,
    [id],
  )
  if (row !== undefined) collect(platform.title, await app.composition.services.socialAccounts.vault.open(row))
}

function collect(from: string, value: unknown, name = ''): void {
  if (typeof value === 'object' && value !== null) {
    for (const [field, inner] of Object.entries(value)) collect(from, inner, field)
  } else if (typeof value === 'string') {
    if (value.startsWith('{')) collect(from, JSON.parse(value))
    else if (SECRET_FIELD.test(name) && value.length >= SHORTEST) secrets.set(value, `${name} of ${from}`)
  }
}

const path = (id: string) => ({ path: { id } })

/** Signs in twice. The first exchange of the code fails, and the error repeats the code. */
async function connectBySignIn(platform: Platform, workspaceId: string): Promise<string | undefined> {
  for (const isFaulty of [true, false]) {
    await recover(platform)
    const { cookie, url } = await consentAtSandbox(app, { apiKey: owner.apiKey, workspaceId, platform: platform.key })
    for (const name of ['code', 'password', 'state']) {
      const value = url.searchParams.get(name) ?? ''
      if (value.length >= SHORTEST) secrets.set(value, `${name} of ${platform.title}`)
    }
    if (isFaulty) await fail(platform, { kind: 'status', status: 400, echo: true, times: 1 })
    const page = await fetch(url, { headers: { cookie }, redirect: 'manual' })
    written.push(await page.text(), JSON.stringify([...page.headers]))
  }
  return accountIn(workspaceId)
}

async function accountIn(workspaceId: string): Promise<string | undefined> {
  const { body } = await call('GET /api/social-accounts', { query: { workspaceId } })
  return (body.data as { _id: string }[])[0]?._id
}

/** Everything that the platform can do with an account. */
async function useAll(platform: Platform, id: string): Promise<void> {
  await note(platform, id)
  await call('POST /api/social-accounts/{id}/refresh', path(id))
  await note(platform, id)
  await call('GET /api/social-accounts/{id}/creator-info', path(id))
  await directly(platform, id)
  for (const status of STATUSES) {
    await fail(platform, { kind: 'status', status, echo: true, times: 1 })
    await call('POST /api/social-accounts/{id}/refresh', path(id))
    await fail(platform, { kind: 'status', status, echo: true, times: 1 })
    await directly(platform, id)
    await note(platform, id)
  }
  await fail(platform, { kind: 'cut', times: 3 })
  await call('POST /api/social-accounts/{id}/refresh', path(id))
  await recover(platform)
  await call('POST /api/social-accounts/{id}/refresh', path(id))
  await note(platform, id)
  await call('GET /api/social-accounts/{id}', path(id))
  await fail(platform, { kind: 'status', status: 500, echo: true, times: 1 })
  await call('DELETE /api/social-accounts/{id}', path(id))
}

/** The functions of the platform in the context of the account: lists, and a post with a file in steps. */
async function directly(platform: Platform, id: string): Promise<void> {
  const { directory, refresher } = app.composition.services.socialAccounts
  const recorder = new CallRecorder()
  try {
    const opened = await openAccount(app.database, refresher, directory, id, {
      onCall: recorder.add,
      evenIfBroken: true,
    })
    if (opened === undefined) return
    const { context } = opened
    await attempt(() => platform.capabilities?.(context))
    await attempt(() => platform.places?.(context))
    await attempt(() => platform.children?.(context))
    for (const media of [[], [FILE.image], [FILE.video]]) {
      const part = partOf('Marked', { media, title: 'Marked', key: id, createdAt: Date.now() })
      await attempt(async () => {
        const { publishing } = platform
        if (publishing === undefined) return
        let state = publishing.start(part, context)
        for (let step = 0; step < MAX_STEPS; step += 1) {
          const result = await publishing.step({ ...context, media: FILES, pages: PLAIN_PAGES }, part, state)
          if (result.kind === 'published') return
          // The service stores the state between the steps.
          const stored = JSON.stringify(result.state)
          written.push(stored)
          state = JSON.parse(stored) as PublishState
        }
      })
    }
  } catch (error) {
    written.push(textOf(error))
  }
  written.push(JSON.stringify(recorder.recorded()))
}

/** An error is written where it is stored or logged: with its stack, its causes and its fields. */
async function attempt(work: () => Promise<unknown> | undefined): Promise<void> {
  try {
    await work()
  } catch (error) {
    written.push(textOf(error))
    app.node.resources.log.warn({ error }, 'a call of the test failed')
  }
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const fields = Object.fromEntries(Object.entries(error).filter(([name]) => name !== 'cause'))
  return `${error.stack} ${JSON.stringify(fields)} ${error.cause === undefined ? '' : textOf(error.cause)}`
}

const BYTES = Buffer.alloc(2_000, 7)
const FILE = {
  image: {
    id: 'i',
    kind: 'image',
    type: 'image/jpeg',
    name: 'i.jpeg',
    bytes: BYTES.length,
    width: 1_080,
    height: 1_080,
  },
  video: {
    id: 'v',
    kind: 'video',
    type: 'video/mp4',
    name: 'v.mp4',
    bytes: BYTES.length,
    width: 1_080,
    height: 1_920,
    seconds: 10,
    fps: 30,
  },
} satisfies Record<string, PostMedia>
const FILES = {
  read: (_id: string, start: number, end: number) => {
    const bytes = BYTES.subarray(start, end)
    return Promise.resolve({ stream: Readable.from([bytes]), size: bytes.length })
  },
  publicUrl: (id: string) =>
    Promise.resolve(`https://media.example/${id === 'i' ? 'i.jpeg' : 'v.mp4'}?bytes=${BYTES.length}`),
}

test.each(PLATFORMS.map((platform) => [platform.title, platform] as const))(
  '%s: tokens go through everything that the service does',
  async (_title, platform) => {
    const before = secrets.size
    const workspaceId = await seedWorkspace(app, platform.title, owner)
    const body = { workspaceId, platform: platform.key, sandbox: true }
    const connected = await call('POST /api/social-accounts', { body })
    expect(connected.status, connected.text).toBe(201)
    await useAll(platform, connected.body.data._id as string)
    if (platform.oauth !== undefined && platform.oauth.scopes.length > 0) {
      const other = await seedWorkspace(app, `${platform.title} by sign-in`, owner)
      const id = await connectBySignIn(platform, other)
      expect(id, `${platform.title} was connected by sign-in`).toBeDefined()
      await useAll(platform, id ?? '')
    }
    expect(secrets.size).toBeGreaterThan(before)
    await lookAtProcesses()
  },
)

interface Field {
  readonly writeOnly?: boolean
}

/** Values in the forms that fields of credentials require. Addresses are those of the sandbox. */
function formsOf(mark: string, platform: Platform): string[] {
  const url = app.node.resources.config.PLATFORMS[platform.key]?.sandboxUrl ?? ''
  const hook = `https://discord.com/api/webhooks/123456789012345678/${mark}`
  return [`1234567:${mark}`, hook, `${mark}.${mark}.${mark}`, url, mark, '@marked_chat', '1234567890']
}

/** The fields of a platform's credentials, with a marked value in each secret one. */
function markedFields(platform: Platform, fields: TObject): Record<string, string> {
  const given = Object.entries(fields.properties).map(([name, schema]) => {
    const isSecret = (schema as Field).writeOnly === true
    const mark = `Marked${name}${platform.key}0123456789abcdef`
    const forms = formsOf(mark, platform).filter((form) => form.includes(mark) === isSecret)
    const value = forms.find((form) => Compile(schema).Check(form)) ?? mark
    if (isSecret) secrets.set(mark, `${name} of ${platform.title}, as it was typed`)
    return [name, value]
  })
  return Object.fromEntries(given) as Record<string, string>
}

const TYPED = PLATFORMS.flatMap((platform) => {
  const fields = platform.credentials?.fields as TObject | undefined
  return fields === undefined ? [] : [[platform.title, platform, fields] as const]
})

test.each(TYPED)('%s: credentials that were typed wrong are refused', async (title, platform, fields) => {
  const workspaceId = await seedWorkspace(app, `${title} by hand`, owner)
  const credentials = markedFields(platform, fields)
  const secretNames = Object.keys(credentials).filter((name) => (fields.properties[name] as Field).writeOnly === true)
  expect(secretNames).not.toEqual([])
  // The platform refuses the values, then repeats them in an error, then they break the rules of the fields.
  const broken = Object.fromEntries(secretNames.map((name) => [name, `${credentials[name]} \n`.repeat(20)]))
  for (const given of [credentials, credentials, { ...credentials, ...broken }]) {
    const body = { workspaceId, platform: platform.key, credentials: given }
    const reply = await call('POST /api/social-accounts', { body })
    expect([400, 401, 409, 422, 502, 503], reply.text).toContain(reply.status)
    await fail(platform, { kind: 'status', status: 401, echo: true, times: 2 })
  }
  await recover(platform)
})

test('no secret is in anything that the service has written', async () => {
  const removed = `select id from social_accounts where removed_at is not null and broken_reason is null and platform = any($1)`
  const revoking = PLATFORMS.filter(({ revoke }) => revoke !== undefined).map(({ key }) => key)
  await waitFor(async () => (await app.database.rows(removed, [revoking])).length === 0, { what: 'the revocations' })
  await lookAtProcesses()
  const places: Record<string, string> = {
    'replies and errors': written.join('\n'),
    log: JSON.stringify(app.logs),
    database: await databaseText(),
    redis: await redisText(),
    mails: JSON.stringify(await app.outbox.mails()),
    metrics: await (await fetch(`${app.node.adminUrl}/metrics`)).text(),
    files: await filesText(),
    processes: [...processes].join('\n'),
  }
  for (const [place, text] of Object.entries(places)) expect(text.length, place).toBeGreaterThan(20)
  const found: string[] = []
  for (const [secret, origin] of secrets) {
    for (const form of new Set([secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')])) {
      for (const [place, text] of Object.entries(places)) {
        const at = text.indexOf(form)
        if (at !== -1) found.push(`${origin} in ${place}: ${text.slice(Math.max(0, at - 150), at)}`)
      }
    }
  }
  expect(found).toEqual([])
  expect(places['log']).toContain('a platform was called')
})

async function databaseText(): Promise<string> {
  const tables = await app.database.rows<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  const rows: string[] = []
  for (const { name } of tables) {
    const read = await app.database.rows<{ row: object }>(`select to_jsonb(t) as row from "${name}" t`)
    rows.push(...read.map(({ row }) => `${name} ${JSON.stringify(row)}`))
  }
  return rows.join('\n')
}

/** Every key and value, as Redis would write them to disk without compression. */
async function redisText(): Promise<string> {
  const client = new Redis(redis.url)
  await client.config('SET', 'rdbcompression', 'no')
  await client.save()
  const [, folder = ''] = (await client.config('GET', 'dir')) as string[]
  client.disconnect()
  return readFile(join(folder, 'dump.rdb'), 'latin1')
}

/** The files of the data folder, without those of the sandbox, which stands for the platforms. */
async function filesText(): Promise<string> {
  const entries = await readdir(app.dataDir, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const own = files.filter((file) => !file.startsWith(join(app.dataDir, 'sandbox')))
  return (await Promise.all(own.map(async (file) => `${file} ${await readFile(file, 'latin1')}`))).join('\n')
}

/** Notes the arguments of all processes, and the environment of those that the service has started. */
async function lookAtProcesses(): Promise<void> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  // A process can end before it is read.
  const read = (id: string, name: string) => readFile(`/proc/${id}/${name}`, 'latin1').catch(() => '')
  const parents = new Map<string, string>()
  for (const id of ids) {
    // The name of the program, in brackets, can have spaces.
    parents.set(id, /^.*\) \S+ (\d+) /s.exec(await read(id, 'stat'))?.[1] ?? '')
    processes.add(await read(id, 'cmdline'))
  }
  const isOurs = (id: string): boolean => {
    const parent = parents.get(id) ?? ''
    return parent === String(process.pid) || (parents.has(parent) && isOurs(parent))
  }
  for (const id of ids.filter(isOurs)) processes.add(await read(id, 'environ'))
}
