/**
 * Compares the clients of the platforms and their fakes with public OpenAPI descriptions of the platforms, which are not
 * part of this project: `npm run peers:descriptions -- --specs <folder>`, with `--platform <key>` for some of them.
 *
 * Each client talks to its fake through prism, a proxy that checks every request and every reply against the description.
 * Fails when a check fails for a reason that `known-faults.ts` does not explain.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request as send, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { parseDocument, type Scalar, type YAMLMap } from 'yaml'
import { ManualClock } from '../../src/core/clock.ts'
import { PLATFORMS } from '../../src/platforms/registry.ts'
import type { Platform } from '../../src/platforms/platform.ts'
import { FakePlatform } from '../support/fake-platform.ts'
import { freePort } from '../support/free-port.ts'
import { installedPeer } from '../support/peers.ts'
import { callEverything } from './calls.ts'
import { faultOf } from './known-faults.ts'

/** Where a description is not named after the key of its platform. */
const NAMES: Readonly<Record<string, string>> = { x: 'twitter' }
/** Reading a large description takes a while. */
const START_MS = 300_000
/** In the headers of a request on its way through prism: the beginning of its path, which the description leaves out. */
const BASE = 'x-crier-base'

interface Description {
  readonly file: string
  /** The beginning of paths that the description leaves out. */
  readonly base: RegExp
}

interface Violation {
  readonly location: readonly string[]
  readonly message: string
}

/** What prism said about the calls of one platform. */
interface Findings {
  readonly violations: Map<string, number>
  readonly undescribed: Set<string>
  checked: number
}

type Json = Readonly<Record<string, unknown>>

/** @param copy the file to which a description that prism can read is written */
function descriptionOf(folder: string, key: string, copy: string): Description | undefined {
  const file = ['yaml', 'json']
    .map((type) => join(folder, `${NAMES[key] ?? key}.${type}`))
    .find((one) => existsSync(one))
  if (file === undefined) return undefined
  const whole = readable(readFileSync(file, 'utf8'))
  writeFileSync(copy, JSON.stringify(whole))
  const { paths, servers = [] } = whole as {
    readonly servers?: readonly { readonly url: string }[]
    readonly paths: Json
  }
  const path = (servers[0]?.url ?? '').replace(/^https?:\/\/[^/]+/, '').replace(/\/$/, '')
  const hasVersions = Object.keys(paths).some((one) => /^\/v?\d/.test(one))
  const base = path === '' && !hasVersions ? String.raw`(?:/v[\d.]+)?` : path
  // Another version of the same API is compared too.
  const pattern = base.replace(/\/v\d[\d.]*/, String.raw`/v[\d.]+`).replace(/\{\w+\}/, '[^/]+')
  // The address of a fake replaces that of an API, which may contain it.
  return { file: copy, base: new RegExp(`^(?:${pattern})?(?=/)`) }
}

/** A description without the mistakes at which prism ends: the same path twice, and references that lead nowhere. */
function readable(text: string): Json {
  const document = parseDocument(text, { uniqueKeys: false })
  const paths: Record<string, object> = {}
  for (const { key, value } of (document.get('paths') as YAMLMap<Scalar<string>, YAMLMap>).items) {
    paths[key.value] = { ...paths[key.value], ...(value?.toJS(document) as object) }
  }
  const whole = { ...(document.toJS() as Json), paths }
  const leadsTo = (reference: string) =>
    reference
      .slice('#/'.length)
      .split('/')
      .reduce<unknown>(
        (at, name) => (at as Json | undefined)?.[name.replaceAll('~1', '/').replaceAll('~0', '~')],
        whole,
      )
  return JSON.parse(
    JSON.stringify(whole, (_, value: Json | null) => {
      const reference = value?.['$ref']
      return typeof reference === 'string' && leadsTo(reference) === undefined ? {} : value
    }),
  ) as Json
}

/** Forwards a request, and gives the reply to `answer`. */
async function forward(
  incoming: IncomingMessage,
  to: URL,
  headers: IncomingMessage['headers'],
): Promise<IncomingMessage> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  return new Promise((resolve, reject) => {
    const outgoing = send(to, { method: incoming.method, headers }, resolve)
    outgoing.once('error', reject)
    outgoing.end(Buffer.concat(chunks))
  })
}

function serve(handle: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>): Promise<Server> {
  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch((error: unknown) => {
      console.error(String(error))
      outgoing.destroy()
    })
  })
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)))
}

const portOf = (server: Server) => (server.address() as AddressInfo).port

/** The server that the client calls: it hands requests to prism, and keeps what prism says. */
function entrance({ base }: Description, prism: string, fake: string, findings: Findings): Promise<Server> {
  return serve(async (incoming, outgoing) => {
    const { method, url = '' } = incoming
    const start = base.exec(url)?.[0]
    const headers = { ...incoming.headers, 'accept-encoding': 'identity' }
    const through = start === undefined ? undefined : new URL(prism + url.slice(start.length))
    const reply =
      through === undefined
        ? await forward(incoming, new URL(fake + url), headers)
        : await forward(incoming, through, { ...headers, [BASE]: start })
    const { 'sl-violations': said, ...others } = reply.headers
    const path = url.replace(/\?.*/, '').replaceAll(/\/(?=[^/]*\d{3})[^/]+/g, '/…')
    note(findings, `${method} ${path} ${reply.statusCode}`, through === undefined ? undefined : String(said ?? '[]'))
    outgoing.writeHead(reply.statusCode ?? 502, others)
    reply.pipe(outgoing)
  })
}

function note(findings: Findings, call: string, said: string | undefined): void {
  if (said === undefined || said.includes('Selected route not found')) {
    findings.undescribed.add(call)
    return
  }
  findings.checked += 1
  // A long list is cut off, and then is no JSON.
  const all = [...said.matchAll(/"location":(\[[^\]]*\]).*?"message":("(?:[^"\\]|\\.)*")/g)]
  for (const [, location = '[]', message = '""'] of all) {
    const violation = { location: JSON.parse(location) as string[], message: JSON.parse(message) as string }
    const line = `${call}: ${lineOf(violation)}`
    findings.violations.set(line, (findings.violations.get(line) ?? 0) + 1)
  }
}

function lineOf({ location, message }: Violation): string {
  return `${location.join('.').replaceAll(/\.\d+(?=\.|$)/g, '[]')}: ${message}`
}

async function startPrism(
  file: string,
  upstream: string,
): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const port = await freePort()
  const program = join(installedPeer('prism'), 'node_modules/@stoplight/prism-cli/dist/index.js')
  const child = spawn(process.execPath, [program, 'proxy', file, upstream, '-h', '127.0.0.1', '-p', String(port)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  await new Promise<void>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`prism has not started:\n${output}`)), START_MS)
    const read = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-10_000)
      if (!output.includes('Prism is listening')) return
      clearTimeout(late)
      resolve()
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    child.once('exit', (code) => reject(new Error(`prism ended with ${code}:\n${output}`)))
  })
  return { url: `http://127.0.0.1:${port}`, child }
}

/** @returns the violations that are not known */
async function compare(platform: Platform, description: Description): Promise<number> {
  const findings: Findings = { violations: new Map(), undescribed: new Set(), checked: 0 }
  const clock = new ManualClock(Date.UTC(2026, 10, 22, 12))
  const fake = await FakePlatform.start(platform, clock)
  const exit = await serve(async (incoming, outgoing) => {
    const { [BASE]: base = '', ...headers } = incoming.headers
    const reply = await forward(incoming, new URL(`${fake.running.url}${String(base)}${incoming.url}`), headers)
    outgoing.writeHead(reply.statusCode ?? 502, reply.headers)
    reply.pipe(outgoing)
  })
  const prism = await startPrism(description.file, `http://127.0.0.1:${portOf(exit)}`)
  const start = await entrance(description, prism.url, fake.running.url, findings)
  const client = FakePlatform.at(platform, `http://127.0.0.1:${portOf(start)}`, clock)
  try {
    const failures = await callEverything(client, fake)
    return report(platform, findings, failures)
  } finally {
    await client.stop()
    await fake.stop()
    prism.child.kill()
    for (const server of [start, exit]) {
      server.closeAllConnections()
      server.close()
    }
  }
}

function report({ key, title }: Platform, findings: Findings, failures: readonly string[]): number {
  const { checked, undescribed, violations } = findings
  const lines = [...violations].map(([line, count]) => ({ line: `${line} (${count}×)`, fault: faultOf(key, line) }))
  const unknown = lines.filter(({ fault }) => fault === undefined)
  console.log(
    `\n${title}: ${checked} calls checked, ${unknown.length} violations, ${lines.length - unknown.length} known`,
  )
  for (const { line } of unknown) console.log(`  ✗ ${line}`)
  for (const line of failures) console.log(`  ✗ the call failed: ${line}`)
  for (const [fault, same] of Map.groupBy(
    lines.filter((one) => one.fault !== undefined),
    (one) => one.fault,
  )) {
    console.log(`  ${same.length}× known: ${fault}`)
  }
  if (undescribed.size > 0) console.log(`  not in the description: ${[...undescribed].join(', ')}`)
  return unknown.length + failures.length
}

const { values } = parseArgs({ options: { specs: { type: 'string' }, platform: { type: 'string', multiple: true } } })
if (values.specs === undefined) {
  console.error('Name the folder with the descriptions: npm run peers:descriptions -- --specs <folder>')
  process.exit(2)
}
const folder = mkdtempSync(join(tmpdir(), 'crier-descriptions-'))
let found = 0
let compared = 0
for (const platform of PLATFORMS) {
  if (values.platform?.includes(platform.key) === false) continue
  const description = descriptionOf(values.specs, platform.key, join(folder, `${platform.key}.json`))
  if (description === undefined) {
    console.log(`\n${platform.title}: no description`)
    continue
  }
  compared += 1
  found += await compare(platform, description)
}
rmSync(folder, { recursive: true })
if (compared === 0) console.error(`There is no description in ${values.specs}.`)
process.exitCode = found === 0 && compared > 0 ? 0 : 1
