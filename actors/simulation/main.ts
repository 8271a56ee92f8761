/* oxlint-disable no-console */
import { parseArgs } from 'node:util'
import { simulate } from './simulate.ts'

/**
 * Runs seeds from the command line: `node actors/simulation/main.ts --from 1 --count 10000`. `--seed 4711 --trace` runs one
 * seed and prints its steps. Add `--self-fence on` or `off` if a test has set it. `--broken-fence`, `--broken-memory`,
 * `--broken-self-fence` and `--duplicate-ids-change` disable a safeguard, so that the checks fail.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    count: { type: 'string', default: '1000' },
    trace: { type: 'boolean', default: false },
    'broken-fence': { type: 'boolean', default: false },
    'broken-memory': { type: 'boolean', default: false },
    'broken-self-fence': { type: 'boolean', default: false },
    'duplicate-ids-change': { type: 'boolean', default: false },
    'self-fence': { type: 'string' },
  },
})

const first = Number(values.seed ?? values.from)
const count = values.seed === undefined ? Number(values.count) : 1
const began = performance.now()
const totals: Record<string, number> = {}
let failures = 0
let events = 0
let slowest = 0
for (let seed = first; seed < first + count; seed += 1) {
  const report = await simulate(seed, {
    trace: values.trace,
    brokenFence: values['broken-fence'],
    brokenMemory: values['broken-memory'],
    brokenSelfFence: values['broken-self-fence'],
    duplicateIdsChange: values['duplicate-ids-change'],
    ...(values['self-fence'] === undefined ? {} : { selfFence: values['self-fence'] === 'on' }),
  })
  events += report.events
  slowest = Math.max(slowest, report.recoveredMs)
  for (const [result, number] of Object.entries(report.results)) totals[result] = (totals[result] ?? 0) + number
  if (values.trace) console.log(report.trace.join('\n'))
  if (report.violations.length === 0) continue
  failures += 1
  console.log(`seed ${seed}: ${report.violations.slice(0, 5).join('; ')}`)
}
const seconds = (performance.now() - began) / 1_000
console.log(
  `${count} seeds, ${failures} with violations, ${events} events, slowest recovery ${slowest.toFixed(0)} ms, ${seconds.toFixed(1)} s`,
  totals,
)
process.exitCode = failures > 0 ? 1 : 0
