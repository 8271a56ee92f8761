/**
 * A longer version of the WHIP tests: `npm run soak:whip`.
 *
 * 1. `CONNECTS` (50) clients, one after another: handles, memory and sessions of the media process and the WHIP process.
 * 2. A real browser with a noisy 720p canvas on lines that lose 2, 5 and 10 % of the packets, reorder them, or fail for
 *    1.5 s: packets not recovered, frames at the destination, the browser's statistics. `SECONDS` (15) each.
 *
 * Fails when something leaks, a stream does not arrive, or its resolution changes at the destination. Reports the rest.
 * Linux only.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { loadavg } from 'node:os'
import { text } from 'node:stream/consumers'
import { startSink } from '../../media/testing/sink.ts'
import { startUdpRelay, throughPort, type NetworkFaults } from '../../media/testing/udp-relay.ts'
import { WhipClient } from '../../media/testing/whip-client.ts'
import { startWhipHost, type LogLine, type WhipHost } from '../../media/testing/whip-host.ts'
import { makeWhipMedia } from '../../media/testing/whip-media.ts'
import type { ReceptionStatus } from '../../media/types.ts'
import { launchBrowser } from '../support/browser.ts'
import { waitFor } from '../support/wait.ts'
import { startStudio, studio, WEBRTC_FLAGS } from '../support/whip-studio.ts'
import { machine, residentBytes } from '../bench/support/process.ts'

const CONNECTS = Number(process.env['CONNECTS'] ?? 50)
const SECONDS = Number(process.env['SECONDS'] ?? 15)

const pause = (ms: number) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms)
  })

interface Figures {
  readonly handles: number
  readonly megabytes: number
}

function figuresOf(pid: number): Figures {
  return {
    handles: readdirSync(`/proc/${pid}/fd`).length,
    megabytes: Math.round(residentBytes(pid) / 1024 / 1024),
  }
}

/** Children of a process except one, such as an ffmpeg that did not exit. */
function childrenOf(pid: number, except: number): number {
  const ids = readdirSync(`/proc/${pid}/task`).flatMap((task) => readChildren(pid, task))
  return ids.filter((id) => id !== except).length
}

function readChildren(pid: number, task: string): number[] {
  const text = readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1')
  return text.split(' ').filter(Boolean).map(Number)
}

async function connects(): Promise<void> {
  const media = await makeWhipMedia()
  const sink = await startSink()
  const host = await startWhipHost(sink)
  const looks: Record<string, Figures & { pid: number }>[] = []
  const times: number[] = []
  for (let count = 0; count <= CONNECTS; count += 1) {
    const client = new WhipClient({ media })
    const startedAt = performance.now()
    const session = await host.open(client)
    await waitFor(() => client.state === 'connected')
    times.push(performance.now() - startedAt)
    const seen = sink.messages('audio').length
    await waitFor(() => sink.messages('audio').length > seen + 10, { timeoutMs: 20_000 })
    await host.end(session)
    client.close()
    for (const connection of sink.connections) connection.messages.length = 0
    // The first few allocate what later ones reuse.
    if (count !== 5 && count !== CONNECTS) continue
    await pause(1_000)
    const { whip } = await host.host.status()
    const [mediaPid, whipPid] = [host.host.pid()!, whip?.pid ?? 0]
    if (whip?.sessions.length !== 0) throw new Error(`${whip?.sessions.length} sessions were not closed`)
    if (childrenOf(mediaPid, whipPid) > 0) throw new Error('an ffmpeg process was not ended')
    looks.push({
      media: { pid: mediaPid, ...figuresOf(mediaPid) },
      whip: { pid: whipPid, ...figuresOf(whipPid) },
    })
  }
  const [before, after] = looks as [(typeof looks)[0], (typeof looks)[0]]
  const sorted = times.toSorted((a, b) => a - b)
  console.log(`${CONNECTS} connects in a row, offer to connected: median ${sorted[sorted.length >> 1]?.toFixed(0)} ms`)
  for (const name of ['media', 'whip']) {
    const [a, b] = [before[name]!, after[name]!]
    console.log(`  ${name}: handles ${a.handles} → ${b.handles}, resident ${a.megabytes} → ${b.megabytes} MB`)
    if (a.pid !== b.pid || b.handles > a.handles + 3)
      throw new Error(`the ${name} process leaks handles, or was restarted`)
    if (b.megabytes > a.megabytes + 30) throw new Error(`the ${name} process leaks memory`)
  }
  await host.host.close()
  await sink.close()
}

/** Accepts a page's offers over HTTP, and routes its media through the simulated line. */
async function frontOf(host: WhipHost, line: number): Promise<{ url: string; close(): void }> {
  const server = createServer((request, response) => {
    for (const name of ['Origin', 'Headers', 'Methods']) response.setHeader(`Access-Control-Allow-${name}`, '*')
    response.setHeader('Access-Control-Allow-Headers', 'authorization, content-type')
    response.setHeader('Access-Control-Expose-Headers', 'Location')
    if (request.method === 'DELETE') void host.end(request.url?.slice(1) ?? '').then(() => response.end())
    else if (request.method !== 'POST') response.end()
    else {
      void text(request)
        .then((offer) => host.take(offer))
        .then(({ sdp, session }) => response.writeHead(201, { Location: `/${session}` }).end(throughPort(sdp, line)))
    }
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, close: () => server.close() }
}

const CASES: readonly (readonly [string, Partial<NetworkFaults>])[] = [
  ['no faults', {}],
  ['2 % lost', { loss: 0.02, delayMs: 15 }],
  ['5 % lost, round trip 60 ms', { loss: 0.05, delayMs: 30 }],
  ['10 % lost, round trip 60 ms', { loss: 0.1, delayMs: 30 }],
  ['5 % out of order, 1 % lost', { reorder: 0.05, loss: 0.01 }],
  ['connection lost for 1.5 s', { dark: true }],
]

async function lines(): Promise<void> {
  const pages = await startStudio()
  const browser = await launchBrowser(WEBRTC_FLAGS)
  console.log('\n| line | frames sent / received | codec configurations | packets lost / recovered | browser |')
  console.log('|---|---|---|---|---|')
  for (const [name, faults] of CASES) {
    const sink = await startSink()
    let ended: LogLine | undefined
    const host = await startWhipHost(sink, (line) => {
      if (line.message === 'whip peer ended') ended = line
    })
    const relay = await startUdpRelay(host.whipPort)
    const front = await frontOf(host, relay.port)
    const page = await browser.newPage()
    await page.goto(pages.origin)
    await studio.ready(page)
    await studio.go(page, { client: 'page', source: 'clock', url: front.url, token: 'any' })
    await waitFor(() => sink.messages('video').length > 30, { timeoutMs: 20_000 })
    Object.assign(relay.faults, faults)
    await pause(faults.dark ? 1_500 : SECONDS * 1_000)
    Object.assign(relay.faults, { loss: 0, reorder: 0, delayMs: 0, dark: false })
    const seen = sink.messages('video').length
    await waitFor(() => sink.messages('video').length > seen + 45, { timeoutMs: 20_000 })
    const sent = await studio.sent(page)
    const [headers, frames] = [true, false].map((which) =>
      sink.messages('video').filter((one) => one.isSequenceHeader === which),
    )
    // One of the video as the browser sends it, and one of the video that is transcoded after a change of size.
    const forms = new Set(headers!.map(({ checksum }) => checksum)).size
    if (forms > 2) throw new Error(`the destination got ${forms} codec configurations`)
    await studio.stop(page)
    await waitFor(() => ended !== undefined)
    const tracks = (ended?.['tracks'] ?? []) as readonly ReceptionStatus[]
    const video = tracks.find(({ kind }) => kind === 'video')
    const encoding = `${sent['frameHeight']} lines, limited by ${sent['qualityLimitationReason']}, ${sent['pliCount']} keyframes requested`
    console.log(
      `| ${name} | ${String(sent['framesSent'])} / ${frames!.length} | ${forms} | ${video?.lost} / ${video?.recovered} | ${encoding} |`,
    )
    await page.close()
    front.close()
    await relay.close()
    await host.host.close()
    await sink.close()
  }
  await browser.close()
  pages.close()
}

console.log(`${machine()}, load ${loadavg()[0]?.toFixed(1)}\n`)
await connects()
await lines()
console.log(`\nload at the end ${loadavg()[0]?.toFixed(1)}`)
process.exit(0)
