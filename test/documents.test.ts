import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../actors/limits.ts'
import { environmentExample } from '../src/config/config.ts'
import { walk } from '../src/core/operation.ts'
import { api } from '../src/registry/api.ts'
import { eventTypes } from '../src/registry/events.ts'

/** The documents name only things that exist: files, settings, commands, routes, events, defaults and figures. */

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FOLDER_READMES = [
  'src/domains/identity',
  'src/domains/live',
  'src/domains/media',
  'src/domains/money',
  'src/domains/talk/chat',
  'src/http',
  'src/jobs',
  'src/realtime',
  'src/turns',
].map((folder) => `${folder}/README.md`)
const DOCUMENTS = [
  'README.md',
  'ARCHITECTURE.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'docs/decisions.md',
  'docs/operations.md',
  'docs/proxies.md',
  ...FOLDER_READMES,
]
const FOLDERS = ['src', 'media', 'actors', 'packages', 'test', 'docker', 'docs', '.ci']
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const files = FOLDERS.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => !/node_modules|dist\//.test(name))
    .map((name) => join(folder, name)),
)
const names = new Set(files.map((path) => basename(path)))
const sources = files.filter(
  (path) => /\.(?:ts|mjs|js|json|yml|html|css)$/.test(path) && path !== 'test/documents.test.ts',
)
const code = [...sources, 'package.json', '.env.example']
  .filter((path) => statSync(join(ROOT, path)).isFile())
  .map(read)
  .join('\n')
const words = new Set(code.match(/[\w$]+/g))

/** Words of other programs. */
const FOREIGN = new Set([
  'handleWeb',
  'systemctl',
  'client_max_body_size',
  'proxy_buffering',
  'proxy_http_version',
  'proxy_request_buffering',
])

/** The texts in backticks, outside code blocks. */
function quoted(document: string): string[] {
  const text = read(document).replace(/^```[\s\S]*?^```$/gm, '')
  return [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] as string)
}

describe.each(DOCUMENTS)('%s', (document) => {
  test('names existing files and folders', () => {
    const paths = quoted(document).filter(
      (text) =>
        /^[\w][\w./-]*$/.test(text) &&
        !text.includes('NNNN') &&
        /\.(?:ts|md|json|mjs|yml)$|^(?:src|test|media|actors|docker|docs|packages)\//.test(text),
    )
    const linked = [...read(document).matchAll(/\]\(([\w./-]+)\)/g)].map((match) => match[1] as string)
    const known = (path: string) =>
      exists(path) ||
      // Built on demand.
      path === 'openapi.json' ||
      (!path.includes('/') && (names.has(path) || exists(path))) ||
      files.some((file) => file.endsWith(`/${path.replace(/\/$/, '')}`))
    expect([...paths, ...linked].filter((path) => !known(path))).toEqual([])
  })

  test('names identifiers that the code has', () => {
    const identifiers = quoted(document).filter(
      (text) => /^[a-z_$][\w$]*(?:[A-Z_][\w$]*)$/i.test(text) && !/[<>]/.test(text),
    )
    expect(identifiers.filter((word) => !words.has(word) && !FOREIGN.has(word))).toEqual([])
  })

  test('names existing settings', () => {
    const known = new Set(environmentExample().match(/(?<=^#)[A-Z][A-Z0-9_]+(?==)/gm))
    const compose = new Set(read('docker/compose.yml').match(/(?<=\$\{)[A-Z_]+/g))
    const named = quoted(document)
      .filter((text) => /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+(?:=\S+)?$/.test(text))
      .map((text) => text.split('=')[0] as string)
    expect(named.filter((name) => !known.has(name) && !compose.has(name) && !words.has(name))).toEqual([])
  })

  test('names existing npm scripts', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
    const named = [...read(document).matchAll(/npm run ([\w:]*\w)(?![\w:]*<)/g)].map((match) => match[1] as string)
    expect(named.filter((name) => scripts[name] === undefined && !['soak', 'bench'].includes(name))).toEqual([])
  })

  test('names existing routes and pages', () => {
    const routes = new Set(walk(api).map(({ route }) => shape(route as string)))
    const named = [...read(document).matchAll(/\b(?:GET|POST|PUT|PATCH|DELETE) \/api\/[\w/{}-]+(?:\.\w+)?/g)].map(
      ([text]) => text,
    )
    const pages = [
      '/docs',
      '/docs/errors',
      '/docs/states',
      '/docs/sockets',
      '/docs/getting-started',
      '/docs/operations',
      '/docs/proxies',
    ]
    expect(named.filter((route) => !routes.has(shape(route)) && !PAGES.has(route))).toEqual([])
    const linked = quoted(document).filter((text) => /^\/docs(?:\/[\w-]+)?$/.test(text))
    expect(linked.filter((page) => !pages.includes(page))).toEqual([])
  })

  test('names existing events', () => {
    const prefixes = new Set([...eventTypes.keys()].map((name) => name.split('.')[0]))
    const named = quoted(document).filter(
      (text) => /^[a-z]+\.[a-z_]+$/.test(text) && !/\.(?:ts|js|md|json|yml)$/.test(text),
    )
    const events = named.filter((name) => prefixes.has(name.split('.')[0] as string))
    expect(events.filter((name) => !eventTypes.has(name) && !words.has(name.split('.')[1] as string))).toEqual([])
  })
})

const PAGES = new Set(['GET /api/openapi.json', 'GET /api/asyncapi.json'])

/** The route without the names of its parameters. */
function shape(route: string): string {
  return route.replace(/\{\w+\}/g, '{}')
}

function exists(path: string): boolean {
  try {
    return statSync(join(ROOT, path)) !== undefined
  } catch {
    return false
  }
}

test('README shows the defaults of the settings', () => {
  const defaults = new Map(
    [...environmentExample().matchAll(/^# default: (.*)\n#([A-Z0-9_]+)=/gm)].map(([, value, name]) => [name, value]),
  )
  const rows = [...read('README.md').matchAll(/^\| (`[A-Z][^|]*) \| ([^|]*) \|/gm)]
  expect(rows.length).toBeGreaterThan(15)
  const wrong: string[] = []
  for (const [, first = '', second = ''] of rows) {
    const settings = [...first.matchAll(/`([A-Z0-9_]+)`/g)].map((match) => match[1] as string)
    const values = settings.length === 1 ? [second] : second.split(', ')
    for (const [index, name] of settings.entries()) {
      const said = (values[index] ?? '').replaceAll('`', '').trim()
      // Compare values only, not descriptions such as "none" and "embedded".
      if (
        /^(?:\d+|\.\/\w+|[a-z]+(?:,[a-z]+)+|free)$/.test(said) &&
        !new RegExp(`^${said.replaceAll('.', '\\.')}(?![\\w.])`).test(defaults.get(name) ?? '')
      )
        wrong.push(`${name}: README says ${said}, the setting ${defaults.get(name)}`)
    }
  }
  expect(wrong).toEqual([])
})

test('CONTRIBUTING lists the soak tests of package.json', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const [, listed = ''] = /`npm run soak:<name>`[^(]*\(`([^`]+)`\)/.exec(read('CONTRIBUTING.md')) ?? []
  const soaks = Object.keys(scripts).filter((name) => name.startsWith('soak:'))
  expect(listed.split(/\s+/)).toEqual(soaks.map((name) => name.slice('soak:'.length)).sort())
})

test('the README of turns shows the limits of the runtime', () => {
  const text = read('src/turns/README.md').replaceAll(/\s+/g, ' ')
  const { batch, perActor, perNode, perCaller } = DEFAULT_LIMITS
  expect(text).toContain(
    `${perActor} waiting turns per actor, ${perCaller} per caller and ${perNode.toLocaleString('en')} per node`,
  )
  expect(text).toContain(`Up to ${batch} waiting turns share a transaction`)
})

test('ARCHITECTURE has at most 150 lines', () => {
  expect(read('ARCHITECTURE.md').split('\n').length).toBeLessThanOrEqual(150)
})
