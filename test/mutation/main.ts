/**
 * Mutation testing: `npm run mutate`. Changes the sources one place at a time, in a copy of the working tree, and runs
 * the tests that cover the place. A mutant that survives shows a gap in the tests, or does not matter: then
 * `equivalent.ts` lists it with a reason.
 *
 * `--files=src/core,actors/lease.ts` (prefixes), `--sample=12` (mutants a folder), `--seed=1`, `--list` (shows mutants,
 * runs none), `--near` (runs only unit tests near the file, which is quick). Exits with 1 if less than 85 % are killed.
 * docs/decisions.md says why it is not Stryker.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { reasonOf, staleEntries } from './equivalent.ts'
import { mutantsOf, type Mutant } from './mutants.ts'
import { TestProcess } from './test-process.ts'
import { folderOf, FOLDERS, TestChooser } from './tests-for.ts'

const WANTED = 0.85

/** If the tests take longer, the mutant is treated as an endless loop. */
const LIMIT_MS = 300_000

const { values } = parseArgs({
  options: {
    files: { type: 'string', default: FOLDERS.join(',') },
    sample: { type: 'string', default: '12' },
    seed: { type: 'string', default: '1' },
    list: { type: 'boolean', default: false },
    near: { type: 'boolean', default: false },
  },
})

type Outcome = 'killed' | 'timeout' | 'survived'

const root = join(import.meta.dirname, '../..')
const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '--deduplicate'], { cwd: root })
const files = tracked.toString().split('\n').filter(Boolean)
const prefixes = values.files.split(',')
const mutated = files.filter(
  (file) =>
    file.endsWith('.ts') &&
    !file.endsWith('.test.ts') &&
    folderOf(file) !== '' &&
    !file.startsWith('actors/simulation/'),
)

const everyMutant = mutated.flatMap((file) => {
  const source = readFileSync(join(root, file), 'utf8')
  const lines = source.split('\n').map((line) => line.trim())
  return mutantsOf(file, source).map((mutant) => ({ mutant, line: lines[mutant.line - 1] ?? '' }))
})
const stale = staleEntries(everyMutant)
if (stale.length > 0) throw new Error(`equivalent.ts has entries without a mutant:\n${stale.join('\n')}`)

const samples = FOLDERS.map((folder) => {
  const all = everyMutant
    .filter(({ mutant: { file } }) => folderOf(file) === folder)
    .filter(({ mutant: { file, line } }) => prefixes.some((prefix) => isIn(prefix, file, line)))
    .filter(({ line, mutant }) => reasonOf(mutant, line) === undefined)
  return shuffled(all, values.seed).slice(0, Number(values.sample))
})
/** Alternates between the folders, so that a run that is stopped early has covered all of them. */
const chosen = Array.from({ length: Number(values.sample) }, (_, index) => samples.map((sample) => sample[index]))
  .flat()
  .filter((mutant) => mutant !== undefined)

if (values.list) for (const mutant of chosen) console.log(nameOf(mutant))
else process.exitCode = await test(chosen)

async function test(mutants: readonly Mutant[]): Promise<number> {
  // The path must be short, because it contains sockets of PostgreSQL.
  const place = mkdtempSync(join(tmpdir(), 'mut-'))
  const copy = join(place, 'copy')
  const scratch = join(place, 't')
  mkdirSync(scratch)
  for (const file of files) {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    cpSync(join(root, file), join(copy, file))
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  const tests = new TestProcess(copy, scratch)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      void tests.stop().finally(() => {
        rmSync(place, { recursive: true, force: true })
        process.exit(1)
      })
    })
  }
  const chooser = new TestChooser(root, files)
  const outcomes = new Map<Mutant, Outcome>()
  /** Tests that pass without a mutant, and tests that fail even then. A failure counts only for the first kind. */
  const [sound, unsound] = [new Set<string>(), new Set<string>()]
  const isUnsound = async (file: string) => {
    if (!file.endsWith('.test.ts') || sound.has(file)) return false
    const again = await tests.run({ changed: [], groups: [[file]] }, LIMIT_MS)
    ;(again === undefined ? sound : unsound).add(file)
    if (again !== undefined) console.log(`${file} fails without a mutant and is not used: ${tests.why}`)
    return again !== undefined
  }
  try {
    for (const mutant of mutants) {
      const groups = chooser.choose(mutant.file, values.near)
      const path = join(copy, mutant.file)
      const source = readFileSync(path, 'utf8')
      const started = performance.now()
      let failed: string | undefined
      do {
        const sane = groups.map((group) => group.filter((file) => !unsound.has(file)))
        writeFileSync(path, source.slice(0, mutant.start) + mutant.after + source.slice(mutant.end))
        failed = await tests.run({ changed: [mutant.file], groups: sane }, LIMIT_MS)
        writeFileSync(path, source)
        if (failed === 'timeout') await tests.stop()
        else tests.changed(mutant.file)
      } while (failed !== undefined && (await isUnsound(failed)))
      const outcome: Outcome = failed === undefined ? 'survived' : failed === 'timeout' ? 'timeout' : 'killed'
      outcomes.set(mutant, outcome)
      const seconds = ((performance.now() - started) / 1000).toFixed(1)
      console.log(`${outcome.padEnd(8)} ${seconds.padStart(6)} s  ${nameOf(mutant)}  ${failed ?? ''}`)
    }
  } finally {
    await tests.stop()
    rmSync(place, { recursive: true, force: true })
  }
  return report(outcomes)
}

function report(outcomes: ReadonlyMap<Mutant, Outcome>): number {
  const rows = FOLDERS.map((folder) => {
    const own = [...outcomes].filter(([mutant]) => folderOf(mutant.file) === folder).map(([, outcome]) => outcome)
    const count = (wanted: Outcome) => own.filter((outcome) => outcome === wanted).length
    return {
      folder,
      mutants: own.length,
      killed: count('killed'),
      timeout: count('timeout'),
      survived: count('survived'),
    }
  }).filter(({ mutants }) => mutants > 0)
  console.table(rows)
  const survivors = [...outcomes].filter(([, outcome]) => outcome === 'survived').map(([mutant]) => mutant)
  for (const mutant of survivors) console.log(`survived ${nameOf(mutant)}`)
  const share = outcomes.size === 0 ? 1 : 1 - survivors.length / outcomes.size
  console.log(`${(share * 100).toFixed(1)} % of ${outcomes.size} mutants killed (seed ${values.seed})`)
  return share < WANTED ? 1 : 0
}

function nameOf({ file, line, kind, before, after }: Mutant): string {
  const short = (text: string) => (text.length > 60 ? `${text.slice(0, 57)}…` : text).replaceAll(/\s+/g, ' ')
  return `${file}:${line} ${kind}: ${short(before)} → ${short(after) || 'nothing'}`
}

/** Whether a place is in a file or folder of `--files`, or on its line. */
function isIn(prefix: string, file: string, line: number): boolean {
  return /:\d+$/.test(prefix) ? prefix === `${file}:${line}` : file.startsWith(prefix)
}

/**
 * Shuffles the mutants. The order depends only on the seed and on each mutant's line and change, so that the sample stays
 * the same when other code changes.
 */
function shuffled(places: readonly { readonly mutant: Mutant; readonly line: string }[], seed: string): Mutant[] {
  const order = ({ mutant: { after, before, file }, line }: { readonly mutant: Mutant; readonly line: string }) =>
    createHash('sha1').update([seed, file, line, before, after].join('\n')).digest('hex')
  return places
    .map((place) => ({ mutant: place.mutant, at: order(place) }))
    .toSorted((a, b) => (a.at < b.at ? -1 : 1))
    .map(({ mutant }) => mutant)
}
