/**
 * Runs every benchmark of RESULTS.md in turn, with the smallest settings that give stable figures on a quiet machine:
 * `npm run bench:all -- <folder>`. Each writes its output to a file there. A failed benchmark does not stop the others,
 * but makes this program fail. Takes about 20 minutes.
 */
import { spawn } from 'node:child_process'
import { createWriteStream, mkdirSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'

interface Benchmark {
  readonly name: string
  readonly env?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
}

const BENCHMARKS: readonly Benchmark[] = [
  { name: 'http', env: { ROUNDS: '3', SECONDS: '3' } },
  { name: 'posts', env: { ROUNDS: '3', SECONDS: '3' } },
  { name: 'accounts', env: { ROUNDS: '3', SECONDS: '3' } },
  { name: 'content', env: { ROUNDS: '3', SECONDS: '3' } },
  { name: 'payments', env: { ROUNDS: '5', SETTLEMENTS: '1000' } },
  { name: 'chat', env: { ROUNDS: '3', SECONDS: '3' } },
  { name: 'jobs', env: { ROUNDS: '3', JOBS: '3000' } },
  { name: 'actors', env: { SECONDS: '2' } },
  { name: 'media', env: { ROUNDS: '2', SECONDS: '6' } },
  { name: 'broadcast', env: { SECONDS: '15' } },
  { name: 'whip', env: { ROUNDS: '2', SECONDS: '10' } },
  // V8 compiles during the first 35 s of a stream, or less with many destinations.
  { name: 'relay', env: { ROUNDS: '1', SECONDS: '12', WARM_UP: '35' } },
  { name: 'relay', env: { ROUNDS: '1', SECONDS: '10', WARM_UP: '20' }, args: ['--only=wide'] },
  { name: 'relay', env: { ROUNDS: '1', SECONDS: '10', WARM_UP: '20' }, args: ['--only=rtmps'] },
]

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: npm run bench:all -- <folder for the output>')
mkdirSync(folder, { recursive: true })

let failures = 0
for (const { args = [], env = {}, name } of BENCHMARKS) {
  const began = performance.now()
  const output = createWriteStream(join(folder, `${[name, ...args].join('')}.md`))
  const settings = [...Object.entries(env).map(([key, value]) => `${key}=${value}`), `npm run bench:${name}`]
  output.write(
    `${[...settings, ...(args.length > 0 ? ['--', ...args] : [])].join(' ')}, load ${loadavg()[0]?.toFixed(1)}\n\n`,
  )
  const program = new URL(`./${name}.ts`, import.meta.url).pathname
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  child.stdout.pipe(output)
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  await finished(output)
  if (code !== 0) failures += 1
  const seconds = ((performance.now() - began) / 1_000).toFixed(0)
  console.log(`${[name, ...args].join(' ')}: ${code === 0 ? 'done' : `failed with ${code}`} after ${seconds} s`)
}
process.exitCode = failures === 0 ? 0 : 1
