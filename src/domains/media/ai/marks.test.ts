import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { AnalysisView, Caption, Transcript } from './schemas.ts'

const FOLDER = import.meta.dirname
const sources = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' }).filter(
  (path) => path.endsWith('.ts') && !path.endsWith('.test.ts'),
)

/** What the domain uses of posts and figures, and what it tells posts. None of it writes. */
const READS = ['ModelTexts', 'PlanningScope', 'publishedTexts', 'PlatformStatistics', 'PlatformStatsData']

test('nothing in this domain can write or publish a post', () => {
  const used = sources.flatMap((path) => {
    const text = readFileSync(join(FOLDER, path), 'utf8')
    const imports = text.matchAll(/import (?:type )?\{([^}]*)\} from '[^']*\/publishing\/[^']*'/g)
    expect(text, path).not.toMatch(/\bposts\b[,\s}].*Pick<Services|services\.posts\b|\bposts\.(author|actions)\b/)
    return [...imports].flatMap(([, names = '']) => names.split(',').map((name) => name.replace('type', '').trim()))
  })
  expect(new Set(used.filter(Boolean))).toEqual(new Set(READS))
})

test('each text says who wrote it', () => {
  for (const { properties, required } of [Caption, Transcript, AnalysisView]) {
    expect(required).toEqual(expect.arrayContaining(['origin', 'model']))
    expect((properties.origin as { enum?: readonly string[] }).enum).toContain('model')
  }
})
