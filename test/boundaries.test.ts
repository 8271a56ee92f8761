import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/**
 * Boundaries between domains: a domain imports only domains listed before it, only through their `index.ts`, and only the
 * owner of a table names it in a statement. The tables of posts belong to several domains.
 */

const ROOT = fileURLToPath(new URL('..', import.meta.url))

const sources = globSync('src/**/*.ts', { cwd: ROOT })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !path.endsWith('.test.ts') && !path.startsWith('src/db/migrations/'))
  .toSorted((a, b) => a.localeCompare(b))
const texts = new Map(sources.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')]))

/** The domain of a file, as `<group>/<domain>`. */
const domainOf = (path: string) => /^src\/domains\/([^/]+\/[^/]+)\//.exec(path)?.[1]

/** The folders of the listed domains, lowest first. A domain can import those before it. */
const tiers = foldersInOrder(texts.get('src/registry/domains.ts') ?? '')

/** The folders of the domains that `src/registry/domains.ts` lists, in the order of the list. */
function foldersInOrder(registry: string): string[] {
  const folders = new Map(
    [...registry.matchAll(/^import \{ (\w+) \} from '\.\.(\/domains\/[^']+)'/gm)].map((match) => [
      match[1],
      domainOf(`src${match[2]}`),
    ]),
  )
  const list = /export const domains = \[([^\]]+)\]/.exec(registry)?.[1] ?? ''
  const listed = [...list.matchAll(/\w+/g)].map(([name]) => folders.get(name))
  return [...new Set(listed.filter((folder) => folder !== undefined))]
}

/** The owner of the tables that a file declares: its domain or layer. */
const ownerOf = (path: string) => domainOf(path) ?? path.split('/').slice(0, 2).join('/')

/** The domains that work on posts, lowest first. One post is the work of all of them, so they share its tables. */
const OF_POSTS = ['posts', 'planning', 'writing', 'publication', 'remote'].map((name) => `publishing/${name}`)

/** Whether a domain or layer may name the tables of an owner: its own, and of the domains of posts those below. */
function mayName(user: string, owner: string | undefined): boolean {
  if (user === owner) return true
  return OF_POSTS.includes(user) && OF_POSTS.slice(0, OF_POSTS.indexOf(user)).includes(owner ?? '')
}

const crossing = sources.flatMap((path) => {
  const from = domainOf(path)
  if (from === undefined) return []
  const statements = (texts.get(path) ?? '').matchAll(/^(?:import|export)\b[^'";]*?\bfrom\s+'(\.[^']+)'/gm)
  return [...statements].flatMap((match) => {
    const target = normalize(join(dirname(path), match[1] ?? '')).replaceAll('\\', '/')
    const to = domainOf(target)
    return to === undefined || to === from ? [] : [{ from, to, target }]
  })
})

const pairs = (found: typeof crossing) => [...new Set(found.map(({ from, to }) => `${from} → ${to}`))].toSorted()

test('every domain is listed', () => {
  const domains = new Set(sources.map(domainOf).filter((domain) => domain !== undefined))
  expect([...domains].toSorted()).toEqual(tiers.toSorted())
})

test('domains import only domains listed before them', () => {
  const upward = crossing.filter(({ from, to }) => tiers.indexOf(to) > tiers.indexOf(from))
  expect(pairs(upward)).toEqual([])
})

test('domains import each other through index.ts only', () => {
  const past = crossing.filter(({ target }) => !/^src\/domains\/[^/]+\/[^/]+\/index\.ts$/.test(target))
  expect(pairs(past)).toEqual([])
})

const camel = (name: string) => name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** The owner of each table, by SQL name. */
const owners = new Map(
  sources.flatMap((path) =>
    [...(texts.get(path) ?? '').matchAll(/\btableName: '([a-z_]+)'/g)].map((match) => [match[1] ?? '', ownerOf(path)]),
  ),
)
const tables = [...owners.keys()]
const inSql = new RegExp(String.raw`\b(?:from|join|into|update)\s+(?:only\s+)?(${tables.join('|')})\b(?!\s*\()`, 'g')
const inKysely = new RegExp(
  String.raw`(?:selectFrom|insertInto|updateTable|deleteFrom|mergeInto|using|[jJ]oin)\(\s*\[?\s*'(${tables.map(camel).join('|')})\b`,
  'g',
)

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '')
}

test('only the owner of a table names it in a statement', () => {
  expect(tables.length).toBeGreaterThan(40)
  const byCamel = new Map(tables.map((table) => [camel(table), table]))
  const foreign = new Set<string>()
  for (const [path, text] of texts) {
    const code = withoutComments(text)
    for (const pattern of [inSql, inKysely]) {
      for (const match of code.matchAll(pattern)) {
        const table = byCamel.get(match[1] ?? '') ?? match[1] ?? ''
        if (!mayName(ownerOf(path), owners.get(table))) foreign.add(`${path}: ${table}`)
      }
    }
  }
  expect([...foreign]).toEqual([])
})
