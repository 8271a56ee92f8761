import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { PLATFORMS } from '../src/platforms/registry.ts'

/** Everything that only one social platform has is in its folder. Nothing else in `src` names a platform. */

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Files and folders that may name platforms, each with its reason. */
const EXCEPTIONS: Readonly<Record<string, string>> = {
  'src/platforms/rules/rule.ts': 'counting methods are named after the platforms that count so',
  'src/platforms/rules/counting.ts': 'counting methods are named after the platforms that count so',
  'src/platforms/rules/check.ts': 'counting methods are named after the platforms that count so',
  'src/domains/media/assets/': 'examples of requests ask for a rendition or a check for some platform',
  'src/domains/live/': 'names services for live streams, which are other accounts',
  'src/domains/publishing/writing/csv/cells.ts': 'a cross (`x`) in a cell means yes',
  'src/domains/publishing/calendar-feeds/feed.ts': 'the library of iCalendar calls extensions (`X-`) so',
  'src/domains/social/accounts/operations.ts': 'examples of requests are of some platform',
  'src/domains/social/accounts/children/operations.ts': 'routes of the API contract name their platform',
  'src/domains/social/accounts/events.ts': 'examples of events are of some platform',
  'src/domains/social/accounts/schemas.ts': 'a JSON Web Key (RFC 7518) has a member of this name',
  'src/domains/publishing/posts/events.ts': 'examples of events are of some platform',
  'src/domains/social/platforms/operations.ts': 'examples of requests are of some platform',
}

const sources = globSync('src/**/*.ts', { cwd: ROOT })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !path.endsWith('.test.ts') && path !== 'src/platforms/registry.ts')

const keys = PLATFORMS.map(({ key }) => key)
/** A key as a whole literal or property, or as a folder in an import. */
const named = new RegExp(
  String.raw`(['"\x60])(?:${keys.join('|')})\1|/platforms/(?:${keys.join('|')})/|^\s*(?:${keys.join('|')}):`,
  'm',
)

function isExcepted(path: string): boolean {
  return Object.keys(EXCEPTIONS).some((one) => (one.endsWith('/') ? path.startsWith(one) : path === one))
}

function isInFolder(path: string): boolean {
  return keys.some((key) => path.startsWith(`src/platforms/${key}/`))
}

const naming = sources.filter((path) => !isInFolder(path) && named.test(codeOf(path)))

test('nothing outside a platform’s folder names it', () => {
  expect(keys.length).toBeGreaterThan(1)
  expect(naming.filter((path) => !isExcepted(path))).toEqual([])
})

test('a platform does not import another one', () => {
  const wrong = sources.filter(isInFolder).filter((path) => {
    const own = path.split('/')[2]
    const others = keys.filter((key) => key !== own)
    return new RegExp(String.raw`from '(?:\.\./)+(?:${others.join('|')})/`).test(codeOf(path))
  })
  expect(wrong).toEqual([])
})

test('every exception is still needed', () => {
  const unused = Object.keys(EXCEPTIONS).filter(
    (one) => !naming.some((path) => (one.endsWith('/') ? path.startsWith(one) : path === one)),
  )
  expect(unused).toEqual([])
})

function codeOf(path: string): string {
  const text = readFileSync(join(ROOT, path), 'utf8')
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '')
}
