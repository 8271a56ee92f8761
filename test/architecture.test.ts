import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/** Allowed imports between folders, as in ARCHITECTURE.md. All others are forbidden. Each may import `src/tools`. */

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Layers of infrastructure, each a folder of `src`. */
const LAYERS = [
  'core',
  'db',
  'coordination',
  'turns',
  'http',
  'realtime',
  'mail',
  'setup',
  'jobs',
  'storage',
  'fetch',
  'content',
  'platforms',
]

/** Folders of `src` that assemble a node, or talk to one. */
const ASSEMBLY = ['config', 'registry', 'server', 'metrics', 'pages', 'sdk', 'cli']

/** `type` allows types only. `domain` stands for every folder `src/domains/<group>/<domain>`. */
const ARROWS: Readonly<Record<string, Readonly<Record<string, 'any' | 'type'>>>> = {
  actors: {},
  media: {},
  tools: {},
  core: {},
  setup: { core: 'type' },
  db: { core: 'any' },
  coordination: { core: 'any' },
  mail: { core: 'any', db: 'any', language: 'any' },
  language: {},
  turns: { core: 'any', db: 'any', actors: 'any' },
  jobs: { 'src/domain.ts': 'any', core: 'any', db: 'any', coordination: 'type' },
  storage: { core: 'any', config: 'type' },
  fetch: { core: 'any' },
  content: { core: 'any' },
  platforms: { core: 'any', fetch: 'any' },
  sandbox: { core: 'any', platforms: 'any', tools: 'any' },
  // What a domain declares, and types of what it is composed from.
  'src/domain.ts': { core: 'type', 'src/foundation.ts': 'type' },
  'src/foundation.ts': {
    config: 'type',
    core: 'type',
    coordination: 'type',
    db: 'type',
    mail: 'type',
    storage: 'type',
    media: 'type',
  },
  domain: {
    'src/domain.ts': 'any',
    'src/foundation.ts': 'type',
    core: 'any',
    db: 'any',
    coordination: 'any',
    language: 'any',
    mail: 'any',
    jobs: 'any',
    storage: 'any',
    fetch: 'any',
    content: 'any',
    platforms: 'any',
    config: 'type',
    actors: 'type',
    media: 'type',
  },
  http: { core: 'any', db: 'any', turns: 'type' },
  realtime: { core: 'any', db: 'any', coordination: 'type' },
  config: { core: 'any', domain: 'any', platforms: 'any' },
  pages: { core: 'any', http: 'any', language: 'any', actors: 'type' },
  registry: {
    'src/domain.ts': 'any',
    'src/foundation.ts': 'type',
    ...Object.fromEntries(LAYERS.map((layer) => [layer, 'any'])),
    domain: 'any',
    config: 'any',
    pages: 'any',
  },
  metrics: { core: 'any', http: 'any', domain: 'any', server: 'type', actors: 'type', media: 'type' },
  sdk: { core: 'any', domain: 'any', registry: 'type' },
  cli: { core: 'any', sdk: 'any' },
  server: {
    'src/foundation.ts': 'type',
    ...Object.fromEntries([...LAYERS, ...ASSEMBLY].map((part) => [part, 'any'])),
    domain: 'any',
    actors: 'any',
    media: 'any',
    sandbox: 'any',
  },
  main: { server: 'any' },
}

/** What consists of npm packages and Node only. */
const WITHOUT_TOOLS: readonly string[] = ['actors', 'language']

/** Imports that the arrows forbid, each with its reason. */
const EXCEPTIONS: readonly string[] = [
  // The same list of presets is used to request renditions and to make them.
  'src/domains/media/assets/rendition-settings.ts → media/work/transcode/presets.ts',
]

interface Import {
  readonly from: string
  readonly to: string
  readonly typeOnly: boolean
}

const sources = globSync(['src/**/*.{ts,mjs}', 'actors/**/*.ts', 'media/**/*.ts', 'sandbox/**/*.ts'], { cwd: ROOT })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !/\.test\.ts$|\/testing\//.test(path))
  .sort((a, b) => a.localeCompare(b))

const texts = new Map(sources.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]))

function importsOf(path: string): Import[] {
  const text = texts.get(path) ?? ''
  const statements = text.matchAll(
    /^(?:import|export)\b(\s+type\b)?[^'";]*?\bfrom\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm,
  )
  return [...statements].map((match) => ({
    from: path,
    to: match[2] ?? match[3] ?? '',
    typeOnly: match[1] !== undefined,
  }))
}

const imports = sources.flatMap(importsOf)
const local = imports
  .filter(({ to }) => to.startsWith('.'))
  .map((one) => ({ ...one, to: normalize(join(dirname(one.from), one.to)).replaceAll('\\', '/') }))

function partOf(path: string): string {
  const [top = '', folder = '', ...rest] = path.split('/')
  if (top !== 'src') return top
  if (rest.length === 0) return folder === 'main.ts' ? 'main' : path
  return folder === 'domains' ? 'domain' : folder
}

test('finds the sources and their imports', () => {
  expect(sources.length).toBeGreaterThan(150)
  expect(local.length).toBeGreaterThan(400)
})

test('imports follow the arrows', () => {
  const wrong = local.filter(({ from, to, typeOnly }) => {
    const [source, target] = [partOf(from), partOf(to)]
    if (source === target || EXCEPTIONS.includes(`${from} → ${to}`)) return false
    const allowed = target === 'tools' && !WITHOUT_TOOLS.includes(source) ? 'any' : ARROWS[source]?.[target]
    return allowed === undefined || (allowed === 'type' && !typeOnly)
  })
  expect(wrong.map(({ from, to, typeOnly }) => `${from} → ${to}${typeOnly ? ' (type)' : ''}`)).toEqual([])
})

test('every exception is still needed', () => {
  const present = local.map(({ from, to }) => `${from} → ${to}`)
  for (const exception of EXCEPTIONS) expect(present).toContain(exception)
})

test('imports name existing files with their extension', () => {
  for (const { from, to } of local) {
    expect(texts.has(to) || to.endsWith('.json') || to === 'package.json', `${from} → ${to}`).toBe(true)
  }
})

test('only src/http imports uWebSockets.js', () => {
  const users = imports.filter(({ to }) => to === 'uWebSockets.js')
  expect(
    users.filter(({ from, typeOnly }) => !from.startsWith('src/http/') && !typeOnly).map(({ from }) => from),
  ).toEqual([])
})

/** What a reader of HTML or XML takes as markup, as the second argument of `replace`, or as a value of a table. */
const ESCAPES = /[,:]\s*(['"`])&(?:amp|lt|gt|quot|apos|#3[489]|#6[02]|#x2[267]|#x3[ce]);\1(?!\s*:)/i
/** XML in a text. In the patterns of readers, the question mark is escaped. */
const WRITTEN_XML = /<\?xml|<[\w:]+ [^>]*\bxmlns/

test('one writer of XML, and one escaping function for HTML', () => {
  expect(imports.filter(({ to }) => to === 'fast-xml-builder').map(({ from }) => from)).toEqual(['src/tools/xml.ts'])
  const found = (pattern: RegExp) => sources.filter((path) => pattern.test(texts.get(path) ?? ''))
  expect(found(ESCAPES)).toEqual(['src/tools/html.ts'])
  // The configuration of fontconfig is the same for everybody. Its document type is more than the writer writes.
  expect(found(WRITTEN_XML)).toEqual(['src/setup/unpacked-programs.ts', 'src/tools/xml.ts'])
})

test('one place derives keys and compares secrets', () => {
  const found = sources.filter((path) => /\b(?:hkdf|hkdfSync|timingSafeEqual)\b/.test(withoutComments(path)))
  // Actors import nothing of `src`.
  expect(found).toEqual(['actors/links/handshake.ts', 'src/tools/keys.ts'])
})

test('only media/whip/child/rtc.ts imports node-datachannel', () => {
  const users = imports.filter(({ to }) => to === 'node-datachannel').map(({ from }) => from)
  expect([...new Set(users)]).toEqual(['media/whip/child/rtc.ts'])
})

test('only the configuration and the command line read the environment', () => {
  const readers = sources.filter((path) => /\bprocess\.env\b/.test(withoutComments(path)))
  expect(readers.filter((path) => path.startsWith('src/') && !path.startsWith('src/setup/'))).toEqual([
    'src/cli/settings.ts',
    'src/config/config.ts',
  ])
})

test('only src/fetch fetches URLs that users enter', () => {
  const fetchers = sources.filter((path) => /(?<![.#\w])fetch\(/.test(withoutComments(path)))
  // The client runs in browsers as well; sign-in fetches only from configured issuers.
  const others = [
    'src/sdk/client.ts',
    'src/sdk/client-transfer.ts',
    'src/domains/identity/auth/providers/provider-http.ts',
  ]
  expect(fetchers.filter((path) => path.startsWith('src/') && !others.includes(path))).toEqual([])
  const requesters = imports
    .filter(({ to, typeOnly }) => /^(node:)?https?$/.test(to) && !typeOnly)
    .map(({ from }) => from)
  const servers = [
    'src/fetch/guarded-fetch.ts',
    'src/fetch/outgoing.ts',
    'src/http/admin-server.ts',
    'src/http/error-page.ts',
  ]
  const named = [...servers, 'src/http/error-reply.ts', 'src/core/error.ts', 'src/core/openapi.ts']
  expect([...new Set(requesters)].filter((path) => path.startsWith('src/') && !named.includes(path))).toEqual([])
})

test('only Clock reads the time', () => {
  const readers = sources.filter(
    (path) => path.startsWith('src/') && /\bDate\.now\(|\bnew Date\(\)/.test(withoutComments(path)),
  )
  expect(readers.filter((path) => !path.startsWith('src/setup/'))).toEqual(['src/core/clock.ts'])
})

test('files stay small: half of them under 100 lines, nine in ten under 250, none over 500', () => {
  const lengths = [...texts]
    .map(([path, text]) => ({ path, lines: text.split('\n').length - 1 }))
    .sort((a, b) => a.lines - b.lines)
  const at = (share: number) => lengths[Math.floor(lengths.length * share)]?.lines ?? 0
  expect(at(0.5)).toBeLessThan(100)
  expect(at(0.9)).toBeLessThan(250)
  expect(lengths.filter(({ lines }) => lines > 500)).toEqual([])
})

function withoutComments(path: string): string {
  return (texts.get(path) ?? '').replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '')
}
