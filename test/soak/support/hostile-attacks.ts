import { setTimeout as delay } from 'node:timers/promises'
import sharp from 'sharp'
import { slowBodies, unreadPipelines, type Attack } from '../../support/http-attacks.ts'
import { exchangeBytes } from '../../support/raw-http.ts'
import { send, type Reply, type SendOptions } from '../../support/send.ts'
import { CONNECT_PACKET, EngineClient, floodByPolling } from '../../support/socket-attacks.ts'
import { waitFor } from '../../support/wait.ts'
import type { Person } from './people.ts'

/** The target of the attacks. */
export interface Target {
  /** The port of the API, on 127.0.0.1. */
  readonly port: number
  readonly adminPort: number
  /** Attacking users, in an empty workspace. */
  readonly attackers: readonly Person[]
  /** A user of another workspace, whose requests must succeed. */
  readonly customer: Person
}

/** The result of an attack, beside its effect on the steady user. */
export interface Outcome {
  readonly note: string
  /** Descriptions of the attack's own limits that were exceeded. */
  readonly broken: readonly string[]
}

export interface HostileAttack {
  readonly name: string
  /** The most additional memory of the node and its processes during this attack, when more than usual. */
  readonly growthBytes?: number
  /** Attacks until it is stopped. */
  readonly run: (target: Target, until: AbortSignal) => Promise<Outcome>
}

/** The number of source addresses of a distributed attack. */
const ADDRESSES = 32
/** A word that only the other workspace has, and one that no workspace has. */
export const FOREIGN_WORD = 'heronry'
const UNKNOWN_WORD = 'ibisery'
/** The most that the median search for a word of others can exceed that for an unknown word. */
const MAX_DIFFERENCE_MS = 20
/** The longest time for the thumbnail of a small picture during costly drawings. */
const MAX_THUMBNAIL_MS = 20_000

export const attacks: readonly HostileAttack[] = [
  { name: 'no attack', run: idle },
  { name: '1 payloads of CONNECTs, polling', run: pollingPayloads },
  { name: '1 CONNECTs over WebSocket', run: socketPackets },
  { name: '2 4,150 slow bodies', run: (target, until) => bodies(target, until) },
  { name: '2 the same, 32 addresses', run: (target, until) => bodies(target, until, ADDRESSES) },
  { name: '3 50 × 60 unread GETs', run: (target, until) => pipelines(target, until) },
  { name: '3 the same, 32 addresses', run: (target, until) => pipelines(target, until, ADDRESSES) },
  { name: '4 60 searches at once', run: searches },
  { name: '6 admin port, /api/ready', run: details },
  // Each drawing process has 100 MB, shared pages included.
  { name: '5 costly drawings', run: drawings, growthBytes: 400 * 2 ** 20 },
]

async function idle(_target: Target, until: AbortSignal): Promise<Outcome> {
  await repeat(until, 1_000, async () => undefined)
  return { note: '', broken: [] }
}

async function pollingPayloads({ port }: Target, until: AbortSignal): Promise<Outcome> {
  let [sent, refused] = [0, 0]
  await repeat(until, 100, () =>
    times(40, async () => {
      sent += 1
      await floodByPolling(port, CONNECT_PACKET, 33_000).catch(() => (refused += 1))
    }),
  )
  return { note: `${sent} payloads, ${refused} without a session`, broken: [] }
}

async function socketPackets({ port }: Target, until: AbortSignal): Promise<Outcome> {
  let [opened, cutOff] = [0, 0]
  await repeat(until, 100, async () => {
    const clients: EngineClient[] = []
    await times(40, async () => void clients.push(await EngineClient.open(port)))
    opened += clients.length
    for (const client of clients) client.flood(CONNECT_PACKET, 2_000)
    await delay(500)
    cutOff += clients.filter(({ isClosed }) => isClosed).length
    for (const { socket } of clients) socket.terminate()
  })
  return { note: `${opened} connections, ${cutOff} closed within 0.5 s`, broken: [] }
}

async function bodies({ port }: Target, until: AbortSignal, addresses = 1): Promise<Outcome> {
  const open = () => slowBodies({ port, connections: 4_150, everyMs: 4_000, addresses })
  return { note: `${await heldOpen(open, 5_000, until)} within 5 s`, broken: [] }
}

async function pipelines({ port }: Target, until: AbortSignal, addresses = 1): Promise<Outcome> {
  const open = () => unreadPipelines({ port, connections: 50, requests: 60, addresses })
  return { note: await heldOpen(open, 2_000, until), broken: [] }
}

/** Opens connections repeatedly, and holds those that the server does not close for `holdMs`. */
async function heldOpen(open: () => Promise<Attack>, holdMs: number, until: AbortSignal): Promise<string> {
  let [opened, ended] = [0, 0]
  while (!until.aborted) {
    const attack = await open()
    try {
      await delay(holdMs, undefined, { signal: until }).catch(() => undefined)
      opened += attack.connections.length
      ended += attack.connections.filter(({ socket }) => socket.closed).length
    } finally {
      attack.stop()
    }
  }
  return `${opened} connections, ${ended} closed by the server`
}

/** Searches an empty workspace for a word that only others have. */
async function searches(target: Target, until: AbortSignal): Promise<Outcome> {
  const { attackers } = target
  const search = (q: string, { apiKey, workspaceId }: Person) =>
    call(target, 'GET /api/team/{workspaceId}/messages/search', { apiKey, path: { workspaceId }, query: { q } })
  const timesOf = { [FOREIGN_WORD]: [] as number[], [UNKNOWN_WORD]: [] as number[] }
  for (let round = 0; round < 60; round += 1) {
    for (const [word, taken] of Object.entries(timesOf)) {
      const started = performance.now()
      await search(word, attackers[0] as Person)
      taken.push(performance.now() - started)
    }
  }
  const [foreign = 0, unknown = 0] = Object.values(timesOf).map(median)
  const statuses = new Map<number, number>()
  await repeat(until, 0, () =>
    times(60, async (index) => {
      const { status } = await search(FOREIGN_WORD, attackers[index % attackers.length] as Person)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }),
  )
  return {
    note: `word of another workspace ${foreign.toFixed(1)} ms, unknown word ${unknown.toFixed(1)} ms; ${inWords(statuses)}`,
    broken:
      foreign - unknown > MAX_DIFFERENCE_MS ? ['the response time reveals whether other workspaces use a word'] : [],
  }
}

/** Requests details that callers without a credential must not see. */
async function details(target: Target, until: AbortSignal): Promise<Outcome> {
  const paths = ['/metrics', '/ready', '/healthz', '/actors', '/queues', '/']
  const seen = new Set<string>()
  let requestCount = 0
  await repeat(until, 50, async () => {
    const [reports, pages] = await Promise.all([
      times(60, () => call(target, 'GET /api/ready')),
      times(paths.length, (index) =>
        exchangeBytes(
          target.adminPort,
          `GET ${paths[index]} HTTP/1.1\r\nHost: rebound.example\r\nConnection: close\r\n\r\n`,
        ),
      ),
    ])
    requestCount += reports.length + pages.length
    for (const [index, page] of pages.entries()) {
      if (!page.startsWith('HTTP/1.1 421 ')) seen.add(`${paths[index]} of the admin port under a foreign name`)
    }
    for (const { body, status } of reports) {
      if (status !== 200) seen.add(`/api/ready: ${status}`)
      const rows: object[] = Object.values(body.data?.checks ?? {})
      if (rows.length === 0 || rows.some((row) => Object.keys(row).join() !== 'ok')) seen.add('details in /api/ready')
    }
  })
  return { note: `${requestCount} requests`, broken: [...seen] }
}

/** Uploads drawings that are slow to render while another workspace waits for the thumbnail of a small picture. */
async function drawings(target: Target): Promise<Outcome> {
  const attacker = target.attackers[0] as Person
  const refused = await times(12, (index) => upload(target, attacker, `${index}.svg`, costly(index)))
  const accepted = await times(12, (index) => upload(target, attacker, `${index}.svg`, heaviest(index)))
  const picture = await sharp({ create: { width: 100, height: 100, channels: 3, background: '#369' } })
    .png()
    .toBuffer()
  const started = performance.now()
  const { apiKey } = target.customer
  const made = await upload(target, target.customer, 'small.png', picture)
  if (made.status !== 201) return { note: '', broken: [`a small picture was refused: ${made.text}`] }
  const path = { id: made.body.data._id as string }
  const shown = await waitFor(
    async () => {
      const { body } = await call(target, 'GET /api/assets/{id}/thumbnail', { apiKey, path })
      return body.data?.status === 'pending' ? undefined : (body.data?.status as string | undefined)
    },
    { timeoutMs: 60_000, what: 'the thumbnail of a small picture' },
  ).catch(() => 'still pending')
  const tookMs = performance.now() - started
  const letIn = refused.filter(({ status }) => status < 400).length
  const isTried = accepted.some(({ status }) => status === 201)
  return {
    note: `costly: ${inWords(statusesOf(refused))}; heavy: ${inWords(statusesOf(accepted))}; thumbnail of another workspace ${shown} in ${(tookMs / 1_000).toFixed(1)} s`,
    broken: [
      ...(isTried ? [] : ['no heavy drawing was accepted, so nothing was tested']),
      ...(letIn > 0 ? [`${letIn} drawings that take minutes to render were accepted`] : []),
      ...(shown !== 'ready' || tookMs > MAX_THUMBNAIL_MS ? ['the thumbnail of a small picture took too long'] : []),
    ],
  }
}

const SVG = '<svg xmlns="http://www.w3.org/2000/svg" width="1280" height="1280">'

/** A drawing with a filter over all of it; the content differs by index. */
function filtered(primitives: string, index: number): string {
  return `${SVG}<filter id="f">${primitives}</filter><rect filter="url(#f)" width="${1280 - index}" height="1280"/></svg>`
}

/** 215 bytes that took 5.5 s to draw, or 110 kB that took three minutes. */
function costly(index: number): string {
  const radius = '<feMorphology operator="dilate" radius="2000"/>'
  return filtered(index % 2 === 0 ? radius.repeat(4) : '<feGaussianBlur stdDeviation="50"/>'.repeat(3_000), index)
}

/** About the highest allowed cost by elements; it would take at least 15 s at the size of the others. */
function heaviest(index: number): string {
  if (index % 2 === 0) return filtered('<feGaussianBlur stdDeviation="50"/>'.repeat(48), index)
  const fill = '<radialGradient id="g"><stop stop-color="red"/><stop offset="1" stop-color="blue"/></radialGradient>'
  return `${SVG}${fill}${`<rect fill="url(#g)" width="${1280 - index}" height="1280"/>`.repeat(10_000)}</svg>`
}

function upload(target: Target, { apiKey, workspaceId }: Person, name: string, content: string | Buffer) {
  const file = { name, content: new Uint8Array(Buffer.from(content)) }
  return call(target, 'POST /api/assets/upload', { apiKey, body: { workspaceId }, file })
}

function call({ port }: Target, route: string, options?: SendOptions): Promise<Reply> {
  return send(`http://127.0.0.1:${port}`, route, options)
}

/** Repeats `work` with a pause in between, and stops waiting for it at the end. */
async function repeat(until: AbortSignal, pauseMs: number, work: () => Promise<unknown>): Promise<void> {
  const over = new Promise<void>((resolve) => until.addEventListener('abort', () => resolve(), { once: true }))
  while (!until.aborted) {
    const working = work().then(() => delay(pauseMs))
    // Failures after the end do not matter.
    working.catch(() => undefined)
    await Promise.race([working, over])
  }
}

function times<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)))
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function statusesOf(answers: readonly Reply[]): Map<number, number> {
  const counts = Map.groupBy(answers, ({ status }) => status)
  return new Map([...counts].map(([status, some]) => [status, some.length]))
}

function inWords(statuses: ReadonlyMap<number, number>): string {
  return [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')
}
